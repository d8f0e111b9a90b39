"""Paths of learners: loss, norm and held-out errors after each step, and choice of settings.

L1 norm, non-zero weights and the errors on other lists are followed step by step. Those lists have their own inverted
index: a step costs only the candidates that hold its feature.

Settings of a learner that are None are chosen one after the other, on a ladder of values. The search begins at the
usual values. It tries the next value up and the next value down, and goes on in a direction while held-out errors
fall, so the optimum is not cut off at the edge of a small grid. The number of steps is chosen on every path by
itself: a path whose length nobody gave goes on until it is half as long again as its best step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from epigram._core import bindings
from epigram._core.arrays import offsets
from epigram.checkpoint import State, check_counts, check_offsets, check_vectors, demand, piece
from epigram.protocols import Floats, Ints, Offsets, check_finite
from epigram.rerank.features import FeatureSpace
from epigram.rerank.losses import ExponentialLoss, PairLoss
from epigram.rerank.nbest import NBest
from epigram.rerank.pairs import Pairs
from epigram.rerank.stagewise import Learner, WeightPath


@dataclass(frozen=True, slots=True)
class Curves:
    """Training loss, L1 norm, non-zeros and held-out errors (or NaN) after each step."""

    losses: Floats = field(repr=False)
    l1_norms: Floats = field(repr=False)
    nonzeros: Offsets = field(repr=False)
    dev_errors: Floats = field(repr=False)


class Tracker:
    """Computes the curves of a path chunk by chunk; ``dev`` may be None."""

    def __init__(
        self, space: FeatureSpace, base_weight: float, start_loss: float, dev: NBest | None, measure: str
    ) -> None:
        n = space.n_weights
        self._now = 0
        if dev is None:
            index = np.zeros(n + 1, np.int64), _NO_INTS, np.zeros(0)
            list_of, list_ptr, scores = _NO_INTS, np.zeros(1, np.int64), np.zeros(0)
            list_errors, best, errors = np.zeros(0), np.zeros(0, np.int64), np.nan
        else:
            index = _by_feature(space, dev)
            list_of, list_ptr, scores = dev.list_of, dev.list_ptr, base_weight * dev.scores
            list_errors, best = dev.errors(measure), dev.choose(scores) + dev.list_ptr[:-1]
            errors = float(list_errors[best].sum())
        n_lists = len(list_ptr) - 1
        self._n_weights = n
        self._core = bindings.Replay(
            *index, list_of, list_ptr, list_errors, scores, best,
            stamp=np.full(n_lists, -1, np.int64), touched=np.empty(n_lists, np.int32),
            w=np.zeros(n), costs=np.array([0.0, 0.0, errors]),
        )  # fmt: skip
        self._pieces = [
            (np.array([start_loss]), np.zeros(1), np.zeros(1, np.int64), np.array([errors])),
        ]

    def follow(self, path: WeightPath) -> None:
        """Append the curves of ``path``."""
        n = len(path)
        check_offsets(path.ptr, path.features.size)
        demand(path.ptr.size - 1 == path.losses.size == path.alphas.size and path.deltas.size == path.ptr[-1])
        if path.features.size and not 0 <= path.features.min() <= path.features.max() < self._n_weights:
            raise ValueError(
                f"the path moves weight {path.features.max()} where there are {self._n_weights}; "
                "a path belongs to the features that it was made with"
            )
        l1_norms, nonzeros, errors = np.empty(n), np.empty(n, np.int64), np.empty(n)
        self._now = bindings.rerank_replay(
            self._core, path.ptr, path.features, path.deltas, self._now, l1_norms, nonzeros, errors
        )
        self._pieces.append((path.losses, l1_norms, nonzeros, errors))

    @property
    def curves(self) -> Curves:
        """Curves of the path so far."""
        return Curves(*(np.concatenate(column) for column in zip(*self._pieces, strict=True)))


_NO_INTS = np.zeros(0, np.int32)


def _by_feature(space: FeatureSpace, lists: NBest) -> tuple[Offsets, Ints, Floats]:
    """Inverted index of candidates: feature -> (candidate, value)."""
    ptr, features, values = space.extract(lists)
    owner = np.repeat(np.arange(lists.n_candidates, dtype=np.int32), np.diff(ptr))
    use_ptr = offsets(np.bincount(features, minlength=space.n_weights))
    order = np.empty(len(features), np.int32)
    bindings.rerank_counting_sort(features, np.arange(len(features), dtype=np.int32), use_ptr.copy(), order)
    return use_ptr, owner[order], values[order]


@dataclass(frozen=True)
class LearnedPath:
    """Path of a learner with its curves."""

    learner: Learner
    path: WeightPath = field(repr=False)
    curves: Curves = field(repr=False)
    base_weight: float

    @property
    def step(self) -> int:
        """The step with the fewest held-out errors; the last without held-out lists."""
        return best_step(self.curves)

    @property
    def dev_errors(self) -> float:
        """Held-out errors of that step; NaN without held-out lists."""
        return float(self.curves.dev_errors[self.step])


def best_step(curves: Curves) -> int:
    """The first step with the fewest dev errors; without dev lists the last."""
    if np.isnan(curves.dev_errors[0]):
        return len(curves.losses) - 1
    return int(np.argmin(curves.dev_errors))


@dataclass(frozen=True)
class Trial:
    """Settings that were tried: the best step of their path, and the held-out errors there."""

    settings: dict[str, Any]
    step: int
    steps: int
    dev_errors: float


def tune(
    learner: Learner, walk: Callable[[Learner], LearnedPath], stopped: Callable[[], bool] = lambda: False
) -> tuple[LearnedPath, list[Trial]]:
    """Return the path of the best settings, and all trials; ``stopped`` ends the search early."""
    best = walk(learner.with_usual(but=("steps",)))
    trials = [_trial(best)]
    for name in (name for name in learner.ladders if name in learner.open_settings):
        for values in _directions(learner.ladders[name], getattr(best.learner, name)):
            improved = False
            for value in values:
                if stopped():
                    return best, trials
                other = walk(replace(best.learner, **{name: value}))  # type: ignore[type-var]
                trials.append(_trial(other))
                if other.dev_errors >= best.dev_errors:
                    break
                best, improved = other, True
            if improved:
                break
    return best, trials


def _directions(ladder: tuple[float, ...], value: float) -> Iterator[tuple[float, ...]]:
    """Values above and values below, nearest first."""
    yield tuple(rung for rung in ladder if rung > value)
    yield tuple(rung for rung in reversed(ladder) if rung < value)


def _trial(walk: LearnedPath) -> Trial:
    known = {name: value for name, value in asdict(walk.learner).items() if name in walk.learner.usual}  # type: ignore[call-overload]
    known.pop("steps")
    return Trial(known, walk.step, len(walk.path), walk.dev_errors)


def long_enough(learner: Learner, curves: Curves) -> bool:
    """Whether a path without given length has gone on long enough after its best step."""
    step = len(curves.losses) - 1
    return learner.steps is None and step >= max(learner.usual["steps"] / 2, 1.5 * best_step(curves))


class RerankProblem:
    """Features, pairs and losses of training lists; held-out lists rate every step of a path.

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
        """Loss of a learner; the exponential loss by default."""
        kind: type[PairLoss] = getattr(learner, "loss", ExponentialLoss)
        if kind not in self._losses:
            self._losses[kind] = kind(self.pairs, self._base_weight)
        return self._losses[kind]

    def walk(
        self,
        learner: Learner,
        path: WeightPath | None = None,
        stop: Callable[[Curves], bool] | None = None,
    ) -> LearnedPath:
        """Run a learner from the end of ``path`` (default: the start) until ``stop`` returns True."""
        loss = self.loss(learner)
        pieces = [WeightPath.empty() if path is None else path]
        tracker = self.tracker(loss, self.dev)
        with piece(f"path of {type(learner).__name__} through {loss.n_weights} weights") as kept:
            memory: State = kept.state or {}
            found = kept.result or memory
            if found:
                pieces = [WeightPath(*(found.pop(name) for name in WeightPath.__slots__))]
                names = ("w", "u", "before")
                check_vectors({name: memory[name] for name in names if name in memory}, loss.n_weights)
                check_counts(memory)
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
        return LearnedPath(learner, whole, tracker.curves, loss.base_weight)

    def tracker(self, loss: PairLoss, lists: NBest | None) -> Tracker:
        """Make a tracker of a path of this problem on any lists."""
        start = loss.value(np.zeros(self.space.n_weights))
        check_finite("the loss is", start)
        return Tracker(self.space, loss.base_weight, start, lists, self.measure)


def _arrays(path: WeightPath) -> State:
    return {name: getattr(path, name) for name in WeightPath.__slots__}
