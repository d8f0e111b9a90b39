"""Losses over reference-candidate pairs: exponential (Gao et al. 2006, equation 6) and softmax.

The base feature's weight lambda_0 is fitted first, with all other weights zero, and then fixed (Figures 1
and 2, step 1), so it is no part of ``w``. Differs: lambda_0 is never negative; the sums leave out the pair
of W^R with itself, a constant.
"""

from __future__ import annotations

import numpy as np

from epigram.protocols import Floats, Ints, StagewiseRule, StagewiseSteps
from epigram.rerank import kernels
from epigram.rerank.pairs import Pairs

REFRESH = 4096
"""Sums per slot are made anew every so many steps, so that rounding does not pile up."""


class PairLoss:
    """What the losses share: pairs, a fixed base weight, margins."""

    def __init__(self, pairs: Pairs, base_weight: float | None = None) -> None:
        self.pairs = pairs
        self.n_weights = pairs.n_weights
        self.n_samples = pairs.n_lists
        self.base_weight = self.fit_base() if base_weight is None else base_weight

    def margins(self, w: Floats) -> Floats:
        """Equation (5) for every pair."""
        out = self.base_weight * self.pairs.base
        move = w[self.pairs.slot_feature] * self.pairs.slot_value
        kernels.pair_margins(self.pairs.pair_ptr, self.pairs.pair_slot, move, out)
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
        kernels.slot_sums(self.pairs.pair_ptr, self.pairs.pair_slot, q, sums)
        sums *= -self.pairs.slot_value
        out[:] = np.bincount(self.pairs.slot_feature, sums, minlength=self.n_weights)


class ExponentialLoss(PairLoss):
    """Equation (6): the (weighted) sum of exp(-margin) over all pairs. A BatchLoss and a StagewiseLoss.

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
        step = rule.search_step if np.isfinite(rule.search_step) else 0.0
        self._try_up = -np.expm1(-pairs.slot_value * step)
        self._try_down = -np.expm1(pairs.slot_value * step)
        self._q = pairs.weights * np.exp(-loss.margins(w))
        self._sums = np.empty(pairs.n_slots)
        self._gain, self._bound = np.empty(n), np.empty(n)
        self._heap, self._place = np.empty(n, np.int32), np.empty(n, np.int32)
        active = np.flatnonzero(w).astype(np.int32)
        self._active, self._where = np.empty(n + 1, np.int32), np.zeros(n + 1, np.int32)
        self._active[: len(active)] = active
        self._where[active] = np.arange(len(active))
        self._stamp, self._dirty = np.full(n, -1, np.int64), np.empty(n, np.int32)
        self._state = np.array([self._q.sum(), alpha, len(active)])
        self._refresh_sums()

    @property
    def loss(self) -> float:
        """ExpLoss now."""
        return float(self._state[0])

    def _refresh_sums(self) -> None:
        kernels.slot_sums(self.pairs.pair_ptr, self.pairs.pair_slot, self._q, self._sums)
        kernels.build_heap(
            self.pairs.feature_slot, self.pairs.slot_value, self._sums, self._try_up, self._try_down,
            self.rule.search_step, self._gain, self._bound, self._heap, self._place,
        )  # fmt: skip

    def advance(self, n_steps: int) -> StagewiseSteps:
        """Take up to ``n_steps`` steps; fewer where no step lowers the loss any more."""
        features: Ints = np.empty(n_steps, np.int32)
        deltas, losses, alphas = np.empty(n_steps), np.empty(n_steps), np.empty(n_steps)
        pairs, rule = self.pairs, self.rule
        taken = 0
        if pairs.n_weights and pairs.n_pairs:
            taken = kernels.stagewise(
                n_steps, self.done, rule.search_step, rule.step, rule.shrinkage, rule.smoothing, rule.theta,
                pairs.feature_slot, pairs.slot_value, pairs.slot_ptr, pairs.slot_pair, pairs.slot_feature,
                pairs.pair_ptr, pairs.pair_slot, self._try_up, self._try_down, REFRESH,
                self._q, self._sums, self.w, self._gain, self._bound, self._heap, self._place,
                self._active, self._where, self._stamp, self._dirty, self._state,
                features, deltas, losses, alphas,
            )  # fmt: skip
        self.done += taken
        return StagewiseSteps(features[:taken], deltas[:taken], losses[:taken], alphas[:taken])


class SoftmaxLoss(PairLoss):
    """- log of the share of exp(score) that W^R has in its list, summed over the lists. A BatchLoss.

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
        """The loss, and the share of each rival."""
        starts, counts = self.pairs.list_pair, np.diff(self.pairs.list_pair)
        filled = np.flatnonzero(counts)
        if not len(filled):
            return 0.0, margins
        top = np.maximum(np.maximum.reduceat(-margins, starts[filled]), 0.0)
        rivals = np.exp(-margins - np.repeat(top, counts[filled]))
        total = np.add.reduceat(rivals, starts[filled]) + np.exp(-top)
        return float((top + np.log(total)).sum()), rivals / np.repeat(total, counts[filled])

    def fit_base(self) -> float:
        """Bounded search of a convex function of one variable."""
        from scipy.optimize import minimize_scalar

        base = self.pairs.base
        spread = float(np.abs(base).mean()) if len(base) else 0.0
        if spread == 0.0:
            return 1.0
        limit = 100.0 / spread
        found = minimize_scalar(
            lambda weight: self._shares(weight * base)[0], bounds=(0.0, limit), method="bounded",
            options={"xatol": 1e-6 * limit},
        )  # fmt: skip
        return float(found.x)


def _minimise(base: Floats, importance: Floats) -> float:
    """argmin of sum importance exp(-weight base) over 0 <= weight <= 100 / mean |base|."""
    spread = float(np.abs(base).mean()) if len(base) else 0.0
    if spread == 0.0:
        return 1.0
    if float(importance @ base) <= 0.0:  # the slope at 0 is not negative
        return 0.0
    low, high = 0.0, 100.0 / spread
    weight = 0.0
    for _ in range(200):
        q = importance * np.exp(-weight * base)
        slope, curve = -float(q @ base), float(q @ (base * base))
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
