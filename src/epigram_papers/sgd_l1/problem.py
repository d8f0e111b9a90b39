"""A task made ready for the solvers, and what is kept of a run: its curve, its passes and its CPU seconds."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from epigram import CRFTagger
from epigram.protocols import Floats, Iteration
from epigram.tagging.loss import ChainLoss
from epigram.tagging.problem import Problem
from epigram.tagging.template import Template
from epigram_papers.sgd_l1.tasks import Part


def problem_of(part: Part, template: Template) -> Problem:
    """Encoded sentences and their loss, which several solvers, starts and strengths share."""
    return CRFTagger(template).problem(part.columns, part.labels)


def percent(problem: Problem, part: Part) -> Callable[[Floats], float]:
    """Chunk F1 where labels are chunks, else accuracy, in per cent."""
    score = problem.scorer(part.columns, part.labels)
    return lambda w: 100.0 * score(w)


class Counted:
    """A batch loss that counts how often it is asked: passes over the data."""

    def __init__(self, loss: ChainLoss) -> None:
        self.loss, self.passes = loss, 0
        self.n_weights, self.n_samples = loss.n_weights, loss.n_samples

    def value_and_gradient(self, w: Floats, out: Floats) -> float:
        """As the loss itself."""
        self.passes += 1
        return self.loss.value_and_gradient(w, out)


class Watch:
    """A solver's callback: the curve of a run, and its CPU seconds without those of looking at it.

    ``exact`` gives the objective at the weights of some passes, None at others: what SGD itself tells is summed up
    along the pass, while the weights move. Without it the solver's own objective is taken.
    """

    def __init__(
        self,
        exact: Callable[[int, Floats], float | None] | None = None,
        passes: Callable[[], int] | None = None,
        stop: Callable[[list[float]], bool] = lambda objectives: False,
    ) -> None:
        self._exact, self._passes, self._stop = exact, passes, stop
        self.curve: dict[str, list[Any]] = {"passes": [], "objective": [], "active": [], "seconds": []}
        self._looking = 0.0
        self._began = time.process_time()

    @property
    def seconds(self) -> float:
        """CPU seconds spent training so far."""
        return time.process_time() - self._began - self._looking

    def __call__(self, iteration: Iteration) -> bool:
        seconds, began = self.seconds, time.process_time()
        objective: float | None = iteration.objective
        if self._exact is not None:
            objective = self._exact(iteration.number, iteration.w)
        number = iteration.number if self._passes is None else self._passes()
        for name, value in zip(
            self.curve, (number, objective, iteration.nonzero, round(seconds, 3)), strict=True
        ):
            self.curve[name].append(value)
        self._looking += time.process_time() - began
        return self._stop(self.curve["objective"])
