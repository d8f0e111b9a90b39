"""What section 5 of the paper wishes to see: l1-constrained training, and rates with second-order information.

Constrained: the loss is minimised inside the l1 ball whose radius is ||w||_1 of OWL-QN's weights, so that both forms
have the same solution, by FISTA. Adaptive: AdaGrad with its first rate chosen as SGD's is, and automatically. All
objectives are the penalised one, so that they compare.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from epigram.chain.problem import ChainProblem
from epigram.penalties import L1, L1Ball
from epigram.protocols import Floats, Solver
from epigram.solvers import FISTA, AdaGrad
from experiments.sgd_l1.experiments import EXACT_AT, converged, lowest, table_row
from experiments.sgd_l1.paper import PASSES
from experiments.sgd_l1.tasks import TASKS, Counted, Part, Watch, problem_of

ADAGRAD_RATES = (1.0, 2.0, 4.0)

Asked = dict[str, tuple[Callable[..., dict[str, Any]], dict[str, Any]]]


def wished(found: Mapping[str, Any], tolerance: float) -> Asked:
    """Function and settings of each experiment, by its short name."""
    l1, radius = found["strength"]["l1"], found["owl-qn"]["norm"]
    return {
        "adagrad": (adaptive, {"l1": l1, "rates": list(ADAGRAD_RATES), "passes": PASSES}),
        "adagrad-auto": (adaptive, {"l1": l1, "rates": [], "passes": PASSES}),
        "fista": (batch_ball, {"l1": l1, "radius": radius, "tolerance": tolerance}),
    }


def adaptive(
    *, data: str, task: str, sentences: int | None, l1: float, rates: list[float], passes: int
) -> dict[str, Any]:
    """AdaGrad; the first rate by the training objective, or automatic where there are none to choose from."""
    tried: dict[float, float] = {}
    if rates:
        choosing = problem_of(TASKS[task].choosing(data, sentences)[0], TASKS[task].template())
        tried = {
            rate: AdaGrad(rate, passes=passes).solve(choosing.loss, L1(l1)).objective
            / choosing.loss.n_samples
            for rate in rates
        }
    train, test = TASKS[task].final(data, sentences)
    problem = problem_of(train, TASKS[task].template())
    chosen = AdaGrad(lowest(tried) if tried else "auto", passes=passes)
    row = _stochastic(problem, test, l1, chosen)
    return {
        **row,
        "eta0": chosen.eta0,
        "decay": chosen.decay,
        "tried": [list(pair) for pair in tried.items()],
    }


def batch_ball(
    *, data: str, task: str, sentences: int | None, l1: float, radius: float, tolerance: float
) -> dict[str, Any]:
    """FISTA inside the ball, stopped by the rule that stops OWL-QN; passes are evaluations of the loss."""
    train, test = TASKS[task].final(data, sentences)
    problem = problem_of(train, TASKS[task].template())
    loss = Counted(problem.loss)
    watch = Watch(passes=lambda: loss.passes, stop=converged(tolerance))
    w = FISTA().solve(loss, L1Ball(radius), callback=watch).w
    watch.curve["objective"] = [(value + l1 * radius) / loss.n_samples for value in watch.curve["objective"]]
    watch.curve["objective"][-1] = _objective(problem, l1, w)
    return {**table_row(problem, test, w, watch, loss.passes), "radius": radius}


def _stochastic(problem: ChainProblem, test: Part, l1: float, solver: Any) -> dict[str, Any]:
    """Train in passes and score; the time of choosing a rate counts."""

    def exact(number: int, w: Floats) -> float | None:
        return _objective(problem, l1, w) if number in EXACT_AT or number == solver.passes else None

    watch = Watch(exact)
    trained: Solver = solver
    result = trained.solve(problem.loss, L1(l1), callback=watch)
    return table_row(problem, test, result.w, watch, result.iterations)


def _objective(problem: ChainProblem, l1: float, w: Floats) -> float:
    """The penalised objective per sentence, of constrained weights too."""
    value = problem.loss.value_and_gradient(w, np.empty_like(w)) + L1(l1).value(w)
    return float(value / problem.loss.n_samples)
