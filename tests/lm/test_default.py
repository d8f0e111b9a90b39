"""A log-linear model beside Kneser-Ney: the shares, the texts they are fitted on, the sums."""

import numpy as np
import pytest

from epigram import KneserNeyLM, LogLinearLM
from epigram.lm.corpus import Corpus
from epigram.lm.default import MOST_TRIALS, fit_beside
from epigram.lm.mixture import mixture_weights


def text_of(n, seed=0, words=30):
    """Sentences of a random bigram process, so that contexts tell something."""
    rng = np.random.default_rng(seed)
    steps = rng.dirichlet(np.full(words, 0.1), words)
    out = []
    for _ in range(n):
        sentence = [int(rng.integers(words))]
        while rng.random() > 0.15 and len(sentence) < 20:
            sentence.append(int(rng.choice(words, p=steps[sentence[-1]])))
        out.append(" ".join(f"w{k}" for k in sentence))
    return out


TEXT = text_of(150)


def test_the_share_is_half_way_from_what_held_out_text_says_to_one_half():
    both = fit_beside(LogLinearLM(order=3), TEXT)
    first, rest = Corpus.of(TEXT).split_known(0.1)
    loglinear = LogLinearLM(order=3).fit(first, valid=rest)  # the search sees the same two texts
    stream = rest.stream()[1:]
    logps = np.stack([m.score_stream(stream) for m in (loglinear, KneserNeyLM(3).fit(first))])
    logps = logps[:, stream >= 0]
    share = (mixture_weights(logps)[0] + 0.5) / 2
    # fit with valid text goes on to the full tolerance, the search stops a little earlier
    assert both.mixture.weights[0] == pytest.approx(share, abs=0.02)
    assert both.alone == pytest.approx(np.exp(-logps.mean(axis=1)), rel=0.02)
    assert both.together <= max(both.alone)
    assert f"{both.together:.2f} together" in both.why


def test_both_parts_know_the_whole_text():
    both = fit_beside(LogLinearLM(order=3), TEXT)
    plain, kneser_ney = both.mixture.models
    assert plain.n_positions_ == Corpus.of(TEXT).stream().size - 1
    assert kneser_ney.perplexity(TEXT) == pytest.approx(KneserNeyLM(3).fit(TEXT).perplexity(TEXT))
    for context in ("", "w1 w2", "<s>"):
        assert both.mixture.distribution(context).sum() == pytest.approx(1, abs=1e-12)


def test_valid_text_decides_where_it_is_given():
    valid = text_of(40, seed=0)[:20]
    both = fit_beside(LogLinearLM(order=2, strength=0.3, depth_weight=1.2, ridge=0.05), TEXT, valid=valid)
    assert both.alone[1] == pytest.approx(KneserNeyLM(2).fit(TEXT).perplexity(valid))
    assert both.together == pytest.approx(both.mixture.perplexity(valid))


def test_of_a_long_text_a_sample_decides_and_all_of_it_is_learnt():
    both = fit_beside(LogLinearLM(order=2), TEXT, sample=300)
    corpus = Corpus.of(TEXT)
    first, rest = corpus.split(0.1)
    text, held_out = first.sample(300).in_known_words(rest.sample(30))
    probe = LogLinearLM(order=2)
    probe.most_trials = MOST_TRIALS
    probe.fit(text, valid=held_out)
    assert both.loglinear.strength_ == probe.strength_
    assert len(both.loglinear.trials_) <= MOST_TRIALS
    np.testing.assert_array_equal(both.loglinear.scales_, probe.scales_)
    assert both.loglinear.n_positions_ == corpus.n_positions
    exact = LogLinearLM(order=2, tolerance=1e-9).fit(corpus, like=probe)
    assert both.loglinear.objective_ == pytest.approx(exact.objective_, rel=1e-4)
    assert both.loglinear.objective_ >= exact.objective_ * (1 - 1e-9)
    assert both.sample == 300
    assert "a sample of 300 words" in both.why
    assert both.mixture.distribution("w1").sum() == pytest.approx(1, abs=1e-12)


def test_given_strengths_need_no_sample():
    both = fit_beside(
        LogLinearLM(order=2, strength=0.3, depth_weight=1.2, ridge=0.05), TEXT, valid=TEXT[:9], sample=10
    )
    assert both.sample == 0
    assert not both.loglinear.trials_
