"""Many learners on the same lists: features and pairs are made once, every learner draws its path through them.

A :class:`epigram.rerank.paths.RerankProblem` with the paper's way of ending a path: after every step the errors on
held-out lists are known, and the step with the fewest is chosen. A path goes on until it is half as long again as
that step needs, or as long as it may be. Test lists are looked at along a finished path.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from epigram.protocols import Floats, Offsets
from epigram.rerank import FeatureSpace, NBest
from epigram.rerank.metrics import errors_of
from epigram.rerank.paths import Curves, LearnedPath, RerankProblem, best_step, tune
from epigram.rerank.stagewise import Learner

POINTS = 160
"""Of a curve that is kept for a figure."""
ON = 1.5
"""How many times as long as its chosen step a path has to be for the step to count as chosen, not cut off."""


@dataclass(frozen=True)
class TimedWalk(LearnedPath):
    """A finished path (dev errors are those of the held-out lists), and the CPU seconds it took."""

    seconds: float

    @classmethod
    def of(cls, walk: LearnedPath, seconds: float) -> TimedWalk:
        """A path that took so many seconds."""
        return cls(walk.learner, walk.path, walk.curves, walk.base_weight, seconds)


class Course:
    """Training lists made ready for any number of learners; ``seconds`` of CPU time it took."""

    def __init__(self, train: NBest, dev: NBest, headwords: frozenset[str] | None = None) -> None:
        began = time.process_time()
        self.space = FeatureSpace.collect(train, headwords=headwords)
        self.problem = RerankProblem(train, dev, space=self.space)
        self.seconds = time.process_time() - began

    def walk(self, learner: Learner, least: int | None = None) -> TimedWalk:
        """The learner's whole path; with ``least`` it may end there, once the held-out lists' choice is well inside."""
        began = time.process_time()
        stop = None if least is None else lambda curves: _settled(curves, least)
        return TimedWalk.of(self.problem.walk(learner, stop=stop), time.process_time() - began)

    def tuned(self, learner: Learner, least: int) -> TimedWalk:
        """The path of the best settings, of those that the learner leaves open, on the held-out lists."""
        began = time.process_time()
        walk, _ = tune(learner, lambda one: self.walk(one, least))
        return TimedWalk.of(walk, time.process_time() - began)

    def choices(self, walk: LearnedPath, lists: NBest, step: int | None = None) -> Offsets:
        """Index of the best candidate within each list, by the model of the chosen step or another."""
        w = walk.path.weights(self.space.n_weights, walk.step if step is None else step)
        return lists.choose(self.space.score(lists, w, walk.base_weight))

    def errors(self, walk: LearnedPath, lists: NBest, *steps: int) -> Floats:
        """Character errors of each list, by the chosen step's model; of several steps the mean."""
        each = [errors_of(lists, self.choices(walk, lists, step)) for step in steps or (walk.step,)]
        out: Floats = np.mean(each, axis=0)
        return out

    def rates_along(self, walk: LearnedPath, lists: NBest) -> Floats:
        """Error rate in percent after every step."""
        tracker = self.problem.tracker(self.problem.loss(walk.learner), lists)
        tracker.follow(walk.path)
        return 100.0 * tracker.curves.dev_errors / float(lists.lengths("cer").sum())


def _settled(curves: Curves, least: int) -> bool:
    steps = len(curves.losses) - 1
    return steps >= least and steps >= ON * best_step(curves)


def summary(walk: TimedWalk, step: int | None = None) -> dict[str, Any]:
    """The chosen step (or another) in figures."""
    at = walk.step if step is None else step
    return {
        "step": at,
        "steps": len(walk.path),
        "loss": float(walk.curves.losses[at]),
        "weights": int(walk.curves.nonzeros[at]),
        "l1": float(walk.curves.l1_norms[at]),
        "seconds": round(walk.seconds, 3),
    }


def sampled(walk: LearnedPath, test_rates: Floats, train_rates: Floats) -> dict[str, list[float]]:
    """Curves thinned out to some ``POINTS`` points, the first and the last step among them."""
    last = len(walk.path)
    at = np.unique(np.linspace(0, last, min(POINTS, last + 1)).round().astype(np.int64))
    return {
        "step": at.tolist(),
        "test": np.round(test_rates[at], 4).tolist(),
        "train": np.round(train_rates[at], 4).tolist(),
        "l1": np.round(walk.curves.l1_norms[at], 3).tolist(),
        "loss": np.round(walk.curves.losses[at], 3).tolist(),
        "weights": walk.curves.nonzeros[at].tolist(),
    }


def at_equal_loss(first: TimedWalk, second: TimedWalk) -> dict[str, dict[str, Any]]:
    """Both paths where their loss first falls to that of the first's chosen step, and to the lowest both reach."""
    lowest = max(float(walk.curves.losses.min()) for walk in (first, second))
    targets = {"chosen": max(float(first.curves.losses[first.step]), lowest), "last": lowest}
    return {
        name: {
            "loss": target,
            "first": summary(first, _reaches(first, target)),
            "second": summary(second, _reaches(second, target)),
        }
        for name, target in targets.items()
    }


def _reaches(walk: LearnedPath, target: float) -> int:
    return int(np.argmax(walk.curves.losses <= target))
