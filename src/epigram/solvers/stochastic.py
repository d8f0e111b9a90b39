"""Pass loop, learning-rate schedule and rate calibration of the stochastic solvers."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from sys import float_info
from typing import Any

import numpy as np

from epigram.checkpoint import State, here
from epigram.errors import InputError, misfit
from epigram.protocols import (
    BatchLoss,
    Callback,
    Floats,
    Iteration,
    L1Penalty,
    Penalty,
    Result,
    is_plain,
    require,
)

FURTHEST = 20  # factors of two that a trial may be away from the first


LEARNED = 0.02  # a pass that lowers the loss of rate 0 by a smaller share says nothing of the rate


def run_passes(
    one_pass: Callable[[int], tuple[float, Floats]],
    passes: int,
    callback: Callback | None,
    state: Callable[[], State],
    is_over: Callable[[int], bool] = lambda number: False,
) -> Result:
    """Make passes until ``is_over(number)``, the callback or the limit ends them.

    ``one_pass(number)`` returns the objective and the weights after it. ``state`` returns what else passes change; the
    solver restores that of an earlier run.
    """
    began, kept, reason = time.perf_counter(), here(), "limit"
    w = np.empty(0)
    done, objective = 0, float("nan")
    if saved := kept.state:
        w, (done, objective) = saved["w"], saved["done"]
    number = done
    for number in range(done + 1, passes + 1):
        objective, w = one_pass(number)
        seconds = time.perf_counter() - began
        stop = callback is not None and bool(
            callback(Iteration(number, objective, int(np.count_nonzero(w)), seconds, w))
        )
        over = is_over(number)
        kept.save({**state(), "w": w, "done": [number, objective]}, over=over, stop=stop)
        if stop or over:
            reason = "callback" if stop else "converged"
            break
    return Result(w, objective, number, reason)


def with_exact_objective(result: Result, loss: object, penalty: Penalty) -> Result:
    """Replace the objective by that of the final weights, if the loss can compute it."""
    if not isinstance(loss, BatchLoss):
        return result
    w = result.w
    return replace(result, objective=loss.value_and_gradient(w, np.empty_like(w)) + penalty.value(w))


def step_sizes(n: int, batch_size: int) -> Floats:
    """Number of samples of each step: ``batch_size``, and what is left in the last.

    Examples
    --------
    >>> step_sizes(5, 2).tolist()
    [2.0, 2.0, 1.0]
    """
    return np.diff(np.minimum(np.arange(0.0, n + batch_size, batch_size), n))


def falling(eta0: float, decay: float, seen: int, sizes: Floats, n: int) -> Floats:
    """Learning rate of each step: eta_0 decay^(k/n) after k samples, ``seen`` of them before.

    Examples
    --------
    >>> falling(1.0, 0.25, 4, np.ones(4), 4).tolist()[::2]
    [0.25, 0.125]
    """
    return np.asarray(eta0 * decay ** ((seen + np.cumsum(sizes) - sizes) / n))


def best_rate(reached: Callable[[float], float], first: float) -> float:
    """Minimise a unimodal function of the rate over factors of two from ``first``.

    Examples
    --------
    >>> best_rate(lambda rate: abs(rate - 3.5), 0.5)
    4.0
    """
    return first * 2.0 ** best_exponent(lambda k: reached(first * 2.0**k), 0, FURTHEST)[0]


def best_exponent(
    value: Callable[[int], float], start: int, reach: int, ceiling: float = np.inf
) -> tuple[int, Callable[[int], float]]:
    """Minimise a unimodal function of an integer at most ``reach`` from ``start``.

    Values that are not below ``ceiling`` count as infinite: the rate is so large that nothing is learned. Returns the
    integer and a function that returns values, computing each once.
    """

    @cache
    def at(k: int) -> float:
        found = value(k)
        return found if found < ceiling else np.inf

    best = start
    while at(best) == np.inf and best > start - reach:
        best -= 1
    step = 1 if at(best + 1) < at(best) else -1
    while at(best + step) < at(best) and abs(best - start) < reach:
        best += step
    return best, at


def check_descent(solver: Any, penalty: object) -> None:
    """Refuse a penalty that has not a plain l1 part only, and settings out of their bounds."""
    needs = "a penalty with an l1 part only"
    require(penalty, L1Penalty, solver, needs, "LBFGS for l2, OWLQN for both")
    if getattr(penalty, "l2", 0.0) or not is_plain(penalty):
        misfit(solver, needs.replace("an l1", "a plain l1"), penalty, "LBFGS for l2, OWLQN for both, FISTA")
    for name, most, bounds in (("eta0", float_info.max, "a positive number"), ("decay", 1.0, "in (0, 1]")):
        value, or_auto = getattr(solver, name), getattr(type(solver), name) == "auto"
        if not (or_auto and value == "auto") and not (isinstance(value, int | float) and 0.0 < value <= most):
            auto = "'auto' or " if or_auto else ""
            raise InputError(f"{name} must be {auto}{bounds}, not {value!r}.")
    check_counts(solver.passes, solver.batch_size)


def check_counts(passes: Any, batch_size: int) -> None:
    """Refuse fewer than one pass or one sample a step."""
    if isinstance(passes, str) and passes != "auto":
        raise InputError(f"passes must be 'auto' or at least 1, not {passes!r}.")
    if (passes != "auto" and passes < 1) or batch_size < 1:
        raise InputError(f"passes and batch_size must be at least 1, not {passes!r} and {batch_size!r}.")
