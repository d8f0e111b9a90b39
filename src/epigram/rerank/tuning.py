"""Choose a learner's settings on held-out lists, one after the other, on a ladder of values.

The search begins at the usual values. For each setting that is None it tries the next value up and the next value
down, and goes on in a direction while held-out errors fall, so the optimum is not cut off at the edge of a small
grid. The number of steps is chosen on every path by itself: a path whose length nobody gave goes on until it is
half as long again as its best step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from epigram.protocols import Learner
from epigram.rerank.problem import Walk, best_step
from epigram.rerank.tracking import Curves


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
