"""Pass loop, learning-rate schedule and rate calibration of the stochastic solvers."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from epigram.checkpoint import State, here
from epigram.errors import InputError
from epigram.protocols import BatchLoss, Callback, Floats, Iteration, Result

FURTHEST = 20  # factors of two that a trial may be away from the first


LEARNED = 0.02  # a pass that lowers the loss of rate 0 by a smaller share says nothing of the rate


def run_passes(
    one_pass: Callable[[], float],
    loss: object,
    penalty_at: Callable[[Floats], float],
    w: Floats,
    passes: int,
    callback: Callback | None,
    state: Callable[[], State],
) -> Result:
    """Make passes, each of which changes ``w`` and returns the losses met on the way.

    ``penalty_at`` gives the penalty's value; the objective at the end is exact where the loss can say it. ``state`` is
    what passes change, ``w`` included; who calls has put back that of an earlier run.
    """
    began, kept = time.perf_counter(), here()
    done, objective = kept.state["done"] if kept.state else (0, float("nan"))
    number, reason = done, "limit"
    for number in range(done + 1, passes + 1):
        objective = one_pass() + penalty_at(w)
        seconds = time.perf_counter() - began
        stop = callback is not None and bool(
            callback(Iteration(number, objective, int(np.count_nonzero(w)), seconds, w))
        )
        kept.save({**state(), "done": [number, objective]}, stop=stop)
        if stop:
            reason = "callback"
            break
    if isinstance(loss, BatchLoss):
        objective = loss.value_and_gradient(w, np.empty_like(w)) + penalty_at(w)
    return Result(w, objective, number, reason)


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
    known: dict[int, float] = {}

    def at(k: int) -> float:
        if k not in known:
            value = reached(first * 2.0**k)
            known[k] = value if np.isfinite(value) else np.inf
        return known[k]

    best = 0
    while at(best) == np.inf and best > -FURTHEST:
        best -= 1
    step = 1 if at(best + 1) < at(best) else -1
    while at(best + step) < at(best) and abs(best) < FURTHEST:
        best += step
    return float(first * 2.0**best)


def check_settings(eta0: float | str, decay: float, passes: int, batch_size: int) -> None:
    """Refuse invalid settings."""
    if eta0 != "auto" and not (isinstance(eta0, int | float) and 0.0 < eta0 < np.inf):
        raise InputError(f"eta0 must be 'auto' or a positive number, not {eta0!r}.")
    if not 0.0 < decay <= 1.0:
        raise InputError(f"decay must be in (0, 1], not {decay!r}.")
    if passes < 1 or batch_size < 1:
        raise InputError(f"passes and batch_size must be at least 1, not {passes!r} and {batch_size!r}.")
