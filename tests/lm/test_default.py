"""A log-linear model beside Kneser-Ney: the shares, the texts they are fitted on, the sums."""

import numpy as np
import pytest

from epigram import KneserNeyLM, LogLinearLM
from epigram.lm.corpus import Corpus
from epigram.lm.default import fit_beside
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
