"""Training lists made ready for learners: features, pairs, losses over the pairs, and paths through them.

A pair p = (W^R, W) holds v = f_k(W^R) - f_k(W) for the features where the two differ. A slot is all pairs
with the same (feature, v). The slots of a feature lie side by side, so one step needs only ``feature_slot``,
``slot_ptr``/``slot_pair`` and, for what changes in turn, ``pair_ptr``/``pair_slot``.

The losses are the exponential one (Gao et al. 2006, equation 6) and softmax. The base feature's weight lambda_0 is
fitted first, with all other weights zero, and then fixed (Figures 1 and 2, step 1), so it is no part of ``w``.
Differs: lambda_0 is never negative; the sums leave out the pair of W^R with itself, a constant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram._core.native import dot, family, offsets
from epigram.errors import InputError
from epigram.protocols import Floats, Ints, Learner, Offsets, StagewiseRule, StagewiseSteps, check_finite
from epigram.rerank.features import FeatureSpace
from epigram.rerank.nbest import NBest
from epigram.rerank.walk import Curves, Tracker, Walk
from epigram.resuming import State, piece
from epigram.solvers.stagewise import WeightPath
from epigram.tuning import golden_section

core = family("rerank")
REFRESH = 4096
"""Sums per slot are made anew every so many steps, so that rounding does not pile up."""


class RerankProblem:
    """Lists as features, pairs and losses; ``dev`` lists, if any, judge every step of a path.

    Examples
    --------
    >>> from epigram import BLasso
    >>> lists = NBest.from_lists([{"reference": "a b", "candidates": [
    ...     {"text": "a c", "score": -1.0}, {"text": "a b", "score": -1.5}]}] * 3)
    >>> walk = RerankProblem(lists, lists).walk(BLasso(steps=5))
    >>> walk.curves.dev_errors[[0, walk.step]].tolist()
    [3.0, 0.0]
    """

    def __init__(
        self,
        train: NBest,
        dev: NBest | None = None,
        *,
        space: FeatureSpace | None = None,
        measure: str = "cer",
        risk: float = 0.0,
        base_weight: float | None = None,
    ) -> None:
        self.space = FeatureSpace.collect(train) if space is None else space
        self.pairs = Pairs.of(train, self.space, measure, risk)
        self.dev, self.measure = dev, measure
        self._base_weight = base_weight
        self._losses: dict[type[PairLoss], PairLoss] = {}

    def loss(self, learner: Learner) -> PairLoss:
        """The loss a learner asks for, the exponential loss where it asks for none."""
        kind: type[PairLoss] = getattr(learner, "loss", ExponentialLoss)
        if kind not in self._losses:
            self._losses[kind] = kind(self.pairs, self._base_weight)
        return self._losses[kind]

    def walk(
        self,
        learner: Learner,
        path: WeightPath | None = None,
        stop: Callable[[Curves], bool] | None = None,
    ) -> Walk:
        """Let a learner go on from the end of ``path`` (from the beginning by default) until ``stop`` says so."""
        loss = self.loss(learner)
        pieces = [WeightPath.empty() if path is None else path]
        tracker = self.tracker(loss, self.dev)
        with piece(f"path of {type(learner).__name__} through {loss.n_weights} weights") as kept:
            memory: State = kept.state or {}
            found = kept.result or memory
            if found:
                pieces = [WeightPath(*(found.pop(name) for name in WeightPath.__slots__))]
            tracker.follow(pieces[0])
            ended = False
            for chunk in () if kept.result else learner.walk(loss, pieces[0], memory):
                check_finite("steps", chunk.deltas)
                check_finite("losses of the path", chunk.losses)
                pieces.append(chunk)
                tracker.follow(chunk)
                ended = stop is not None and stop(tracker.curves)
                kept.save({**memory, **_arrays(WeightPath.joined(pieces))}, stop=ended)
                if ended:
                    break
            whole = WeightPath.joined(pieces)
            kept.finish(_arrays(whole), ended)
        return Walk(learner, whole, tracker.curves, loss.base_weight)

    def tracker(self, loss: PairLoss, lists: NBest | None) -> Tracker:
        """Something to follow a path of this problem with, on any lists."""
        start = loss.value(np.zeros(self.space.n_weights))
        check_finite("the loss is", start)
        return Tracker(self.space, loss.base_weight, start, lists, self.measure)


def _arrays(path: WeightPath) -> State:
    return {name: getattr(path, name) for name in WeightPath.__slots__}


@dataclass(frozen=True, slots=True)
class Pairs:
    """All pairs of training lists, indexed both ways."""

    n_lists: int
    n_weights: int
    list_pair: Offsets = field(repr=False)
    base: Floats = field(repr=False)
    weights: Floats = field(repr=False)
    extra: Floats = field(repr=False)
    pair_ptr: Offsets = field(repr=False)
    pair_slot: Ints = field(repr=False)
    feature_slot: Offsets = field(repr=False)
    slot_feature: Ints = field(repr=False)
    slot_value: Floats = field(repr=False)
    slot_ptr: Offsets = field(repr=False)
    slot_pair: Ints = field(repr=False)

    @property
    def n_pairs(self) -> int:
        """Candidates that are not the reference of their list."""
        return len(self.base)

    @property
    def n_slots(self) -> int:
        """Distinct (feature, value difference)."""
        return len(self.slot_value)

    @classmethod
    def of(cls, lists: NBest, space: FeatureSpace, measure: str = "cer", risk: float = 0.0) -> Pairs:
        """Pairs of every candidate with the oracle of its list.

        A pair weighs (errors of the candidate - errors of the oracle) ** risk: 0 as in the paper, all alike.

        Examples
        --------
        >>> lists = NBest.from_lists([{"reference": "a a", "candidates": [
        ...     {"text": "b", "score": -1.0}, {"text": "a a", "score": -3.0}]}])
        >>> pairs = Pairs.of(lists, FeatureSpace.collect(lists, ngrams=1, min_count=1))
        >>> pairs.slot_feature.tolist(), pairs.slot_value.tolist(), pairs.base.tolist()
        ([0, 1], [-1.0, 2.0], [-2.0])
        """
        oracle = lists.oracle(measure)
        pair_ptr, features, values = _differences(lists, space, oracle)
        list_of = lists.list_of
        is_rival = np.ones(lists.n_candidates, bool)
        is_rival[oracle] = False
        base = (lists.scores[oracle][list_of] - lists.scores)[is_rival]
        errors = lists.errors(measure)
        extra = (errors - errors[oracle][list_of])[is_rival]
        n_pairs, n_weights = len(base), space.n_weights
        order, codes = _by_feature_and_value(features, values, n_weights)
        changes = np.ones(len(order), bool)
        if len(order):
            changes[1:] = (np.diff(features[order]) != 0) | (np.diff(codes[order]) != 0)
        starts = np.flatnonzero(changes)
        slot_feature = features[order[starts]]
        pair_slot = np.empty(len(order), np.int32)
        pair_slot[order] = np.cumsum(changes, dtype=np.int32) - 1
        owner = np.repeat(np.arange(n_pairs, dtype=np.int32), np.diff(pair_ptr))
        return cls(
            n_lists=len(lists),
            n_weights=n_weights,
            list_pair=offsets(np.diff(lists.list_ptr) - 1),
            base=base,
            weights=extra**risk,
            extra=extra,
            pair_ptr=pair_ptr,
            pair_slot=pair_slot,
            feature_slot=np.searchsorted(slot_feature, np.arange(n_weights + 1)).astype(np.int64),
            slot_feature=slot_feature,
            slot_value=values[order[starts]],
            slot_ptr=np.append(starts, len(order)).astype(np.int64),
            slot_pair=owner[order],
        )


def _differences(lists: NBest, space: FeatureSpace, oracle: Offsets) -> tuple[Offsets, Ints, Floats]:
    ptr, features, values = space.extract(lists)
    pair_ptr = np.zeros(lists.n_candidates - len(lists) + 1, np.int64)
    longest = int(np.diff(ptr).max(initial=0))
    inputs = (
        len(lists), lists.list_ptr, oracle, lists.n_candidates, ptr, len(features), features, values,
        space.n_weights, np.zeros(space.n_weights), longest, np.empty(2 * longest, np.int32), pair_ptr,
    )  # fmt: skip
    core.differences(*inputs, 0, np.zeros(0, np.int32), np.zeros(0))
    n = int(pair_ptr[-1])
    out_feature, out_value = np.empty(n, np.int32), np.empty(n)
    if n:
        core.differences(*inputs, n, out_feature, out_value)
    return pair_ptr, out_feature, out_value


def _by_feature_and_value(features: Ints, values: Floats, n_weights: int) -> tuple[Ints, Ints]:
    """Order by (feature, value, pair), by two counting sorts; and a number for each value in its order."""
    codes: npt.NDArray[np.int32]
    low, high = np.floor(values.min(initial=0.0)), values.max(initial=0.0)
    codes = (values - low).astype(np.int32) if high - low <= 1 << 16 else np.full(len(values), -1, np.int32)
    if not np.array_equal(codes + low, values):
        codes = np.unique(values, return_inverse=True)[1].astype(np.int32)
    order = np.arange(len(features), dtype=np.int32)
    for code, n_codes in ((codes, int(codes.max(initial=0)) + 1), (features, n_weights)):
        places = offsets(np.bincount(code, minlength=n_codes))
        out = np.empty(len(order), np.int32)
        core.counting_sort(len(order), n_codes, code, order, places, out)
        order = out
    return order, codes


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
        pairs = self.pairs
        core.pair_margins(
            pairs.n_pairs, pairs.pair_ptr, len(pairs.pair_slot), pairs.pair_slot, pairs.n_slots, move, out
        )
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
        core.slot_sums(
            pairs.n_pairs, pairs.pair_ptr, len(pairs.pair_slot), pairs.pair_slot, q, pairs.n_slots, sums
        )
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
        self._core = core.Stagewise(
            rule.search_step, rule.step, rule.shrinkage, rule.smoothing, rule.theta,
            n, pairs.n_slots, pairs.n_pairs, len(pairs.pair_slot),
            pairs.feature_slot, pairs.slot_value, pairs.slot_feature, pairs.slot_ptr, pairs.slot_pair,
            pairs.pair_ptr, pairs.pair_slot,
            try_up=tries[0], try_down=tries[1],
            stamp=np.full(n, -1, np.int64), dirty=np.empty(n, np.int32), **self._changed,
        )  # fmt: skip
        core.build_heap(self._core)

    def memory(self) -> dict[str, Any]:
        """The arrays that steps change, by name."""
        return self._changed

    def restore(self, memory: dict[str, Any]) -> None:
        """Be as the state was that had this memory, to the bit."""
        n = max(self.pairs.n_weights, 1)
        for name, own in self._changed.items():
            saved = memory[name]
            places = own.dtype == np.int32
            if saved.shape != own.shape or (
                places and saved.size and not 0 <= saved.min() <= saved.max() < n
            ):
                raise InputError("a damaged checkpoint: its state is not that of these lists")
            own[:] = saved
        if not 0 <= self._state[2] <= self.pairs.n_weights:
            raise InputError("a damaged checkpoint: its state is not that of these lists")

    @property
    def loss(self) -> float:
        """ExpLoss now."""
        return float(self._state[0])

    def advance(self, n_steps: int) -> StagewiseSteps:
        """Take up to ``n_steps`` steps; fewer where no step lowers the loss any more."""
        features: Ints = np.empty(n_steps, np.int32)
        deltas, losses, alphas = np.empty(n_steps), np.empty(n_steps), np.empty(n_steps)
        taken = 0
        if self.pairs.n_weights and self.pairs.n_pairs:
            taken = core.stagewise(self._core, n_steps, self.done, REFRESH, features, deltas, losses, alphas)
        # A step without bound: the loss is 0 up to rounding, and with it the smoothing. The path ends before it.
        endless = np.flatnonzero(~np.isfinite(deltas[:taken]))
        taken = int(endless[0]) if endless.size else taken
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
