"""The tree prox equals slow projections and SPAMS, minimises what it says, and refuses what is no forest."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epigram.errors import InputError
from epigram.penalties import TreeL2, TreeLinf, depth_weights, prox
from epigram.penalties.tree import Forest, collapse
from epigram.protocols import ProximalPenalty
from reference import tree_prox as reference

FIGURE = [-1, 0, 1, 2, 3, 3, 1, 6]
VECTOR = np.array([3.0, 4, 6, 6, 4, 5, 7, 7])
PENALTIES = {"l2": TreeL2, "linf": TreeLinf}


@st.composite
def forests(draw, max_size=14):
    """Parents in a random numbering, values with ties and zeros, group weights with zeros, tree steps."""
    n = draw(st.integers(1, max_size))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    deep = draw(st.booleans())
    parents = [-1] + [
        -1 if rng.random() < 0.1 else int(x - 1 if deep and rng.random() < 0.7 else rng.integers(x))
        for x in range(1, n)
    ]
    name = rng.permutation(n) if draw(st.booleans()) else np.arange(n)
    shuffled = np.empty(n, dtype=int)
    shuffled[name] = [-1 if p < 0 else name[p] for p in parents]
    w = rng.choice([rng.normal(size=n) * 2, np.round(rng.normal(size=n)), np.zeros(n)], axis=0)
    weights = rng.choice([0.0, 0.3, 1.0, 2.5], size=n, p=[0.1, 0.4, 0.4, 0.1])
    tree = Forest.of(shuffled).trees()
    return shuffled, w, weights, rng.uniform(0.1, 2.0, size=n)[tree]


@settings(max_examples=150, deadline=None)
@given(forests(), st.sampled_from(["l2", "linf"]), st.booleans())
def test_prox_equals_slow_projections(forest, kind, nonnegative):
    parents, w, weights, step = forest
    expected = reference.prox(parents, w, weights, step, kind, nonnegative)
    found = prox(parents, w, step, kind, group_weights=weights, nonnegative=nonnegative)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@settings(max_examples=80, deadline=None)
@given(forests(), st.booleans(), st.integers(0, 9))
def test_random_pivots_and_uneven_steps_under_linf(forest, nonnegative, seed):
    parents, w, weights, _ = forest
    step = np.random.default_rng(seed).uniform(0.2, 3.0, size=w.size)
    expected = reference.prox(parents, w, weights, step, "linf", nonnegative)
    for method in ("heap", "pivot"):
        found = prox(
            parents, w, step, "linf", group_weights=weights, nonnegative=nonnegative, method=method, seed=seed
        )
        np.testing.assert_allclose(found, expected, atol=1e-12)


@settings(max_examples=80, deadline=None)
@given(forests(10), st.sampled_from(["l2", "linf"]), st.booleans(), st.integers(0, 99))
def test_prox_is_the_minimum_of_its_objective(forest, kind, nonnegative, seed):
    """No move lowers 1/2 sum (v - w)^2 / step + norm(v): not along coordinates, subtrees, nor at random."""
    parents, w, weights, step = forest
    rng = np.random.default_rng(seed)
    if kind == "linf":
        step = rng.uniform(0.2, 3.0, size=w.size)
    penalty = PENALTIES[kind](0.7, parents, weights, nonnegative)
    v = np.empty_like(w)
    penalty.prox(w, step, v)

    def objective(u):
        return 0.5 * float(((u - w) ** 2 / step).sum()) + 0.7 * reference.norm(parents, u, weights, kind)

    assert penalty.value(v) == pytest.approx(0.7 * reference.norm(parents, v, weights, kind), abs=1e-12)
    members, _, _ = reference.subtrees(parents)
    moves = [*np.eye(w.size), *(np.isin(np.arange(w.size), group) * 1.0 for group in members)]
    moves += [rng.normal(size=w.size) for _ in range(20)] + [v, w - v]
    for move in moves:
        for size in (1e-4, -1e-4, 0.1, -0.1):
            other = v + size * move
            if not (nonnegative and other.min() < 0):
                assert objective(v) <= objective(other) + 1e-10


@settings(max_examples=80, deadline=None)
@given(forests(10), st.sampled_from(["l2", "linf"]), st.booleans(), st.integers(0, 99))
def test_feature_weights_stand_inside_every_norm(forest, kind, nonnegative, seed):
    """The prox minimises its objective, written with the weights inside the norms."""
    parents, w, weights, _ = forest
    rng = np.random.default_rng(seed)
    inside = rng.uniform(0.5, 2.0, size=w.size)
    penalty = PENALTIES[kind](0.7, parents, weights, nonnegative, inside)
    step = rng.uniform(0.2, 3.0, size=w.size)
    if kind == "l2":
        d = penalty.level(1 / step)
        assert (d >= (1 - 1e-12) / step).all()
        step = 1 / d
    v = np.empty_like(w)
    penalty.prox(w, step, v)

    def objective(u):
        return 0.5 * float(((u - w) ** 2 / step).sum()) + 0.7 * reference.norm(
            parents, inside * u, weights, kind
        )

    assert penalty.value(v) == pytest.approx(
        0.7 * reference.norm(parents, inside * v, weights, kind), abs=1e-12
    )
    members, _, _ = reference.subtrees(parents)
    moves = [*np.eye(w.size), *(np.isin(np.arange(w.size), group) / inside for group in members)]
    moves += [v * (np.isin(np.arange(w.size), group)) for group in members]
    moves += [rng.normal(size=w.size) for _ in range(30)] + [v, w - v]
    for move in moves:
        for size in (1e-4, -1e-4, 0.1, -0.1):
            other = v + size * move
            if not (nonnegative and other.min() < 0):
                assert objective(v) <= objective(other) + 1e-10
    again = w.copy()
    penalty.prox(again, step, again)
    np.testing.assert_array_equal(again, v)


@pytest.mark.parametrize("kind", ["l2", "linf"])
def test_no_search_finds_a_point_below_the_prox_with_feature_weights(kind):
    from scipy.optimize import minimize

    rng = np.random.default_rng(5)
    for parents in ([-1, 0, 1, 1], [-1, 0, -1, 2], [-1, 0, 1, 2]):
        w, inside = rng.normal(size=4) * 2, np.array([1.0, 0.8, 1.3, 0.6])
        step = 0.7 / inside**2 if kind == "l2" else rng.uniform(0.3, 1.5, size=4)

        def objective(u, w=w, step=step, inside=inside, parents=parents):
            return 0.5 * float(((u - w) ** 2 / step).sum()) + reference.norm(
                parents, inside * u, np.ones(4), kind
            )

        found = prox(parents, w, step, kind, feature_weights=inside)
        options = {"xatol": 1e-9, "fatol": 1e-12, "maxfev": 6000}
        best = min(
            minimize(objective, start, method="Nelder-Mead", options=options).fun
            for start in (w, found, found + 0.1, np.full(4, 0.05))
        )
        assert objective(found) <= best + 1e-9


@settings(max_examples=60, deadline=None)
@given(forests(), st.sampled_from(["l2", "linf"]), st.integers(0, 99))
def test_prox_does_not_expand_and_keeps_zero(forest, kind, seed):
    parents, w, weights, step = forest
    other = w + np.random.default_rng(seed).normal(size=w.size)
    first, second = (prox(parents, v, step, kind, group_weights=weights) for v in (w, other))
    assert np.linalg.norm(first - second) <= np.linalg.norm(w - other) * (1 + 1e-12)
    assert not prox(parents, np.zeros_like(w), step, kind, group_weights=weights).any()


@settings(max_examples=60, deadline=None)
@given(forests(12), st.floats(0.4, 1.0), st.integers(0, 999), st.floats(0.01, 2.0))
def test_collapsed_chains_give_the_prox_of_the_trie(forest, alpha, seed, kappa):
    """Propositions 1 and 2, with depth weights that do not grow."""
    parents, w, _, _ = forest
    rng = np.random.default_rng(seed)
    chain = rng.integers(1, 4, size=w.size)
    long_parents, long_w = [], []
    last = {}
    for x in np.argsort(reference.subtrees(parents)[2], kind="stable"):
        above = last[parents[x]] if parents[x] >= 0 else -1
        for _ in range(chain[x]):
            long_parents.append(above)
            long_w.append(w[x])
            above = len(long_w) - 1
        last[x] = above
    parent, value, count, node = collapse(long_parents, long_w)
    long_depth = np.array(reference.subtrees(long_parents)[2])
    deepest = np.zeros(value.size, dtype=int)
    np.maximum.at(deepest, node, long_depth)
    on_tree = prox(
        parent,
        value,
        kappa,
        "linf",
        group_weights=depth_weights(deepest, alpha, count),
        multiplicity=count,
    )
    on_trie = prox(long_parents, long_w, kappa, "linf", group_weights=depth_weights(long_depth, alpha))
    np.testing.assert_allclose(on_tree[node], on_trie, atol=1e-11)


@pytest.mark.parametrize("kind", ["l2", "linf"])
@pytest.mark.parametrize("nonnegative", [False, True])
def test_spams_agrees(kind, nonnegative):
    rng = np.random.default_rng(3)
    for n in (1, 2, 7, 60, 2000):
        raw = np.array(
            [-1, *(int(rng.integers(max(0, x - 8), x)) if rng.random() < 0.97 else -1 for x in range(1, n))]
        )
        forest = Forest.of(raw, preorder=True)
        parents = forest.parent
        w, weights = rng.normal(size=n), rng.uniform(0, 2, size=n)
        found = prox(parents, w, 0.15, kind, group_weights=weights, nonnegative=nonnegative)
        expected = reference.spams_prox(parents, w, weights, 0.15, kind, nonnegative)
        np.testing.assert_allclose(found, expected, atol=1e-10)
        inside = rng.uniform(0.5, 2, size=n)
        penalty = PENALTIES[kind](1.0, parents, weights, nonnegative, inside)
        penalty.prox(w, 0.15 / inside**2, found)
        expected = reference.spams_prox(parents, inside * w, weights, 0.15, kind, nonnegative) / inside
        np.testing.assert_allclose(found, expected, atol=1e-10)


def test_figure_1_of_the_paper():
    np.testing.assert_allclose(
        prox(FIGURE, VECTOR, 0.8, "linf"), [3, 4, 5.2, 5.2, 3.2, 4.2, 5.4, 5.4], atol=1e-12
    )
    np.testing.assert_allclose(
        prox(FIGURE, VECTOR, 0.8, "l2"), [2.805, 3.506, 4.809, 4.328, 2.308, 3.029, 5.610, 4.969], atol=5e-4
    )
    parent, value, count, node = collapse(FIGURE, VECTOR)
    assert (value.tolist(), count.tolist()) == ([3, 4, 6, 4, 5, 7], [1, 1, 2, 1, 1, 2])
    collapsed = prox(parent, value, 0.8, "linf", multiplicity=count)
    np.testing.assert_allclose(collapsed[node], [3, 4, 5.2, 5.2, 3.2, 4.2, 5.4, 5.4], atol=1e-12)


def test_deep_chains_and_wide_stars_do_not_recurse():
    n = 200_000
    chain, star = np.arange(-1, n - 1), np.r_[-1, np.zeros(n - 1, dtype=int)]
    w = np.random.default_rng(0).normal(size=n)
    upside_down = np.r_[np.arange(1, n), -1]
    for kind in ("l2", "linf"):
        down = prox(chain, w, 1e-3, kind)
        np.testing.assert_allclose(prox(upside_down, w[::-1], 1e-3, kind)[::-1], down, atol=1e-12)
        for parents in (star, np.full(n, -1)):
            assert np.isfinite(prox(parents, w, 1e-3, kind)).all()


def test_both_are_proximal_penalties():
    for make in (TreeL2, TreeLinf):
        penalty = make(2.0, FIGURE)
        assert isinstance(penalty, ProximalPenalty)
        cheaper = make(1.0, FIGURE)
        assert penalty.value(VECTOR) == pytest.approx(2 * cheaper.value(VECTOR))
        assert make(1.0, FIGURE, nonnegative=True).value(-VECTOR) == np.inf
        unpriced = np.empty_like(VECTOR)
        make(0.0, FIGURE).prox(VECTOR, 1.0, unpriced)
        assert unpriced.tolist() == VECTOR.tolist()
    d = np.array([1.0, 2, 5, 4, 3])
    assert TreeL2(1.0, [-1, 0, -1, 2, 0]).level(d).tolist() == [3, 3, 5, 5, 3]
    assert not hasattr(TreeLinf(1.0, FIGURE), "level")


def test_what_is_no_forest_is_refused():
    bad = {
        "cycle": ([1, 0], [1.0, 2.0]),
        "must be -1": ([5, -1], [1.0, 2.0]),
        "found -2": ([-2, -1], [1.0, 2.0]),
        "3 weights for 2": ([-1, 0], [1.0, 2.0, 3.0]),
        "vector of integers": ([-1.0, 0.0], [1.0, 2.0]),
        "finite numbers": ([-1, 0], [1.0, np.nan]),
    }
    for message, (parents, w) in bad.items():
        for kind in ("l2", "linf"):
            with pytest.raises(InputError, match=message):
                prox(parents, w, 1.0, kind)
    with pytest.raises(InputError, match="cycle: 3 of 4"):
        prox([-1, 3, 1, 2], np.ones(4), 1.0)
    with pytest.raises(InputError, match="one step for all weights of a tree"):
        prox([-1, 0], [1.0, 2.0], [1.0, 2.0], "l2")
    with pytest.raises(InputError, match="steps by level"):
        prox([-1, 0], [1.0, 2.0], 1.0, "l2", feature_weights=[1.0, 2.0])
    with pytest.raises(InputError, match="feature weights must be 2"):
        prox([-1, 0], [1.0, 2.0], 1.0, "linf", feature_weights=[1.0, 0.0])
    with pytest.raises(InputError, match="random pivots know no"):
        prox([-1, 0], [1.0, 2.0], 1.0, "linf", feature_weights=[1.0, 1.0], method="pivot")
    with pytest.raises(InputError, match="belong to the linf norm"):
        prox([-1, 0], [1.0, 2.0], 1.0, "l2", multiplicity=[1, 2])
    with pytest.raises(InputError, match="norm is l2 or linf"):
        prox([-1, 0], [1.0, 2.0], 1.0, "l1")
    with pytest.raises(InputError, match="steps must be"):
        prox([-1, 0], [1.0, 2.0], -1.0)
    with pytest.raises(InputError, match="group weights"):
        prox([-1, 0], [1.0, 2.0], 1.0, group_weights=[1.0])
    with pytest.raises(InputError, match="multiplicities"):
        prox([-1, 0], [1.0, 2.0], 1.0, "linf", multiplicity=[1, 0])
    with pytest.raises(ValueError, match="finite"):
        TreeL2(np.inf, [-1])
    with pytest.raises(InputError, match="depth weight"):
        depth_weights([1], 0.0)
    assert prox([-1, 0], [1.0, -2.0], 0.0, nonnegative=True).tolist() == [1.0, 0.0]
    assert prox(np.empty(0, dtype=int), [], 1.0, "linf").size == 0
