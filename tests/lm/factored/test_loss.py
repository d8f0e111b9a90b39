"""Factors under summed context trees: loss and gradient against dictionaries, and what the solvers make of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_texts import corpora

from epigram.lm.corpus import Corpus
from epigram.lm.factored.classes import WordClasses
from epigram.lm.factored.contexts import Contexts, FactorExamples
from epigram.lm.factored.loss import Factor, FactorLoss
from epigram.lm.factored.scorer import FactorScorer
from epigram.lm.loglinear.loss import SuffixLoss
from epigram.lm.loglinear.penalties import PENALTIES, Strength, build_penalty
from epigram.lm.loglinear.tree import ContextTree, Positions
from epigram.lm.vocabulary import Vocabulary
from epigram.solvers.proximal import FISTA, StochasticProximal
from reference import factored as twin

WORDS = Vocabulary(["a", "b", "c", "never"])
CLASSES = WordClasses(WORDS, np.array([0, 1, 2, 2, 2], np.int32))
SEVERAL = ["c1 w1 c2 w2", "w1", "c2; c1 w1", "c1 w1 c2; c2 w2; w3 c1", "w2; w1; w3"]


def made(sentences, part="word", contexts="c1 w1 c2; c2 w2", threads=1, classes=CLASSES):
    """The loss of a part of a text."""
    corpus = Corpus.of(sentences, classes.vocabulary)
    return Factor(part, classes, Contexts.parse(contexts)).loss(Positions.of(corpus), threads)


def random_text(n_sentences, n_words=12, length=7, seed=3):
    rng = np.random.default_rng(seed)
    return [[f"w{k}" for k in rng.zipf(1.6, length) % n_words] for _ in range(n_sentences)]


def random_classes(sentences, n_classes):
    vocabulary = Corpus.of(sentences).vocabulary
    class_of = 1 + np.arange(len(vocabulary), dtype=np.int32) % (n_classes - 1)
    class_of[0] = 0
    return WordClasses(vocabulary, class_of)


def weights(loss, seed, scale=0.7):
    return np.random.default_rng(seed).normal(0, scale, loss.n_weights)


def both(loss, w):
    """Value and gradient; what the gradient held before must not matter."""
    gradient = np.full(loss.n_weights, np.nan)
    return loss.value_and_gradient(w, gradient), gradient


@settings(max_examples=40)
@given(
    corpora,
    st.sampled_from(["class", "word"]),
    st.sampled_from(SEVERAL),
    st.integers(1, 3),
    st.integers(0, 2**31),
)
def test_loss_and_gradient_equal_brute_force(sentences, part, contexts, threads, seed):
    loss = made(sentences, part, contexts, threads)
    w = weights(loss, seed)
    value, gradient = both(loss, w)
    expected, slopes = twin.loss_and_gradient(loss.examples, loss.n_candidates, twin.by_context(loss, w))
    assert value == pytest.approx(expected, rel=1e-10)
    assert loss.value(w) == pytest.approx(value, rel=1e-12)
    found = twin.by_context(loss, gradient)
    assert found.keys() == slopes.keys()
    np.testing.assert_allclose([found[pair] for pair in slopes], list(slopes.values()), atol=1e-10)


@settings(max_examples=15)
@given(corpora, st.sampled_from(["class", "word"]), st.sampled_from(SEVERAL), st.integers(0, 2**31))
def test_gradient_is_the_difference_of_values(sentences, part, contexts, seed):
    loss = made(sentences, part, contexts)
    w = weights(loss, seed)
    _, gradient = both(loss, w)
    for p in np.random.default_rng(seed).choice(loss.n_weights, min(6, loss.n_weights), replace=False):
        step = np.zeros_like(w)
        step[p] = 1e-5
        difference = (loss.value(w + step) - loss.value(w - step)) / 2e-5
        assert gradient[p] == pytest.approx(difference, abs=1e-6)


@settings(max_examples=20)
@given(corpora, st.integers(1, 3), st.integers(0, 2**31))
def test_any_roots_and_candidates(sentences, n_roots, seed):
    """Roots and candidates that have nothing to do with words."""
    rng = np.random.default_rng(seed)
    words = Positions.of(Corpus.of(sentences, WORDS))
    n_candidates = rng.integers(1, 10, n_roots).astype(np.int32)
    root = rng.integers(0, n_roots, words.end.size).astype(np.int32)
    chosen = (rng.integers(0, 100, words.end.size) % n_candidates[root]).astype(np.int32)
    contexts = Contexts.parse("c1 w1; w2 w1")
    loss = FactorLoss(
        FactorExamples(root, chosen, *contexts.of(words, CLASSES.class_of, 3), n_symbols=3 + words.n_symbols),
        n_candidates,
    )
    w = weights(loss, seed)
    value, gradient = both(loss, w)
    expected, slopes = twin.loss_and_gradient(loss.examples, n_candidates, twin.by_context(loss, w))
    assert value == pytest.approx(expected, rel=1e-10, abs=1e-12)
    found = twin.by_context(loss, gradient)
    np.testing.assert_allclose([found[pair] for pair in slopes], list(slopes.values()), atol=1e-10)


@pytest.mark.parametrize("part", ["class", "word"])
@pytest.mark.parametrize("contexts", SEVERAL)
def test_threads_agree(part, contexts):
    text = random_text(150)
    classes = random_classes(text, 5)
    found = []
    for threads in (1, 2, 3):
        loss = made(text, part, contexts, threads, classes)
        found.append(both(loss, weights(loss, 5)))
        assert loss.value(weights(loss, 5)) == pytest.approx(found[0][0], rel=1e-12)
    for value, gradient in found[1:]:
        assert value == pytest.approx(found[0][0], rel=1e-12)
        np.testing.assert_allclose(gradient, found[0][1], rtol=0, atol=1e-10)
    again = both(loss, weights(loss, 5))
    assert again[0] == found[2][0]
    assert (again[1] == found[2][1]).all()


@pytest.mark.parametrize("part", ["class", "word"])
def test_batches_add_up_to_the_whole(part):
    text = random_text(60)
    loss = made(text, part, "c1 w1 c2 w2; c2 w2", classes=random_classes(text, 4))
    w = weights(loss, 1)
    value, gradient = both(loss, w)
    out, touched = np.zeros(loss.n_weights), np.empty(0, np.int32)
    samples = np.arange(loss.n_samples)
    whole, touched = loss.batch_value_and_gradient(samples, 1.0, w, out, touched)
    assert whole == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(out, gradient, atol=1e-9)
    total, summed = 0.0, np.zeros(loss.n_weights)
    for batch in np.array_split(np.random.default_rng(0).permutation(samples), 7):
        part_value, touched = loss.batch_value_and_gradient(batch, 2.0, w, out, touched)
        total += part_value
        summed += out
    assert total == pytest.approx(2 * value, rel=1e-10)
    np.testing.assert_allclose(summed, 2 * gradient, atol=1e-9)


@settings(max_examples=20)
@given(corpora, st.integers(0, 2**31))
def test_one_tree_and_one_root_are_the_plain_loss(sentences, seed):
    loss = made(sentences, "class", "w1 w2 w3")
    positions = loss.examples.positions(1, int(loss.n_candidates[0]))
    plain = SuffixLoss(ContextTree.grow(positions, order=0))
    w = weights(loss, seed)
    (value, gradient), (expected, slopes) = both(loss, w), both(plain, w)
    assert value == pytest.approx(expected, rel=1e-10)
    np.testing.assert_allclose(gradient, slopes, atol=1e-10)
    np.testing.assert_allclose(loss.curvature(gradient), plain.curvature(slopes), atol=1e-10)


@pytest.mark.parametrize("contexts", ["w1 w2 w3 w4 w5", "w1 w2 w3 w4 w5; w2 w3", "w5 w4 w3; w1 w2 w3 w4"])
@pytest.mark.parametrize("threads", [1, 3])
def test_contexts_seen_once_are_a_chain_of_equal_gradients(contexts, threads):
    """Every word once: below the first level all contexts are chains, which the sweep does not walk."""
    classes = random_classes([[f"w{k}" for k in range(12)]], 4)
    loss = made(
        [[f"w{k}" for k in range(6)], [f"w{k}" for k in range(6, 12)]], "word", contexts, threads, classes
    )
    assert (loss.tree.count[int(loss.tree.pair_ptr[loss.n_roots * loss.n_trees]) :] == 1).all()
    w = weights(loss, 2)
    value, gradient = both(loss, w)
    expected, slopes = twin.loss_and_gradient(loss.examples, loss.n_candidates, twin.by_context(loss, w))
    assert value == pytest.approx(expected, rel=1e-10)
    found = twin.by_context(loss, gradient)
    np.testing.assert_allclose([found[pair] for pair in slopes], list(slopes.values()), atol=1e-10)


def test_classes_of_one_word_leave_nothing_to_learn():
    alone = WordClasses(WORDS, np.arange(5, dtype=np.int32))
    loss = made(["a b c", "b a"], "word", classes=alone)
    value, gradient = both(loss, weights(loss, 0))
    assert value == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-12)
    some = WordClasses(WORDS, np.array([0, 1, 2, 3, 3], np.int32))
    assert made(["a b c", "b a"], "word", classes=some).n_samples == 1


@pytest.mark.parametrize("penalty", sorted(PENALTIES))
@pytest.mark.parametrize("part", ["class", "word"])
def test_solution_is_a_fixed_point_of_the_proximal_step(penalty, part):
    text = random_text(40)
    loss = made(text, part, "c1 w1 c2; c2 w2", classes=random_classes(text, 4))
    strength = Strength(0.4, 1.2, 0.1 if penalty == "elastic" else 0.0, side=2.5)
    priced = build_penalty(penalty, loss.tree, strength, True, loss.is_side)
    found = FISTA(1e-15, 5000).solve(loss, priced)
    value, gradient = both(loss, found.w)
    assert found.objective == pytest.approx(value + priced.value(found.w), rel=1e-12)
    even, moved = np.ones(loss.n_weights), np.empty(loss.n_weights)
    step = 0.05 / (priced.level(even) if hasattr(priced, "level") else even)
    priced.prox(found.w - step * gradient, step, moved)
    np.testing.assert_allclose(moved, found.w, atol=1e-5)
    assert (found.w >= 0).all()
    assert found.w.any()
    cheaper = build_penalty(penalty, loss.tree, Strength(0.4, 1.2, strength.ridge), True, loss.is_side)
    assert FISTA(1e-12, 5000).solve(loss, cheaper).objective < found.objective


@pytest.mark.parametrize("name", sorted(PENALTIES))
def test_side_weights_cost_what_the_price_says(name):
    loss = made(["a b c", "b a c a"], "word", "c1 w1; c2 w2")
    side = loss.tree.per_pair(loss.is_side)
    assert 0 < side.sum() < side.size
    dear, plain = (
        build_penalty(name, loss.tree, Strength(0.5, 1.3, 0.2, side=factor), True, loss.is_side)
        for factor in (3.0, 1.0)
    )
    w = np.abs(weights(loss, 4))
    assert dear.value(np.where(side, 0, w)) == pytest.approx(plain.value(np.where(side, 0, w)))
    assert dear.value(np.where(side, w, 0)) == pytest.approx(3 * plain.value(np.where(side, w, 0)))


def test_stochastic_solver_lowers_the_objective_towards_the_exact_one():
    text = random_text(60)
    loss = made(text, "word", "c1 w1 c2; c2 w2", classes=random_classes(text, 4))
    priced = build_penalty("elastic", loss.tree, Strength(0.4, 1.2, 0.1, 2.0), True, loss.is_side)
    exact = FISTA(1e-10, 2000).solve(loss, priced).objective
    found = StochasticProximal(batch_size=40, passes=100, seed=1, tolerance=1e-9).solve(loss, priced)
    assert exact * (1 - 1e-9) <= found.objective < loss.value(np.zeros(loss.n_weights))
    assert found.objective == pytest.approx(exact, rel=0.01)


@settings(max_examples=20)
@given(corpora, st.sampled_from(["class", "word"]), st.sampled_from(SEVERAL), st.integers(0, 2**31))
def test_model_without_its_zeros_scores_as_the_loss_does(sentences, part, contexts, seed):
    corpus = Corpus.of(sentences, WORDS)
    factor = Factor(part, CLASSES, Contexts.parse(contexts))
    loss = factor.loss(Positions.of(corpus))
    w = np.where(np.random.default_rng(seed).random(loss.n_weights) < 0.5, 0.0, weights(loss, seed))
    model = FactorScorer.of(loss, factor.contexts, w)
    assert model.w.size == sum(weight != 0 for weight in twin.by_context(loss, w).values())
    assert -model.log_probabilities(loss.examples).sum() == pytest.approx(loss.value(w), rel=1e-9, abs=1e-9)
    kept = {pair: weight for pair, weight in twin.by_context(loss, w).items() if weight != 0}
    assert twin.weights_of_model(model) == pytest.approx(kept)
    again = FactorScorer.from_tensors(factor.contexts, model.tensors(0))
    for name in ("parent", "symbol", "pair_ptr", "candidate", "n_candidates"):
        np.testing.assert_array_equal(getattr(again, name), getattr(model, name))
    np.testing.assert_allclose(again.w, model.w, rtol=1e-6)
    np.testing.assert_array_equal(again.depth, [len(c[2]) for c in spelled(model)])
    np.testing.assert_array_equal(again.tree_of, [c[0] for c in spelled(model)])


def spelled(model):
    """(tree, root, symbols newest first) of every context, walking up."""
    out = []
    for node in range(model.parent.size):
        symbols = []
        while model.parent[node] >= 0:
            symbols.insert(0, int(model.symbol[node]))
            node = int(model.parent[node])
        out.append((node // model.n_roots, node % model.n_roots, symbols))
    return out
