"""The experiments of Tsuruoka et al. 2009, section 4, as cells: strength by OWL-QN, rates by grid, the runs.

Objectives here are ours, to be minimised, and per sentence: minus the paper's L_w / N. OWL-QN stops as the
paper's does (Andrew and Gao's program, tolerance 1e-4): when the mean relative gain of ten iterations is below it.
CPU seconds are of training alone: reading, features, test and exact objectives for the curves are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from epigram.penalties import L1
from epigram.protocols import Floats
from epigram.solvers import OWLQN, SGD
from epigram_papers.sgd_l1.problem import Counted, Problem, Watch
from epigram_papers.sgd_l1.tasks import TASKS, Part

TOLERANCE, LOOKS_BACK = 1e-4, 10
EXACT_AT = (1, 2, 3, 4, 6, 8, 10, 15, 20, 25)


def choose_strength(
    *,
    data: str,
    task: str,
    sentences: int | None,
    at_most: int | None,
    strengths: list[float],
    tolerance: float,
) -> dict[str, Any]:
    """C by the likelihood of held-out sentences, by OWL-QN (section 4.1).

    ``at_most`` training sentences are used where the whole is dear.
    """
    train, held_out = TASKS[task].choosing(data, sentences)
    problem = Problem.of(train if at_most is None else train.first(at_most), TASKS[task].template())
    likelihood, score = problem.log_likelihood(held_out), problem.scorer(held_out)
    tried = []
    for strength in strengths:
        loss = Counted(problem.loss)
        w = OWLQN().solve(loss, L1(strength), callback=Watch(stop=converged(tolerance))).w
        tried.append(
            {
                "l1": strength,
                "log_likelihood": likelihood(w),
                "score": score(w),
                "active": int(np.count_nonzero(w)),
                "passes": loss.passes,
            }
        )
    best = max(tried, key=lambda row: row["log_likelihood"])
    return {"tried": tried, "l1": best["l1"], "sentences": problem.loss.n_samples}


def choose_rates(
    *,
    data: str,
    task: str,
    sentences: int | None,
    l1: float,
    rates: list[float],
    decays: list[float],
    decay: float,
    passes: int,
) -> dict[str, Any]:
    """eta_0 of both schedules, then the decay at that eta_0, by the training objective (section 4.1)."""
    problem = Problem.of(TASKS[task].choosing(data, sentences)[0], TASKS[task].template())

    def reached(**settings: Any) -> float:
        solver = SGD("cumulative", passes=passes, **settings)
        return solver.solve(problem.loss, L1(l1)).objective / problem.loss.n_samples

    inverse = {rate: reached(schedule="inverse", eta0=rate) for rate in rates}
    exponential = {rate: reached(schedule="exponential", eta0=rate, decay=decay) for rate in rates}
    best = _lowest(exponential)
    by_decay = {decay: exponential[best]}
    for other in decays:
        if other != decay:
            by_decay[other] = reached(schedule="exponential", eta0=best, decay=other)
    return {
        "inverse": {"eta0": _lowest(inverse), "tried": _rows(inverse)},
        "exponential": {"eta0": best, "tried": _rows(exponential)},
        "decay": {"decay": _lowest(by_decay), "tried": _rows(by_decay)},
        "passes": passes,
        "sentences": problem.loss.n_samples,
    }


def descend(
    *,
    data: str,
    task: str,
    sentences: int | None,
    l1: float,
    method: str,
    schedule: str,
    eta0: float | str,
    decay: float,
    passes: int,
) -> dict[str, Any]:
    """One row of SGD: trained on all training sentences, scored on the test part."""
    train, test = TASKS[task].final(data, sentences)
    problem = Problem.of(train, TASKS[task].template())
    return run_sgd(problem, test, l1, SGD(method, schedule, eta0, decay, passes))


def run_sgd(problem: Problem, test: Part, l1: float, solver: SGD) -> dict[str, Any]:
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
    chosen = SGD(solver.method, solver.schedule, calibrated, solver.decay, solver.passes)
    result = chosen.solve(problem.loss, penalty, callback=watch)
    return {
        **_row(problem, test, result.w, watch, result.iterations),
        "eta0": calibrated,
        "decay": solver.decay,
    }


def quasi_newton(
    *,
    data: str,
    task: str,
    sentences: int | None,
    l1: float,
    tolerance: float = TOLERANCE,
    limit: int | None = None,
) -> dict[str, Any]:
    """The row of OWL-QN; passes are evaluations of the objective with its gradient, ``limit`` at most."""
    train, test = TASKS[task].final(data, sentences)
    problem = Problem.of(train, TASKS[task].template())
    loss = Counted(problem.loss)
    rule = converged(tolerance)

    def stop(objectives: list[float]) -> bool:
        return rule(objectives) or (limit is not None and loss.passes >= limit)

    watch = Watch(passes=lambda: loss.passes, stop=stop)
    result = OWLQN().solve(loss, L1(l1), callback=watch)
    limited = result.reason == "callback" and not rule(watch.curve["objective"])
    watch.curve["objective"] = [value / loss.n_samples for value in watch.curve["objective"]]
    return {**_row(problem, test, result.w, watch, loss.passes), "limited": limited}


def converged(tolerance: float) -> Callable[[list[float]], bool]:
    """Andrew and Gao's rule: the mean gain of the last ten iterations, relative to the objective, is small."""

    def stop(objectives: Sequence[float]) -> bool:
        if len(objectives) <= LOOKS_BACK // 2:
            return False
        back = min(LOOKS_BACK, len(objectives) - 1)
        gain = (objectives[-1 - back] - objectives[-1]) / back
        return gain < tolerance * abs(objectives[-1])

    return stop


def _row(problem: Problem, test: Part, w: Floats, watch: Watch, passes: int) -> dict[str, Any]:
    """What a row of the paper's tables holds, and the curve behind it."""
    return {
        "passes": passes,
        "objective": watch.curve["objective"][-1],
        "active": int(np.count_nonzero(w)),
        "features": problem.loss.n_weights,
        "seconds": watch.curve["seconds"][-1],
        "score": problem.scorer(test)(w),
        "sentences": problem.loss.n_samples,
        "curve": watch.curve,
    }


def _lowest(by_setting: dict[float, float]) -> float:
    return min(by_setting, key=lambda setting: by_setting[setting])


def _rows(by_setting: dict[float, float]) -> list[list[float]]:
    return [[setting, objective] for setting, objective in by_setting.items()]
