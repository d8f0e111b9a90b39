"""Negative log-likelihood over a context tree, with its exact gradient.

Nelakanti et al. 2013, equations 1 and 2: P(u | x) = exp s[c,u] / Z[c], s[c,u] the sum of the weights of (c,
u) and its ancestors, c the longest known suffix of x. Weights exist for seen pairs only, so

    Z[c] = Z[c'] + sum over u seen after c of (exp s[c,u] - exp s[c',u])

runs top down, and the gradient runs bottom up (``_core/loglinear_sweep.c``). The cost is O(pairs), whatever the
size of the vocabulary. Subtrees of level 1 share only the roots, so threads take runs of them.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from epigram._core import bindings
from epigram._core.arrays import dot
from epigram._core.threads import Team
from epigram.errors import at_least
from epigram.lm.loglinear.tree import ContextTree, Located, Positions
from epigram.protocols import Floats, Ints, Offsets

SHARDS_PER_THREAD = 12


class SuffixLoss:
    """Sum of -log P(target | context) over the positions of a tree; a BatchLoss.

    One weight for each pair; where a node stands for several contexts, it is the weight of each of them.
    ``e``, ``z`` and ``r`` keep exp s, Z and the sum of 1 / Z below each context, of the last sweeps.

    Examples
    --------
    >>> from epigram.lm.loglinear.tree import Positions
    >>> from epigram.lm.corpus import Corpus
    >>> loss = SuffixLoss(ContextTree.grow(Positions.of(Corpus.of(["a b"])), order=1))
    >>> gradient = np.empty(loss.n_weights)
    >>> round(loss.value_and_gradient(np.zeros(3), gradient), 6)  # 3 positions, 3 words: 3 ln 3
    3.295837
    >>> gradient.tolist()
    [0.0, 0.0, 0.0]
    """

    def __init__(self, tree: ContextTree, threads: int = 1, positions: Positions | None = None) -> None:
        self.tree, self.threads = tree, threads
        self._positions = positions
        self._located: tuple[Ints, Ints] | None = None
        self.n_weights = tree.n_pairs
        self.n_samples = tree.n_positions
        self.e = np.empty(tree.n_pairs)
        self.z = np.empty(tree.n_contexts)
        self.r = np.empty(tree.n_contexts)
        self._exponents = tree.per_pair(tree.multiplicity).astype(np.float64) if tree.collapsed else None
        # More shards than threads, because subtrees differ in cost: a thread that is done takes the next one.
        self._shards = _shards(
            tree, at_least(1, threads, "threads") if threads == 1 else SHARDS_PER_THREAD * threads
        )
        self._team = Team(threads if len(self._shards) > 1 else 1)

    @cached_property
    def core(self) -> Any:
        """The tree as C takes it."""
        return self.tree.core()

    @cached_property
    def sums(self) -> Any:
        """``e``, ``z`` and ``r`` as C takes them."""
        return bindings.Sums(self.e, self.z, self.r)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("core", "sums")}

    def over(self, tree: ContextTree) -> SuffixLoss:
        """The loss of the same positions over a tree with more or fewer pairs."""
        return SuffixLoss(tree, self.threads, self._positions)

    def value(self, w: Floats) -> float:
        """The loss alone: the sweep down. Leaves exp s in ``e`` and Z in ``z``."""
        total = self._root_down(w)
        return total + sum(
            self._team.run(
                lambda shard: bindings.loglinear_sweep_down(self.core, self.sums, *shard, w), self._shards
            )
        )

    def value_and_gradient(self, w: Floats, out: Floats) -> float:
        """Loss and gradient (expected count - count, times multiplicity) by both sweeps."""
        value = self._root_down(w)
        n_roots = int(self.tree.level_ptr[1])
        n_top = int(self.tree.pair_ptr[n_roots])
        done = self._team.run(lambda shard: self._down_and_up(w, out, shard, n_roots, n_top), self._shards)
        r, top = self.r[:n_roots], out[:n_top]
        np.divide(self.tree.terminal[:n_roots], self.z[:n_roots], out=r)
        top[:] = 0.0
        for _, shard_r, shard_g in done:
            r += shard_r
            top += shard_g
        top += self.e[:n_top] * np.repeat(r, np.diff(self.tree.pair_ptr[: n_roots + 1]))
        top -= self.tree.count[:n_top]
        return value + sum(below for below, _, _ in done)

    def batch_value_and_gradient(
        self, samples: Offsets, scale: float, w: Floats, out: Floats, touched: Ints
    ) -> tuple[float, Ints]:
        """``scale`` times the loss of some positions, with its gradient, from their contexts alone.

        ``out`` must be zero but for the contexts ``touched`` by the call before; returns those of this one.
        """
        tree = self.tree
        context, pair = self._locate()
        samples = np.ascontiguousarray(samples, np.int64)
        bindings.loglinear_clear_pairs(self.core, touched, out)
        n = bindings.loglinear_batch_contexts(self.core, samples, context, self._seen, self._active)
        if n < 0:
            raise ValueError(
                f"samples must be 0 to {context.size - 1}, not {samples.min()} to {samples.max()}."
            )
        active = np.sort(self._active[:n])
        value = bindings.loglinear_batch_sweep(
            self.core,
            self.sums,
            samples,
            context,
            pair,
            active,
            tree.n_unseen.astype(np.float64),
            scale,
            w,
            self._seen,
            out,
        )
        return float(value), active

    def _locate(self) -> tuple[Ints, Ints]:
        """Longest context and pair of each training position."""
        if self._located is None:
            if self._positions is None:
                raise TypeError("SuffixLoss needs the positions of its tree for steps on single positions.")
            found = Located(self.tree, self._positions)
            self._located = found.context, found.pair
            self._seen, self._active = np.zeros((2, self.tree.n_contexts), np.int32)
        return self._located

    def curvature(self, gradient: Floats) -> Floats:
        """The larger of count and expected count, times multiplicity squared: the Hessian's diagonal
        without its p^2 terms, at these weights or where expected counts meet the counts."""
        m = 1.0 if self._exponents is None else self._exponents
        return np.asarray((self.tree.count * m + np.maximum(gradient, 0.0)) * m)

    def _root_down(self, w: Floats) -> float:
        """exp s and Z of the roots; returns their part of the loss."""
        tree = self.tree
        n_roots = int(tree.level_ptr[1])
        n_top = int(tree.pair_ptr[n_roots])
        np.exp(w[:n_top], out=self.e[:n_top])
        totals = np.concatenate(([0.0], np.cumsum(self.e[:n_top])))
        self.z[:n_roots] = tree.n_unseen + np.diff(totals[tree.pair_ptr[: n_roots + 1]])
        logs = dot(tree.terminal[:n_roots], np.log(self.z[:n_roots]))
        return logs - dot(tree.count[:n_top], w[:n_top])

    def _down_and_up(
        self, w: Floats, out: Floats, shard: tuple[int, int], n_roots: int, n_top: int
    ) -> tuple[float, Floats, Floats]:
        """The gradient of a shard; returns its loss, and its part of the roots' sums."""
        top_r, top_g = np.empty(n_roots), np.empty(n_top)
        bounds = np.empty(2 * self.tree.level_ptr.size, np.int64)
        below = bindings.loglinear_sweep(self.core, self.sums, *shard, w, out, top_r, top_g, bounds)
        return below, top_r, top_g


def _shards(tree: ContextTree, n_shards: int) -> list[tuple[int, int]]:
    """First and last context of level 1 of each shard, whose subtrees are in balance of pairs."""
    n_levels = tree.level_ptr.size - 1
    if n_levels < 2:
        return []
    first, last = int(tree.level_ptr[1]), int(tree.level_ptr[2])
    if n_shards <= 1:
        return [(first, last)]
    pairs_below = np.diff(tree.pair_ptr).astype(np.float64)
    for level in range(n_levels - 1, 1, -1):
        above, here = (slice(*tree.level_ptr[k : k + 2].tolist()) for k in (level - 1, level))
        pairs_below[above] += np.bincount(
            tree.parent[here] - above.start, weights=pairs_below[here], minlength=above.stop - above.start
        )
    total = np.cumsum(pairs_below[first:last])
    cuts = first + np.searchsorted(total, total[-1] * np.arange(1, n_shards) / n_shards)
    return [(a, b) for a, b in pairwise([first, *cuts.tolist(), last]) if a < b]
