"""The chain loss against all labellings written down, and against finite differences."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import fields, replace

import numpy as np
import pytest

from epigram.chain.layout import lay_out
from epigram.chain.loss import ChainLoss, StreamRule, put_dense_first
from epigram.chain.seen_pairs import SeenPairs
from epigram.features.sequences import Sequences
from reference.chain import Key, by_name, chain_of
from reference.chain_corpus import CASES, WIDE, Case, corpus
from reference.chain_sgd import close
from reference.chain_stream import Follower


@pytest.mark.parametrize("case", [*CASES, *WIDE], ids=str)
@pytest.mark.parametrize("threads", [1, 3])
def test_value_and_gradient_are_those_of_all_labellings(case: Case, threads: int) -> None:
    text = corpus(case)
    w = text.random_weights(1)
    loss = ChainLoss(text.sequences, text.labels, text.layout, text.weights, threads)
    out = np.full(loss.n_weights, np.nan)
    value = loss.value_and_gradient(w, out)
    chain = chain_of(text.layout, w)
    expected = 0.0
    g = dict.fromkeys(chain.weights, 0.0)
    for sentence, y, weight in text.samples():
        expected += weight * chain.loss(sentence, y)
        for key, part in chain.gradient(sentence, y).items():
            g[key] += weight * part
    assert value == pytest.approx(expected, rel=1e-11)
    found = by_name(text.layout, out)
    assert found.keys() == g.keys()
    np.testing.assert_allclose([found[key] for key in g], list(g.values()), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("case", [CASES[0], CASES[10], *WIDE], ids=str)
def test_inputs_may_be_read_only_and_stay_as_they_are(case: Case) -> None:
    text = corpus(case)
    w = text.random_weights(1)
    expected, found = np.empty_like(w), np.empty_like(w)
    value = ChainLoss(text.sequences, text.labels, text.layout, text.weights).value_and_gradient(w, expected)
    n = np.diff(text.sequences.attribute_ptr)
    backwards = np.repeat(text.sequences.attribute_ptr[1:] - 1, n) - (
        np.arange(n.sum()) - np.repeat(text.sequences.attribute_ptr[:-1], n)
    )
    values = text.sequences.values if text.sequences.unit_values else text.sequences.values[backwards]
    turned = replace(text.sequences, attributes=text.sequences.attributes[backwards], values=values.copy())
    ordered = replace(turned, attributes=turned.attributes.copy(), values=turned.values.copy())
    put_dense_first(ordered, text.layout)
    for sequences in (turned, ordered):
        kept = sequences.attributes.copy(), sequences.values.copy()
        for array in fields_of(sequences):
            if isinstance(array, np.ndarray):
                array.flags.writeable = False
        loss = ChainLoss(sequences, text.labels, text.layout, text.weights)
        assert loss.value_and_gradient(w, found) == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
        assert np.array_equal(sequences.attributes, kept[0])
        assert np.array_equal(sequences.values, kept[1])
    assert loss.sequences is ordered  # in that order already: nothing is copied


def fields_of(sequences: Sequences) -> list[object]:
    return [getattr(sequences, field.name) for field in fields(sequences)]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_gradient_is_the_slope(case: Case) -> None:
    text = corpus(case)
    w = text.random_weights(2)
    loss = ChainLoss(text.sequences, text.labels, text.layout, text.weights)
    g, ignored = np.empty_like(w), np.empty_like(w)
    loss.value_and_gradient(w, g)
    rng = np.random.default_rng(0)
    for _ in range(8):
        d = rng.normal(size=w.size)
        h = 1e-5
        slope = (
            loss.value_and_gradient(w + h * d, ignored) - loss.value_and_gradient(w - h * d, ignored)
        ) / (2 * h)
        assert slope == pytest.approx(float(g @ d), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_same_bits_with_the_same_number_of_threads(case: Case) -> None:
    text = corpus(case)
    w = text.random_weights(3)
    outs = []
    for _ in range(2):
        loss = ChainLoss(text.sequences, text.labels, text.layout, text.weights, threads=2)
        outs.append(np.empty_like(w))
        loss.value_and_gradient(w, outs[-1])
    assert outs[0].tobytes() == outs[1].tobytes()


def test_at_zero_every_labelling_is_as_likely() -> None:
    text = corpus(CASES[0])
    loss = ChainLoss(text.sequences, text.labels, text.layout)
    value = loss.value_and_gradient(np.zeros(loss.n_weights), np.empty(loss.n_weights))
    assert value == pytest.approx(text.sequences.n_tokens * np.log(text.layout.n_labels))


def test_scores_far_apart_stay_finite() -> None:
    sequences = Sequences.of([0, 3], [0, 1, 2, 3], [0, 1, 0])
    labels = np.array([0, 1, 1], dtype=np.int32)
    layout = lay_out(SeenPairs.of(sequences, labels, 2, 2), "all")
    loss = ChainLoss(sequences, labels, layout)
    w = np.zeros(loss.n_weights)
    w[:2] = 5000.0, -5000.0  # attribute 0 with either label
    out = np.empty_like(w)
    value = loss.value_and_gradient(w, out)
    assert value == pytest.approx(10_000.0 + np.log(2.0))  # the token in between is free
    assert np.isfinite(out).all()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_weight_of_two_is_the_sentence_twice(case: Case) -> None:
    text = corpus(case)
    n = text.sequences.n_sentences
    w = text.random_weights(4)
    twice = np.concatenate([np.arange(n), [0]])
    doubled = text.sequences.take(twice)
    labels = np.concatenate([text.labels, text.labels[: text.sequences.sentence_ptr[1]]])
    weights = np.ones(n)
    weights[0] = 2.0
    a, b = np.empty_like(w), np.empty_like(w)
    value = ChainLoss(text.sequences, text.labels, text.layout, weights).value_and_gradient(w, a)
    assert value == pytest.approx(ChainLoss(doubled, labels, text.layout).value_and_gradient(w, b))
    np.testing.assert_allclose(a, b, atol=1e-12)


def test_min_count_and_pairs_decide_which_weights_there_are() -> None:
    sequences = Sequences.of([0, 2, 3], [0, 2, 3, 4], [0, 1, 0, 2])
    labels = np.array([0, 1, 0], dtype=np.int32)
    seen = SeenPairs.of(sequences, labels, 2, 3)
    assert lay_out(seen, "seen").n_features == 2 + 1 + 1 + 1  # attribute 0 with both labels; one transition
    assert lay_out(seen, "all").n_features == 3 * 2 + 4
    assert lay_out(seen, "seen", has_transitions=False).n_features == 4
    assert lay_out(seen, "seen", bare=False).n_features == 4


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
