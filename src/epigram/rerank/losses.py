"""Exponential and softmax loss over pairs of candidates.

Gao et al. 2006, equation 6. The weight lambda_0 of the base feature is fitted first, with all other weights zero, and
then fixed (Figures 1 and 2, step 1), so it is no part of ``w``. Differs: lambda_0 is never negative; the sums leave out
the pair of W^R with itself, a constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram._core import bindings
from epigram._core.arrays import dot
from epigram.checkpoint import check_ids, demand
from epigram.protocols import Floats, Ints
from epigram.rerank.pairs import Pairs
from epigram.tuning import golden_section

REFRESH = 4096
"""Sums per slot are recomputed every so many steps, so that rounding errors do not accumulate."""


@dataclass(frozen=True, slots=True)
class StagewiseRule:
    """Rule by which a stagewise learner chooses and moves a weight (Gao et al. 2006, 3 and 4).

    ``search_step``: the weight with the best loss after a move of +-search_step is chosen (equation 12); infinite:
    the best loss at its own optimum (equation 7). The move is shrinkage times the optimum, never larger than
    ``step``; ``smoothing`` is that of equation 16; a move back needs the lasso loss to fall by more than ``theta``.
    """

    search_step: float
    step: float
    shrinkage: float = 1.0
    smoothing: float = 0.0
    theta: float = float("inf")


class PairLoss:
    """Base class of losses: pairs, a fixed base weight, margins."""

    def __init__(self, pairs: Pairs, base_weight: float | None = None) -> None:
        self.pairs = pairs
        self.n_weights = pairs.n_weights
        self.n_samples = pairs.n_lists
        self.base_weight = self.fit_base() if base_weight is None else base_weight

    def margins(self, w: Floats) -> Floats:
        """Equation (5) for every pair."""
        out = self.base_weight * self.pairs.base
        move = w[self.pairs.slot_feature] * self.pairs.slot_value
        pairs = self.pairs
        bindings.rerank_pair_margins(pairs.pair_ptr, pairs.pair_slot, move, out)
        return out

    def fit_base(self) -> float:
        """argmin over lambda_0 >= 0 of the loss with all other weights zero."""
        raise NotImplementedError

    def value_and_gradient(self, w: Floats, out: Floats) -> float:
        """The loss at ``w``; its gradient to ``out``."""
        raise NotImplementedError

    def value(self, w: Floats) -> float:
        """The loss at ``w``."""
        return self.value_and_gradient(w, np.empty_like(w))

    def _gradient(self, q: Floats, out: Floats) -> None:
        """out[k] = - sum of q v over the pairs that hold k."""
        sums = np.empty(self.pairs.n_slots)
        pairs = self.pairs
        bindings.rerank_slot_sums(pairs.pair_ptr, pairs.pair_slot, q, sums)
        sums *= -self.pairs.slot_value
        out[:] = np.bincount(self.pairs.slot_feature, sums, minlength=self.n_weights)


class ExponentialLoss(PairLoss):
    """Weighted sum of exp(-margin) over all pairs (6), for batch and stagewise learners.

    Examples
    --------
    >>> from epigram.rerank import FeatureSpace, NBest
    >>> lists = NBest.from_lists([{"reference": "a", "candidates": [
    ...     {"text": "b", "score": -1.0}, {"text": "a", "score": -1.0}]}])
    >>> loss = ExponentialLoss(Pairs.of(lists, FeatureSpace.collect(lists, 1, 1)))
    >>> gradient = np.empty(loss.n_weights)
    >>> loss.value_and_gradient(np.zeros(2), gradient), gradient.tolist()
    (1.0, [1.0, -1.0])
    """

    def value_and_gradient(self, w: Floats, out: Floats) -> float:
        """Sum over the pairs, and its gradient."""
        with np.errstate(
            over="ignore", invalid="ignore"
        ):  # a line search may look where the loss is infinite
            q = self.pairs.weights * np.exp(-self.margins(w))
            self._gradient(q, out)
            return float(q.sum())

    def fit_base(self) -> float:
        """Newton's method with bisection; a base score without differences gets weight 1."""
        with np.errstate(over="ignore", invalid="ignore"):
            return _minimise(self.pairs.base, self.pairs.weights)

    def begin(self, rule: StagewiseRule, w: Floats, alpha: float = np.inf, done: int = 0) -> StagewiseState:
        """The incremental state at ``w``: see :class:`StagewiseState`."""
        return StagewiseState(self, rule, w, alpha, done)


class StagewiseState:
    """Pair weights q, sums per slot and the lazy heap of gains, kept up to date step by step."""

    def __init__(
        self, loss: ExponentialLoss, rule: StagewiseRule, w: Floats, alpha: float, done: int
    ) -> None:
        pairs = loss.pairs
        self.pairs, self.rule = pairs, rule
        self.w = w.copy()
        self.done = done
        n = pairs.n_weights
        search_step = rule.search_step if np.isfinite(rule.search_step) else 0.0
        with np.errstate(over="ignore", invalid="ignore"):  # scores beyond reason: the loss says so
            self._q = pairs.weights * np.exp(-loss.margins(w))
            tries = [-np.expm1(sign * pairs.slot_value * search_step) for sign in (-1.0, 1.0)]
        active = np.flatnonzero(w).astype(np.int32)
        active_first, where = np.zeros((2, n + 1), np.int32)
        active_first[: len(active)] = active
        where[active] = np.arange(len(active))
        self._state = np.array([self._q.sum(), alpha, len(active)])
        self._changed: dict[str, npt.NDArray[Any]] = {
            "q": self._q, "S": np.empty(pairs.n_slots), "w": self.w, "gain": np.empty(n), "bound": np.empty(n),
            "heap": np.empty(n, np.int32), "place": np.empty(n, np.int32), "active": active_first, "where": where,
            "state": self._state,
        }  # fmt: skip
        self._core = bindings.Stagewise(
            rule.search_step, rule.step, rule.shrinkage, rule.smoothing, rule.theta,
            pairs.feature_slot, pairs.slot_value, pairs.slot_feature, pairs.slot_ptr, pairs.slot_pair,
            pairs.pair_ptr, pairs.pair_slot,
            try_up=tries[0], try_down=tries[1],
            stamp=np.full(n, -1, np.int64), dirty=np.empty(n, np.int32), **self._changed,
        )  # fmt: skip
        bindings.rerank_build_heap(self._core)

    def memory(self) -> dict[str, Any]:
        """Arrays that steps change, by name."""
        return self._changed

    def restore(self, memory: dict[str, Any]) -> None:
        """Restore the state from its arrays, bit by bit."""
        n = self.pairs.n_weights
        for name, own in self._changed.items():
            demand((memory[name].shape, memory[name].dtype) == (own.shape, own.dtype))
            own[:] = memory[name]
            if own.dtype == np.int32:
                check_ids(own, max(n, 1))
        heap, place, active, where = (self._changed[name] for name in ("heap", "place", "active", "where"))
        nonzero = np.flatnonzero(self.w)
        active = active[: nonzero.size]
        demand(
            np.isfinite(self.w).all()
            and np.array_equal(heap[place], np.arange(n))
            and self._state[2] == nonzero.size
            and np.array_equal(np.sort(active), nonzero)
            and np.array_equal(where[active], np.arange(nonzero.size))
        )

    @property
    def loss(self) -> float:
        """Current ExpLoss."""
        return float(self._state[0])

    def advance(self, n_steps: int) -> tuple[Ints, Floats, Floats, Floats]:
        """Take up to ``n_steps`` steps, fewer if no step lowers the loss.

        Returns weight and change of each step, and the loss and the lasso's alpha after it.
        """
        features: Ints = np.empty(n_steps, np.int32)
        deltas, losses, alphas = np.empty(n_steps), np.empty(n_steps), np.empty(n_steps)
        taken = 0
        if self.pairs.n_weights and self.pairs.n_pairs:
            taken = bindings.rerank_stagewise(
                self._core, self.done, REFRESH, features, deltas, losses, alphas
            )
        # A step without bound: the loss is 0 up to rounding, and with it the smoothing. The path ends before it.
        endless = np.flatnonzero(~np.isfinite(deltas[:taken]))
        taken = int(endless[0]) if endless.size else taken
        self.done += taken
        return features[:taken], deltas[:taken], losses[:taken], alphas[:taken]


class SoftmaxLoss(PairLoss):
    """Sum over lists of - log P(W^R), with P the softmax of the scores of a list. A BatchLoss.

    Examples
    --------
    >>> from epigram.rerank import FeatureSpace, NBest
    >>> lists = NBest.from_lists([{"reference": "a", "candidates": [
    ...     {"text": "b", "score": -1.0}, {"text": "a", "score": -1.0}]}])
    >>> loss = SoftmaxLoss(Pairs.of(lists, FeatureSpace.collect(lists, 1, 1)))
    >>> round(loss.value_and_gradient(np.zeros(2), np.empty(2)), 4)
    0.6931
    """

    def value_and_gradient(self, w: Floats, out: Floats) -> float:
        """Sum over the lists, and its gradient."""
        value, share = self._shares(self.margins(w))
        self._gradient(share, out)
        return value

    def _shares(self, margins: Floats) -> tuple[float, Floats]:
        """Loss, and the probability of each candidate other than the oracle."""
        starts, counts = self.pairs.list_pair, np.diff(self.pairs.list_pair)
        filled = np.flatnonzero(counts)
        if not len(filled):
            return 0.0, margins
        top = np.maximum(np.maximum.reduceat(-margins, starts[filled]), 0.0)
        rivals = np.exp(-margins - np.repeat(top, counts[filled]))
        total = np.add.reduceat(rivals, starts[filled]) + np.exp(-top)
        return float((top + np.log(total)).sum()), rivals / np.repeat(total, counts[filled])

    def fit_base(self) -> float:
        """Fit lambda_0 by bounded search of a convex function of one variable."""
        base = self.pairs.base
        spread = float(np.abs(base).mean()) if len(base) else 0.0
        if spread == 0.0:
            return 1.0
        limit = 100.0 / spread
        return golden_section(lambda weight: self._shares(weight * base)[0], 0.0, limit, 1e-6 * limit)


def _minimise(base: Floats, importance: Floats) -> float:
    """argmin of sum importance exp(-weight base) over 0 <= weight <= 100 / mean |base|."""
    spread = float(np.abs(base).mean()) if len(base) else 0.0
    if spread == 0.0:
        return 1.0
    if dot(importance, base) <= 0.0:  # the slope at 0 is not negative
        return 0.0
    low, high = 0.0, 100.0 / spread
    weight = 0.0
    for _ in range(200):
        q = importance * np.exp(-weight * base)
        slope, curve = -dot(q, base), dot(q, base * base)
        if slope > 0:
            high = weight
        else:
            low = weight
        move = -slope / curve if curve > 0 else np.inf
        move = float(np.clip(move, -2.0 / spread, 2.0 / spread))
        if abs(move) <= 1e-14 * max(abs(weight), 1.0 / spread):
            return weight + move
        weight = weight + move if low < weight + move < high else 0.5 * (low + high)
    return weight
