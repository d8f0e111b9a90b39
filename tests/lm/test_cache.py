"""The cache of recent words against the obvious loop."""

import numpy as np
import pytest

from epigram.errors import InputError
from epigram.lm.cache import CachedLM
from epigram.lm.corpus import Corpus
from epigram.lm.ngram.kneser_ney import KneserNeyLM

TEXT = ["a b c a", "b b c", "c a d", "d d a b"]


def shares_by_hand(stream, size):
    """Share of each id among the last ``size`` words; None before the first."""
    out, seen = [], []
    for word in stream:
        recent = seen[-size:]
        out.append(recent.count(word) / len(recent) if recent and word > 0 else 0.0 if recent else None)
        if word > 0:
            seen.append(word)
    return out


@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_shares_are_those_of_the_last_words(size):
    stream = np.random.default_rng(size).integers(-1, 5, 60).astype(np.int32)
    shares, filled = CachedLM(KneserNeyLM(1).fit(["a b c d e"]), size)._shares(stream)
    expected = shares_by_hand(stream.tolist(), size)
    assert filled.tolist() == [share is not None for share in expected]
    assert shares.tolist() == [share or 0.0 for share in expected]


def test_mixture_is_a_distribution_at_every_position():
    model = KneserNeyLM(2).fit(TEXT)
    cache = CachedLM(model, 3, 0.3)
    stream = Corpus.of(TEXT, model.vocabulary_).stream()[1:]
    for cut in range(1, stream.size):
        after = [np.append(stream[:cut], np.int32(word)) for word in range(len(model.vocabulary_))]
        total = sum(float(np.exp(cache.score_stream(one)[-1])) for one in after)
        assert total == pytest.approx(1.0, abs=1e-12)


def test_no_weight_leaves_the_model_as_it_is():
    model = KneserNeyLM(2).fit(TEXT)
    found, expected = CachedLM(model, 5, 0.0).evaluate(TEXT), model.evaluate(TEXT)
    assert found.perplexity == pytest.approx(expected.perplexity)
    assert found.perplexity_without_end == pytest.approx(expected.perplexity_without_end)
    assert (found.tokens, found.sentences, found.oov) == (expected.tokens, expected.sentences, expected.oov)


def test_chosen_weight_is_the_best_on_held_out_text():
    model = KneserNeyLM(2).fit(TEXT)
    held_out = ["d d d", "d d d a", "b d d"]
    chosen = CachedLM.chosen(model, held_out, size=4)
    best = chosen.perplexity(held_out)
    assert 0 < chosen.weight < 1
    for other in (0.5 * chosen.weight, min(0.99, 1.5 * chosen.weight)):
        assert best <= CachedLM(model, 4, other).perplexity(held_out)


def test_unknown_words_are_skipped_and_not_remembered():
    model = KneserNeyLM(2).fit(TEXT)
    evaluation = CachedLM(model, 5, 0.2).evaluate(["a zebra a"])
    assert evaluation.oov == 1
    assert np.isfinite(evaluation.perplexity)


@pytest.mark.parametrize(("size", "weight"), [(0, 0.1), (5, -0.1), (5, 1.0)])
def test_bad_numbers_are_refused(size, weight):
    with pytest.raises(InputError):
        CachedLM(KneserNeyLM(2).fit(TEXT), size, weight)


@pytest.mark.parametrize("size", [1, 3, 100])
def test_steps_and_distributions_agree_with_the_stream(size):
    cached = CachedLM(KneserNeyLM(2).fit(TEXT), size, 0.3)
    stream = Corpus.of(["a b zebra a", "d a a"], cached.vocabulary_).stream()[1:]
    state = cached.start()
    for word, expected in zip(stream.tolist(), cached.score_stream(stream), strict=True):
        p = cached.distribution(state)
        assert p.sum() == pytest.approx(1.0, abs=1e-12)
        state, logp = cached.step(state, word)
        assert logp == pytest.approx(expected, nan_ok=True)
        if word >= 0:
            assert np.log(p[word]) == pytest.approx(expected)


def test_reasons_sum_to_the_probability():
    cached = CachedLM(KneserNeyLM(2).fit(TEXT), 4, 0.3)
    why = cached.explain("a b a", "a")
    assert [(part.name, part.share) for part in why.parts] == [("model", 0.7), ("cache", 0.3)]
    assert why.parts[1].probability == pytest.approx(2 / 3)
    assert why.probability == pytest.approx(cached.distribution("a b a")[cached.vocabulary_.id("a")])
    with pytest.raises(InputError, match="'zebra' is not in the vocabulary"):
        cached.explain("a", "zebra")
