"""Pass loop, learning-rate schedule and rate calibration of the stochastic solvers."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np

from epigram.checkpoint import State, here
from epigram.errors import InputError
from epigram.protocols import BatchLoss, Callback, Floats, Iteration, Penalty, Result

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


def check_settings(eta0: float | str, decay: float, passes: int, batch_size: int) -> None:
    """Refuse invalid settings."""
    if eta0 != "auto" and not (isinstance(eta0, int | float) and 0.0 < eta0 < np.inf):
        raise InputError(f"eta0 must be 'auto' or a positive number, not {eta0!r}.")
    if not 0.0 < decay <= 1.0:
        raise InputError(f"decay must be in (0, 1], not {decay!r}.")
    if passes < 1 or batch_size < 1:
        raise InputError(f"passes and batch_size must be at least 1, not {passes!r} and {batch_size!r}.")
