"""Experiments on time (Figure 3, Table 1, section 7), in CPU seconds, and on k of section 4.5.

All variants project the same vector: the point that a proximal step starts from after some iterations of FISTA with
unweighted tree-linf, with one step for all weights as in Algorithm 1 (the smallest of FISTA's own), rounded so that
chains which are equal up to rounding errors are equal. The collapsed tree joins the constant value non-branching
paths of that vector (Definition 3); against the length of the text, it is grown collapsed and has a vector of its own,
since beyond a length only that is grown. ``differs`` is the largest difference between the results of the variants.

k is how many entries of a subtree's heap a projection of tree-linf takes out, by Algorithm 4 as printed: what a node
clips returns to the heap as so many equal entries, and counts again at its ancestors (the library returns it as one).
Nodes whose subtree becomes 0 find no threshold and do not count.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from epigram.lm.corpus import Corpus
from epigram.lm.loglinear.loss import SuffixLoss
from epigram.lm.loglinear.penalties import Strength, build_penalty
from epigram.lm.loglinear.problem import first_weights
from epigram.lm.loglinear.tree import ContextTree, Positions
from epigram.penalties import L1, TreeL2, TreeLinf
from epigram.penalties.tree import Forest
from epigram.penalties.tree import collapse as merge
from epigram.protocols import Floats, Ints
from epigram.solvers.proximal import FISTA, StochasticProximal, metric
from experiments.structured_lm.experiments import BATCH
from experiments.structured_lm.text import novels, split_text, start_of

ENOUGH_SECONDS = 0.4
"""Repeats of one measurement end after so much time, or after seven."""


def prox_by_order(
    *,
    data: str,
    split: int,
    orders: list[int],
    strength: float,
    iterations: int,
    words: int | None,
    rival: bool,
) -> dict[str, Any]:
    """Figure 3a: time of each variant against the order."""
    train, _ = split_text(data, split, words)
    rows = [{"order": order, **prox_times(train, order, strength, iterations, rival)} for order in orders]
    return {"rows": rows, "words": train.n_tokens}


def prox_by_words(
    *,
    data: str,
    sizes: list[int],
    largest_trie: int,
    order: int,
    strength: float,
    iterations: int,
    rival: bool,
) -> dict[str, Any]:
    """Figure 3b: time against the length of the text; variants on the trie up to ``largest_trie`` words."""
    text = novels(data, max(sizes))
    rows = []
    for size in sizes:
        part = start_of(text, size)
        on_trie = prox_times(part, order, strength, iterations, rival) if size <= largest_trie else {}
        # All lengths alike: iterates on the trie and on the tree are not the same before the end.
        on_tree = _collapsed_times(*prox_input(part, order, strength, iterations, collapse=True))
        differs = max(on_tree["differs"], on_trie.get("differs", 0.0))
        rows.append({"words": part.n_tokens, **on_trie, **on_tree, "differs": differs})
    return {"rows": rows, "order": order}


def prox_times(corpus: Corpus, order: int, strength: float, iterations: int, rival: bool) -> dict[str, Any]:
    """Nodes of trie and tree, and seconds of each variant on the vector of this text."""
    parents, v, kappa, _ = prox_input(corpus, order, strength, iterations, collapse=False)
    parent_t, v_t, count, node = merge(parents, v)
    m = count.astype(np.float64)
    linf, l2, pivot = TreeLinf(1.0, parents), TreeL2(1.0, parents), _pivot(parents, v, np.ones(1))
    out, out_t = np.empty_like(v), np.empty_like(v_t)
    linf.prox(v, kappa, out)
    expected = out.copy()
    TreeLinf(1.0, parent_t, m).prox(v_t, kappa / m, out_t)
    on_tree = _collapsed_times(parent_t, v_t, kappa, m)
    row: dict[str, Any] = {
        "trie": int(v.size),
        **on_tree,
        "tree-l2": _seconds(lambda: l2.prox(v, kappa, out)),
        "heap": _seconds(lambda: linf.prox(v, kappa, out)),
        "pivot": _seconds(lambda: pivot(kappa)),
        "differs": max(on_tree["differs"], _gap(out_t[node], expected), _gap(pivot(kappa), expected)),
    }
    if rival:
        row["spams"] = _spams(parents, v, kappa, expected)
    return row


def prox_input(
    corpus: Corpus, order: int, strength: float, iterations: int, collapse: bool
) -> tuple[Ints, Floats, float, Floats]:
    """Parents in pre-order (which SPAMS and random pivots need), the vector, kappa, and multiplicities."""
    tree, penalty_strength = ContextTree.grow(Positions.of(corpus), order, collapse), Strength(strength, 1.0)
    loss, penalty = SuffixLoss(tree), build_penalty("tree-linf", tree, penalty_strength)
    w = FISTA(1e-12, iterations).solve(loss, penalty, first_weights(tree, penalty_strength)).w
    gradient = np.empty_like(w)
    loss.value_and_gradient(w, gradient)
    step = float(1.0 / np.max(metric(loss, penalty, gradient)))
    m = tree.per_pair(tree.multiplicity).astype(np.float64)
    forest = Forest.of(tree.pair_parent, preorder=True)
    v = np.maximum(forest.arrange(w - step * gradient / m), 0.0).round(9)
    return forest.parent, v, strength * step, forest.arrange(m)


def _collapsed_times(parents: Ints, v: Floats, kappa: float, m: Floats) -> dict[str, Any]:
    """Seconds on a collapsed tree; m are the nodes of the trie that each of its nodes stands for."""
    l1, linf, pivot = L1(1.0, m), TreeLinf(1.0, parents, m), _pivot(parents, v, m)
    steps, out = kappa / m, np.empty_like(v)
    linf.prox(v, steps, out)
    return {
        "tree": int(v.size),
        "differs": _gap(pivot(kappa), out),
        "l1": _seconds(lambda: l1.prox(v, steps, out)),
        "heap-col": _seconds(lambda: linf.prox(v, steps, out)),
        "pivot-col": _seconds(lambda: pivot(kappa)),
    }


def gradient_pass(*, data: str, words: int | None, order: int, strength: float) -> dict[str, Any]:
    """One exact iteration over novels: the tree, loss and gradient of all words, and the tree-linf prox."""
    tree, loss, seconds = _novels(data, words, order)
    penalty_strength = Strength(strength, 1.0)
    w, gradient = first_weights(tree, penalty_strength), np.empty(tree.n_pairs)
    seconds["gradient"] = _seconds(lambda: loss.value_and_gradient(w, gradient), 3)
    penalty = build_penalty("tree-linf", tree, penalty_strength)
    step = 1.0 / loss.curvature(gradient)
    out = np.empty_like(w)
    seconds["prox"] = _seconds(lambda: penalty.prox(w - step * gradient, step, out), 3)
    return {**_described(tree, loss), "seconds": seconds}


def stochastic_pass(
    *, data: str, words: int | None, order: int, strength: float, batches: int
) -> dict[str, Any]:
    """Seconds of a mini-batch of the paper's Algorithm 1 over novels, from the first ``batches`` of a pass.

    Two runs, of one batch and of one and ``batches`` more, so that what a run costs once falls out.
    """
    tree, loss, _ = _novels(data, words, order)
    penalty_strength = Strength(strength, 1.0)
    penalty, w = build_penalty("tree-linf", tree, penalty_strength), first_weights(tree, penalty_strength)
    solver = StochasticProximal(BATCH, 1)
    samples = np.random.default_rng(0).permutation(loss.n_samples)
    spent = []
    for n in (1, 1, 1 + batches):  # the first run also locates the samples
        began = time.process_time()
        solver.solve(loss, penalty, w, samples=samples[: n * BATCH])
        spent.append(time.process_time() - began)
    batch = max(spent[2] - spent[1], 1e-9) / batches
    in_a_pass = int(np.ceil(loss.n_samples / BATCH))
    return {**_described(tree, loss), "batch_seconds": batch, "measured": batches, "in_a_pass": in_a_pass}


def _novels(data: str, words: int | None, order: int) -> tuple[ContextTree, SuffixLoss, dict[str, float]]:
    began = time.process_time()
    positions = Positions.of(novels(data, words))
    read = time.process_time()
    tree = ContextTree.grow(positions, order, collapse=True)
    grown = time.process_time()
    return tree, SuffixLoss(tree, positions=positions), {"read": read - began, "tree": grown - read}


def _described(tree: ContextTree, loss: SuffixLoss) -> dict[str, Any]:
    return {"positions": loss.n_samples, "vocabulary": tree.n_targets, "weights": tree.n_pairs}


def _pivot(parents: Ints, v: Floats, multiplicity: Floats) -> Callable[[float], Floats]:
    """Algorithm 3 on prepared arrays."""
    from epigram._core import bindings

    h = multiplicity if multiplicity.size == v.size else np.ones(v.size)
    out, count = np.empty((2, v.size))
    size, live = np.empty((2, v.size), dtype=np.int64)

    def project(kappa: float) -> Floats:
        steps = kappa / multiplicity
        bindings.penalties_prox_linf_pivot(parents, v, h, 1.0, steps, False, 0, count, size, live, out)
        return out

    return project


def _spams(parents: Ints, v: Floats, kappa: float, expected: Floats) -> dict[str, Any]:
    """Seconds of ``spams.proximalTree`` on the trie; it knows no collapsed tree."""
    try:
        import spams  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:
        return {"missing": "spams-bin is not installed"}
    from scipy.sparse import csc_matrix

    n = parents.size
    groups = csc_matrix((np.ones(n, dtype=bool), (np.arange(1, n + 1), parents + 1)), (n + 1, n + 1))
    tree = {
        "eta_g": np.r_[0.0, np.ones(n)],
        "groups": groups,
        "own_variables": np.arange(n + 1, dtype=np.int32),
        "N_own_variables": np.ones(n + 1, dtype=np.int32),
    }
    u = np.asfortranarray(np.r_[1.0, v][:, None])

    def project(kind: str) -> Floats:
        found = spams.proximalTree(u, tree, False, lambda1=kappa, regul=f"tree-{kind}", numThreads=1)
        return np.asarray(found[1:, 0])

    gap = _gap(project("linf"), expected)
    return {
        "tree-l2": _seconds(lambda: project("l2"), 2),
        "heap": _seconds(lambda: project("linf"), 2),
        "differs": gap,
    }


def _seconds(work: Callable[[], object], times: int = 7) -> float:
    """Least CPU seconds of some runs."""
    found: list[float] = []
    while len(found) < times and (len(found) < 2 or sum(found) < ENOUGH_SECONDS):
        began = time.process_time()
        work()
        found.append(time.process_time() - began)
    return min(found)


def _gap(a: Floats, b: Floats) -> float:
    return float(np.abs(a - b).max(initial=0.0))


def k_best(
    *, data: str, split: int, words: int | None, order: int, strengths: list[float], iterations: int
) -> dict[str, Any]:
    """Mean and largest k of a proximal step on the collapsed tree, at several strengths."""
    train, _ = split_text(data, split, words)
    rows = []
    for strength in strengths:
        found = projection_sizes(*prox_input(train, order, strength, iterations, collapse=True))
        rows.append({"strength": strength, "mean": sum(found) / len(found), "largest": max(found)})
    return {"rows": rows, "words": train.n_tokens}


def projection_sizes(parents: Ints, v: Floats, kappa: float, counts: Floats) -> list[int]:
    """k of each projection, children before parents; the node x has ``counts[x]`` entries ``v[x]`` and groups.

    Examples
    --------
    >>> import numpy as np
    >>> projection_sizes(np.array([-1, 0, 0]), np.array([3.0, 3.5, 1.0]), 0.2, np.ones(3))
    [1, 1, 1]
    >>> projection_sizes(np.array([-1, 0, 0]), np.array([3.0, 3.5, 1.0]), 0.4, np.ones(3))
    [1, 1, 2]
    """
    value, count, parent = v.tolist(), counts.tolist(), parents.tolist()
    heaps: list[list[tuple[float, float]]] = [[] for _ in parent]
    total = [0.0] * len(parent)
    found = []
    for x in range(len(parent) - 1, -1, -1):
        heap, radius = heaps[x], kappa * count[x]
        if value[x] > 0.0:
            heapq.heappush(heap, (-value[x], count[x]))
            total[x] += value[x] * count[x]
        if total[x] <= radius:
            heaps[x] = []
            continue
        s, c, taken = -radius, 0.0, []
        while heap and -heap[0][0] > (s - heap[0][0] * heap[0][1]) / (c + heap[0][1]):
            top, weight = heapq.heappop(heap)
            s, c = s - top * weight, c + weight
            taken.append(weight)
        found.append(len(taken))
        for weight in taken:
            heapq.heappush(heap, (-s / c, weight))
        if parent[x] >= 0:
            total[parent[x]] += total[x] - radius
            heaps[parent[x]] = _merged(heap, heaps[parent[x]])
        heaps[x] = []
    return found


def _merged(a: list[tuple[float, float]], b: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The smaller heap into the larger."""
    if len(a) < len(b):
        a, b = b, a
    for entry in b:
        heapq.heappush(a, entry)
    return a
