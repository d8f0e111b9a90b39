"""Loss and gradient against normalisation over the whole vocabulary, finite differences, other threads."""

from __future__ import annotations

import pickle
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from small_texts import corpora, several_roots

from epigram.errors import InputError
from epigram.lm.corpus import Corpus
from epigram.lm.loglinear.loss import SuffixLoss
from epigram.lm.loglinear.tree import ContextTree, Located, Positions
from epigram.lm.vocabulary import Vocabulary
from reference.lm_suffix import log_loss, weights_by_context


@settings(max_examples=40, deadline=None)
@given(corpora, st.integers(0, 5), st.booleans(), st.integers(1, 3), st.integers(0, 2**31))
@example([["a"]], 2, False, 3, 0)  # the last root has no pair
def test_loss_equals_brute_force_and_gradient_its_differences(sentences, order, collapse, n_roots, seed):
    vocabulary = Vocabulary(["a", "b", "c", "never"])
    positions = several_roots(Corpus.of(sentences, vocabulary), n_roots)
    tree = ContextTree.grow(positions, order, collapse)
    loss = SuffixLoss(tree, threads=2)
    w = np.random.default_rng(seed).normal(0, 0.7, tree.n_pairs)
    gradient = np.empty_like(w)
    value = loss.value_and_gradient(w, gradient)
    assert value == pytest.approx(log_loss(positions, order, weights_by_context(tree, w)), rel=1e-10)
    assert loss.value(w) == pytest.approx(value, rel=1e-12)
    rng = np.random.default_rng(seed)
    for p in rng.choice(tree.n_pairs, min(6, tree.n_pairs), replace=False):
        step = np.zeros_like(w)
        step[p] = 1e-5
        difference = (loss.value(w + step) - loss.value(w - step)) / 2e-5
        assert gradient[p] == pytest.approx(difference, abs=1e-6)


@pytest.mark.parametrize("collapse", [False, True])
def test_threads_agree(collapse):
    rng = np.random.default_rng(1)
    sentences = [[str(k) for k in rng.integers(0, 50, 10)] for _ in range(300)]
    tree = ContextTree.grow(Positions.of(Corpus.of(sentences)), 4, collapse)
    w = rng.normal(0, 0.3, tree.n_pairs)
    one, three = np.empty_like(w), np.empty_like(w)
    value = SuffixLoss(tree).value_and_gradient(w, one)
    loss = SuffixLoss(tree, threads=3)
    assert loss.value_and_gradient(w, three) == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(three, one, rtol=1e-12, atol=1e-12)
    again = np.empty_like(w)
    loss.value_and_gradient(w, again)
    assert (again == three).all()


@pytest.mark.parametrize(("n_words", "order", "n"), [(3, 14, 25_000), (900, 3, 25_000), (1, 30_000, 16_500)])
def test_subtrees_that_go_up_in_parts_are_as_those_of_a_batch(n_words, order, n):
    """Large ones, larger ones below them, and a tree that is one long branch."""
    words = np.random.default_rng(0).integers(0, n_words, n).astype(str).tolist()
    positions = Positions.of(Corpus.of([words]))
    tree = ContextTree.grow(positions, order)
    assert tree.n_pairs > 2 * 16_384
    w = np.random.default_rng(1).normal(0, 0.1, tree.n_pairs) / order
    every, expected = np.arange(tree.n_positions), np.zeros_like(w)
    batch = SuffixLoss(tree, 1, positions).batch_value_and_gradient
    by_batch, _ = batch(every, 1.0, w, expected, np.empty(0, np.int32))
    for threads in (1, 2):
        gradient = np.empty_like(w)
        value = SuffixLoss(tree, threads, positions).value_and_gradient(w, gradient)
        assert value == pytest.approx(by_batch, rel=1e-11)
        np.testing.assert_allclose(gradient, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("collapse", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_sums_of_a_context_hold_its_own_positions(collapse, threads):
    """R[c] = term[c] / Z[c] + sum_d R[d], which training on a stream reads."""
    tree = ContextTree.grow(Positions.of(Corpus.of(["a b a b b", "b a b", "a b c", "c a b a"])), 4, collapse)
    loss = SuffixLoss(tree, threads=threads)
    w = np.random.default_rng(0).normal(0, 0.7, tree.n_pairs)
    loss.value_and_gradient(w, np.empty_like(w))
    expected = tree.terminal / loss.z
    for c in range(tree.n_contexts - 1, 0, -1):
        expected[tree.parent[c]] += expected[c]
    np.testing.assert_allclose(loss.r[1:], expected[1:], rtol=1e-12)


def test_what_does_not_fit_the_tree_is_refused():
    positions = Positions.of(Corpus.of(["a b", "b a"]))
    tree = ContextTree.grow(positions, 3)
    loss, w = SuffixLoss(tree, positions=positions), np.zeros(tree.n_pairs)
    with pytest.raises(ValueError, match="samples must be 0 to 5, not 2 to 6"):
        loss.batch_value_and_gradient(np.array([2, 6]), 1.0, w, w.copy(), np.empty(0, np.int32))
    with pytest.raises(TypeError, match="w has 4, t has 13"):
        loss.value(np.zeros(4))
    for change in (
        {"target": positions.target + 9},
        {"end": positions.end + 9},
        {"length": positions.end + 1},
    ):
        with pytest.raises(InputError, match="position"):
            ContextTree.grow(replace(positions, **change), 3)
    with pytest.raises(InputError, match="none of the 1"):
        ContextTree.grow(replace(positions, n_symbols=1), 3)


def test_a_loss_survives_pickle():
    tree = ContextTree.grow(Positions.of(Corpus.of(["a b", "b a"])), 3)
    loss, w = SuffixLoss(tree), np.linspace(-1, 1, tree.n_pairs)
    value = loss.value(w)
    assert pickle.loads(pickle.dumps(loss)).value(w) == value


def test_inputs_may_be_read_only() -> None:
    """Losses and located positions only read the arrays of a tree: mapped files do."""
    positions = read_only(Positions.of(Corpus.of(["a b c a b", "b c a d", "a a b"])))
    for collapse in (False, True):
        tree = read_only(ContextTree.grow(positions, 3, collapse))
        loss, w = SuffixLoss(tree, 1, positions), np.zeros(tree.n_pairs)
        gradient = np.zeros(w.size)
        w.flags.writeable = False
        loss.batch_value_and_gradient(
            np.arange(positions.target.size), 1.0, w, gradient, np.empty(0, np.int32)
        )
        whole = np.empty(w.size)
        value = loss.value_and_gradient(w, whole)
        if not collapse:
            np.testing.assert_allclose(gradient, whole, atol=1e-12)
        assert -Located(tree, positions).log_probabilities(loss, w).sum() == pytest.approx(value)


def read_only(arrays):
    found = {field.name: getattr(arrays, field.name) for field in fields(arrays)}
    for value in found.values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    return arrays
