"""Steps of FTRL-Proximal on chains against the same in plain Python, and sums of squared gradients."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from epigram.tagging.loss import ChainLoss, StreamRule
from reference.chain import Key, by_name, chain_of
from reference.chain_corpus import CASES, Case, corpus
from reference.chain_sgd import close
from reference.chain_stream import Follower


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize(("l1", "l2"), [(0.0, 0.0), (0.4, 0.0), (0.2, 0.1)])
def test_steps_are_those_of_the_algorithm(case: Case, l1: float, l2: float) -> None:
    text = corpus(case)
    loss = ChainLoss(text.sequences, text.labels, text.layout, text.weights)
    w, z, n = (np.zeros(loss.n_weights) for _ in range(3))
    follower = Follower(chain_of(text.layout, w), 0.7, 0.2, l1, l2)
    order = np.random.default_rng(1).permutation(np.arange(loss.n_samples).repeat(3)).astype(np.int32)
    met = loss.online_pass(order, StreamRule(0.7, 0.2, l1, l2), w, z, n)
    samples = text.samples()
    assert met == pytest.approx(sum(follower.learn(*samples[s]) for s in order.tolist()), rel=1e-9)
    for ours, theirs in ((w, follower.chain.weights), (z, follower.z), (n, follower.n)):
        assert close(by_name(text.layout, ours), theirs)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_gradients_and_their_squares_are_summed_over_sentences(case: Case) -> None:
    text = corpus(case)
    loss = ChainLoss(text.sequences, text.labels, text.layout, text.weights)
    w = np.random.default_rng(2).normal(size=loss.n_weights)
    chain = chain_of(text.layout, w)
    squares: dict[Key, float] = defaultdict(float)
    for sentence, y, weight in text.samples():
        for key, value in chain.gradient(sentence, y).items():
            squares[key] += (weight * value) ** 2
    sums = loss.summed_gradients(w)
    ours = by_name(text.layout, sums[1])
    assert close(ours, {key: squares[key] for key in ours})
    gradient = np.empty(loss.n_weights)
    loss.value_and_gradient(w, gradient)
    np.testing.assert_allclose(sums[0], gradient, atol=1e-10)
