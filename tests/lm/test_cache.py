"""The cache of recent words against the obvious loop."""

import numpy as np
import pytest

from epigram.errors import InputError
from epigram.lm.corpus import Corpus
from epigram.lm.ngram.kneser_ney import KneserNeyLM
from epigram.lm.recent_words import RecentWords, _shares

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
    shares, filled = _shares(stream, size, 6)
    expected = shares_by_hand(stream.tolist(), size)
    assert filled.tolist() == [share is not None for share in expected]
    assert shares.tolist() == [share or 0.0 for share in expected]


def test_mixture_is_a_distribution_at_every_position():
    model = KneserNeyLM(2).fit(TEXT)
    cache = RecentWords(3, 0.3)
    stream = Corpus.of(TEXT, model.vocabulary_).stream()[1:]
    for cut in range(1, stream.size):
        after = [np.append(stream[:cut], np.int32(word)) for word in range(len(model.vocabulary_))]
        total = sum(float(np.exp(cache.score_stream(model, one)[-1])) for one in after)
        assert total == pytest.approx(1.0, abs=1e-12)


def test_no_weight_leaves_the_model_as_it_is():
    model = KneserNeyLM(2).fit(TEXT)
    found, expected = RecentWords(5, 0.0).evaluate(model, TEXT), model.evaluate(TEXT)
    assert found.perplexity == pytest.approx(expected.perplexity)
    assert found.perplexity_without_end == pytest.approx(expected.perplexity_without_end)
    assert (found.tokens, found.sentences, found.oov) == (expected.tokens, expected.sentences, expected.oov)


def test_chosen_weight_is_the_best_on_held_out_text():
    model = KneserNeyLM(2).fit(TEXT)
    held_out = ["d d d", "d d d a", "b d d"]
    chosen = RecentWords.chosen(model, held_out, size=4)
    best = chosen.evaluate(model, held_out).perplexity
    assert 0 < chosen.weight < 1
    for other in (0.5 * chosen.weight, min(0.99, 1.5 * chosen.weight)):
        assert best <= RecentWords(4, other).evaluate(model, held_out).perplexity


def test_unknown_words_are_skipped_and_not_remembered():
    model = KneserNeyLM(2).fit(TEXT)
    evaluation = RecentWords(5, 0.2).evaluate(model, ["a zebra a"])
    assert evaluation.oov == 1
    assert np.isfinite(evaluation.perplexity)


@pytest.mark.parametrize(("size", "weight"), [(0, 0.1), (5, -0.1), (5, 1.0)])
def test_bad_numbers_are_refused(size, weight):
    with pytest.raises(InputError):
        RecentWords(size, weight)
