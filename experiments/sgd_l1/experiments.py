"""The experiments of Tsuruoka et al. 2009, section 4: strength by OWL-QN, rates by grid, the runs.

Objectives here are ours, to be minimised, and per sentence: minus the paper's L_w / N. OWL-QN stops as the
paper's does (Andrew and Gao's program, tolerance 1e-4): when the mean relative gain of ten iterations is below it.
CPU seconds are of training alone: reading, features, test and exact objectives for the curves are left out.

The paper tests a few values of eta_0 and alpha (section 4.1). On other data the best may lie outside: then the next
value of a longer ladder is tried, until the best has neighbours on both sides or the ladder ends (:func:`search`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Literal

import numpy as np

from epigram.chain.problem import ChainProblem
from epigram.errors import DivergenceError
from epigram.penalties import L1
from epigram.protocols import Floats
from epigram.solvers import OWLQN, SGD
from epigram.solvers.sgd import Method, Schedule
from experiments.sgd_l1.tasks import TASKS, Counted, Part, Watch, percent, problem_of

TOLERANCE, LOOKS_BACK = 1e-4, 10
EXACT_AT = (1, 2, 3, 4, 6, 8, 10, 15, 20, 25)


def choose_strength(
    *,
    data: str,
    task: str,
    sentences: int | None,
    at_most: int | None,
    strengths: list[float],
    ladder: list[float],
    tolerance: float,
) -> dict[str, Any]:
    """C by the likelihood of held-out sentences, by OWL-QN (section 4.1).

    ``at_most`` training sentences are used where the whole is dear.
    """
    train, held_out = TASKS[task].choosing(data, sentences)
    problem = problem_of(train if at_most is None else train.first(at_most), TASKS[task].template())
    likelihood, score = problem.log_likelihood(held_out.columns, held_out.labels), percent(problem, held_out)
    rows = []

    def surprise(strength: float) -> float:
        loss = Counted(problem.loss)
        w = OWLQN().solve(loss, L1(strength), callback=Watch(stop=converged(tolerance))).w
        rows.append(
            {
                "l1": strength,
                "log_likelihood": likelihood(w),
                "score": score(w),
                "active": int(np.count_nonzero(w)),
                "passes": loss.passes,
            }
        )
        return -float(rows[-1]["log_likelihood"])

    best = lowest(search(surprise, strengths, ladder))
    return {
        "tried": sorted(rows, key=lambda row: float(row["l1"])),
        "l1": best,
        "sentences": problem.loss.n_samples,
    }


def choose_rates(
    *,
    data: str,
    task: str,
    sentences: int | None,
    l1: float,
    schedule: Schedule,
    rates: list[float],
    rate_ladder: list[float],
    decay: float,
    decays: list[float],
    decay_ladder: list[float],
    passes: int,
) -> dict[str, Any]:
    """eta_0, then alpha at that eta_0, by the training objective after all passes (section 4.1).

    eta_0 is chosen at alpha = ``decay``. No alpha is searched where ``decays`` is empty.
    """
    problem = problem_of(TASKS[task].choosing(data, sentences)[0], TASKS[task].template())

    @cache
    def reached(eta0: float, decay: float) -> float:
        solver = SGD("cumulative", schedule, eta0, decay, passes)
        try:
            return solver.solve(problem.loss, L1(l1)).objective / problem.loss.n_samples
        except DivergenceError:
            return math.inf

    by_rate = search(lambda eta0: reached(eta0, decay), rates, rate_ladder)
    eta0 = lowest(by_rate)
    by_decay = search(lambda other: reached(eta0, other), decays or [decay], decay_ladder if decays else [])
    return {
        "eta0": eta0,
        "decay": lowest(by_decay),
        "tried_eta0": sorted(map(list, by_rate.items())),
        "tried_decay": sorted(map(list, by_decay.items())),
        "sentences": problem.loss.n_samples,
    }


def descend(
    *,
    data: str,
    task: str,
    sentences: int | None,
    l1: float,
    method: Method,
    schedule: Schedule,
    eta0: float | Literal["auto"],
    decay: float | Literal["auto"],
    passes: int,
) -> dict[str, Any]:
    """One row of SGD: trained on all training sentences, scored on the test part."""
    train, test = TASKS[task].final(data, sentences)
    problem = problem_of(train, TASKS[task].template())
    return run_sgd(problem, test, l1, SGD(method, schedule, eta0, decay, passes))


def run_sgd(problem: ChainProblem, test: Part, l1: float, solver: SGD) -> dict[str, Any]:
    """Train and score."""
    penalty = L1(l1)

    def exact(number: int, w: Floats) -> float | None:
        if number not in EXACT_AT and number != solver.passes:
            return None
        return (
            problem.loss.value_and_gradient(w, np.empty_like(w)) + penalty.value(w)
        ) / problem.loss.n_samples

    watch = Watch(exact)
    calibrated = solver.calibrate(problem.loss, penalty) if solver.eta0 == "auto" else float(solver.eta0)
    chosen = SGD(solver.method, solver.course, calibrated, solver.decay, solver.passes)
    result = chosen.solve(problem.loss, penalty, callback=watch)
    return {
        **table_row(problem, test, result.w, watch, result.iterations),
        "eta0": calibrated,
        "decay": None if solver.course == "linear" else solver.decay_per_pass,
    }


def quasi_newton(
    *, data: str, task: str, sentences: int | None, l1: float, tolerance: float = TOLERANCE
) -> dict[str, Any]:
    """The row of OWL-QN; passes are evaluations of the objective with its gradient."""
    train, test = TASKS[task].final(data, sentences)
    problem = problem_of(train, TASKS[task].template())
    loss = Counted(problem.loss)
    watch = Watch(passes=lambda: loss.passes, stop=converged(tolerance))
    result = OWLQN().solve(loss, L1(l1), callback=watch)
    watch.curve["objective"] = [value / loss.n_samples for value in watch.curve["objective"]]
    return table_row(problem, test, result.w, watch, loss.passes)


def converged(tolerance: float) -> Callable[[list[float]], bool]:
    """Andrew and Gao's rule: the mean gain of the last ten iterations, relative to the objective, is small."""

    def stop(objectives: Sequence[float]) -> bool:
        if len(objectives) <= LOOKS_BACK // 2:
            return False
        back = min(LOOKS_BACK, len(objectives) - 1)
        gain = (objectives[-1 - back] - objectives[-1]) / back
        return gain < tolerance * abs(objectives[-1])

    return stop


def table_row(problem: ChainProblem, test: Part, w: Floats, watch: Watch, passes: int) -> dict[str, Any]:
    """What a row of the paper's tables holds, and the curve behind it."""
    return {
        "passes": passes,
        "objective": watch.curve["objective"][-1],
        "active": int(np.count_nonzero(w)),
        "norm": float(np.abs(w).sum()),
        "features": problem.loss.n_weights,
        "seconds": watch.curve["seconds"][-1],
        "score": percent(problem, test)(w),
        "sentences": problem.loss.n_samples,
        "curve": watch.curve,
    }


def search(
    objective: Callable[[float], float], grid: Sequence[float], ladder: Sequence[float]
) -> dict[float, float]:
    """The objective at every setting tried: those of the grid, then those of the ladder beyond a best edge.

    What is not a number counts as infinite: at that setting nothing was learned.

    Examples
    --------
    >>> search(lambda x: (x - 5) ** 2, [1, 2], [0, 1, 2, 4, 6, 8])
    {1: 16, 2: 9, 4: 1, 6: 1}
    """
    steps = sorted({*grid, *(x for x in ladder if not min(grid) <= x <= max(grid))})
    tried = {x: _number(objective(x)) for x in grid}
    while True:
        place = steps.index(lowest(tried))
        beyond = [x for x in steps[max(place - 1, 0) : place + 2] if x not in tried]
        if not beyond:
            return tried
        tried |= {x: _number(objective(x)) for x in beyond}


def lowest(tried: dict[float, float]) -> float:
    """The setting with the lowest objective; the first of equals."""
    return min(tried, key=lambda x: tried[x])


def _number(value: float) -> float:
    return math.inf if math.isnan(value) else value
