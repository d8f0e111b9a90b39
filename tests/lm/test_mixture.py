"""Mixtures are exactly the weighted sum, weights are the best on held-out text, merging is exact where said."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epigram.errors import InputError
from epigram.lm.mixture import InterpolatedLM, interpolate, mixture_weights, table_of
from epigram.lm.ngram.kneser_ney import KneserNeyLM

FIRST = KneserNeyLM(3).fit(["a b a b", "b a c", "a b c"])
SECOND = KneserNeyLM(2).fit(["d a", "a d d", "c a d"])
CONTEXTS = ["", "<s>", "a", "a b", "d", "d a", "<s> a b", "b zebra a"]


@pytest.mark.parametrize("context", CONTEXTS)
def test_distribution_is_the_weighted_sum_over_the_union(context):
    mixture = InterpolatedLM([FIRST, SECOND], [0.3, 0.7])
    expected = dict.fromkeys(mixture.vocabulary_, 0.0)
    for model, weight in ((FIRST, 0.3), (SECOND, 0.7)):
        for word, p in zip(model.vocabulary_, model.distribution(context), strict=True):
            expected[word] += weight * p
    np.testing.assert_allclose(mixture.distribution(context), list(expected.values()), rtol=1e-12)
    assert mixture.distribution(context).sum() == pytest.approx(1, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(["a", "b", "c", "d", "zebra"]), max_size=8))
def test_scores_equal_incremental_steps_and_distributions(sentence):
    mixture = InterpolatedLM([FIRST, SECOND], [0.3, 0.7])
    scores = mixture.word_scores(sentence)
    state = mixture.start()
    for word, score in zip([*sentence, "</s>"], scores, strict=True):
        p = mixture.distribution(state)
        state, logp = mixture.advance(state, word)
        np.testing.assert_allclose(logp, score, rtol=1e-12)
        known = mixture.vocabulary_.id("<unk>" if word == "zebra" else word)
        assert math.exp(score) == pytest.approx(p[known])


def test_weights_are_the_best_on_held_out_text():
    held_out = ["a b d a", "a b", "d a b c"]
    mixture = interpolate([FIRST, SECOND], held_out)
    best = mixture.evaluate(held_out).log_likelihood
    for weight in np.linspace(0.001, 0.999, 200):
        other = InterpolatedLM([FIRST, SECOND], [weight, 1 - weight])
        assert other.evaluate(held_out).log_likelihood <= best + 1e-6
    same = interpolate([FIRST, FIRST], held_out)
    assert same.perplexity(held_out) == pytest.approx(FIRST.perplexity(held_out))


def test_em_reaches_an_edge():
    weights = mixture_weights(np.log([[0.5, 0.5], [0.1, 0.2]]), max_iterations=5000)
    np.testing.assert_allclose(weights, [1, 0], atol=1e-6)


def test_nested_mixtures_are_flat():
    inner = InterpolatedLM([FIRST, SECOND], [0.5, 0.5])
    third = KneserNeyLM(1).fit(["e a"])
    nested = InterpolatedLM([third, inner], [0.2, 0.8])
    assert nested.weights.tolist() == [0.2, 0.4, 0.4]
    assert nested.distribution("<s> a").sum() == pytest.approx(1)
    assert len(nested.sample(2, seed=0)) == 2


def test_merged_model_sums_to_one_and_keeps_stored_ngrams():
    mixture = InterpolatedLM([FIRST, SECOND], [0.3, 0.7])
    merged = table_of(mixture)
    assert merged.vocabulary_ == mixture.vocabulary_
    for context in CONTEXTS[:-1]:
        assert merged.distribution(context).sum() == pytest.approx(1, abs=1e-9)
    for context, word in (("<s>", "a"), ("a", "b"), ("a", "d"), ("a b", "a"), ("", "d")):
        k = merged.vocabulary_.id(word)
        assert merged.distribution(context)[k] == pytest.approx(mixture.distribution(context)[k], rel=1e-9)
    assert merged.perplexity(["a b d"]) == pytest.approx(mixture.perplexity(["a b d"]), rel=0.2)


def test_bad_mixtures_are_refused():
    with pytest.raises(InputError, match="sum to 1"):
        InterpolatedLM([FIRST, SECOND], [0.5, 0.6])
    with pytest.raises(InputError, match="two or more"):
        InterpolatedLM([FIRST], [1.0])
    with pytest.raises(InputError, match="no word that the models know"):
        interpolate([FIRST, SECOND], [])
