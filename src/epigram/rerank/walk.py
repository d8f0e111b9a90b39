"""Follow a learner step by step on held-out lists, and choose among settings by the errors there.

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

from epigram._core.native import family, offsets
from epigram.protocols import Floats, Ints, Learner, Offsets
from epigram.rerank.features import FeatureSpace
from epigram.rerank.nbest import NBest
from epigram.solvers.stagewise import WeightPath

core = family("rerank")


@dataclass(frozen=True, slots=True)
class Curves:
    """After step t = 0, 1, ...: loss on the training lists, L1 norm, non-zeros, dev errors (or NaN)."""

    losses: Floats = field(repr=False)
    l1_norms: Floats = field(repr=False)
    nonzeros: Offsets = field(repr=False)
    dev_errors: Floats = field(repr=False)


class Tracker:
    """Follows a path chunk by chunk; ``dev`` may be None."""

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
        self._core = core.Replay(
            n_lists, len(scores), n, len(index[1]), *index, list_of, list_ptr, list_errors, scores, best,
            stamp=np.full(n_lists, -1, np.int64), touched=np.empty(n_lists, np.int32),
            w=np.zeros(n), costs=np.array([0.0, 0.0, errors]),
        )  # fmt: skip
        self._pieces = [
            (np.array([start_loss]), np.zeros(1), np.zeros(1, np.int64), np.array([errors])),
        ]

    def follow(self, path: WeightPath) -> None:
        """Go on along ``path``."""
        n = len(path)
        if path.features.size and not 0 <= path.features.min() <= path.features.max() < self._n_weights:
            raise ValueError(
                f"the path moves weight {path.features.max()} where there are {self._n_weights}; "
                "a path belongs to the features that it was made with"
            )
        l1_norms, nonzeros, errors = np.empty(n), np.empty(n, np.int64), np.empty(n)
        self._now = core.replay(
            self._core, n, path.ptr, len(path.features), path.features, path.deltas, self._now,
            l1_norms, nonzeros, errors,
        )  # fmt: skip
        self._pieces.append((path.losses, l1_norms, nonzeros, errors))

    @property
    def curves(self) -> Curves:
        """All so far."""
        return Curves(*(np.concatenate(column) for column in zip(*self._pieces, strict=True)))


_NO_INTS = np.zeros(0, np.int32)


def _by_feature(space: FeatureSpace, lists: NBest) -> tuple[Offsets, Ints, Floats]:
    """Inverted index of candidates: feature -> (candidate, value)."""
    ptr, features, values = space.extract(lists)
    owner = np.repeat(np.arange(lists.n_candidates, dtype=np.int32), np.diff(ptr))
    use_ptr = offsets(np.bincount(features, minlength=space.n_weights))
    order = np.empty(len(features), np.int32)
    core.counting_sort(
        len(features),
        space.n_weights,
        features,
        np.arange(len(features), dtype=np.int32),
        use_ptr.copy(),
        order,
    )
    return use_ptr, owner[order], values[order]


@dataclass(frozen=True)
class Walk:
    """A learner's finished path, and what happened along it."""

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
    """One set of settings that was tried: the best step of its path, and the held-out errors there."""

    settings: dict[str, Any]
    step: int
    steps: int
    dev_errors: float


def tune(
    learner: Learner, walk: Callable[[Learner], Walk], stopped: Callable[[], bool] = lambda: False
) -> tuple[Walk, list[Trial]]:
    """Return the path of the best settings, and all that was tried; ``stopped`` ends the search early."""
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
    """The values above and the values below, nearest first."""
    yield tuple(rung for rung in ladder if rung > value)
    yield tuple(rung for rung in reversed(ladder) if rung < value)


def _trial(walk: Walk) -> Trial:
    known = {name: value for name, value in asdict(walk.learner).items() if name in walk.learner.usual}  # type: ignore[call-overload]
    known.pop("steps")
    return Trial(known, walk.step, len(walk.path), walk.dev_errors)


def long_enough(learner: Learner, curves: Curves) -> bool:
    """Is a path of no given length half as long again as its best step, and at least half as long as usual?"""
    step = len(curves.losses) - 1
    return learner.steps is None and step >= max(learner.usual["steps"] / 2, 1.5 * best_step(curves))
