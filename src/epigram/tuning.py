"""Choosing positive numbers by what a fit with them is worth on held-out data: a simplex or a compass, on a log scale.

The numbers are fields of a frozen dataclass. A search asks ``judge(point, best)`` for a value to be made small (such as
the log of a perplexity): a fit at ``point`` may start from that of ``best``, the best point before, which is the
point itself at first. ``stop`` is asked whether to end with the best so far.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from epigram.direct_search import nelder_mead
from epigram.protocols import Floats

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Trial:
    """One fit of a search: the numbers that were tried, and what came of it.

    ``best`` is the least perplexity so far, ``seconds`` the CPU time since the search began. In a model of several
    parts, ``part`` tells which was fitted, and ``perplexity`` is that of all with the best others so far.
    """

    strength: Any
    perplexity: float
    best: float
    objective: float
    nonzero: int
    iterations: int
    seconds: float
    part: str = ""
    n_classes: int = 0


TrialCallback = Callable[[Trial], bool | None]
"""Called after each fit of a search; returning True ends it."""


class _Ended(Exception):
    pass


def simplex(
    judge: Callable[[T, T], float],
    start: T,
    steps: Mapping[str, float],
    stop: Callable[[], bool] = lambda: False,
    max_trials: int = 30,
    x_tolerance: float = 0.05,
    f_tolerance: float = 2e-4,
) -> T:
    """The best point that Nelder and Mead's simplex finds, all numbers at once; ``steps`` are its first sides.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Point:
    ...     x: float
    ...     y: float
    >>> valley = lambda point, best: (np.log(point.x) - 1) ** 2 + (point.y - 3) ** 2
    >>> found = simplex(valley, Point(1.0, 3.0), {"x": 0.4}, f_tolerance=1e-9)
    >>> round(float(np.log(found.x)), 1), found.y
    (1.0, 3.0)
    """
    best, least = start, float("inf")

    def value(point: Floats) -> float:
        nonlocal best, least
        now = _moved(start, dict(zip(steps, np.exp(point).tolist(), strict=True)))
        found = judge(now, best)
        if found < least:
            best, least = now, found
        if stop():
            raise _Ended
        return found

    centre = np.log([getattr(start, name) for name in steps])
    corners = np.vstack([centre, centre + np.diag(list(steps.values()))])
    with suppress(_Ended):
        nelder_mead(value, corners, max_trials, x_tolerance, f_tolerance)
    return best


def compass(
    judge: Callable[[T, T], float],
    start: T,
    least: float,
    steps: Mapping[str, float],
    stop: Callable[[], bool] = lambda: False,
    least_gain: float = 1e-4,
) -> T:
    """Move one number at a time up or down, on while that gains, then again by half of ``steps``.

    ``least`` is the value of the start, which is not judged again.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Point:
    ...     x: float
    >>> compass(lambda point, best: abs(point.x - 2.7), Point(1.0), 1.7, {"x": 0.5})
    Point(x=2.71828)
    """
    best, tried = start, {start}
    for scale in (1.0, 0.5):
        before = None
        while before != best:
            before = best
            for name, step in ((name, sign * steps[name]) for name in steps for sign in (1.0, -1.0)):
                better = True
                while better:
                    number = float(f"{getattr(best, name) * float(np.exp(scale * step)):.6g}")
                    point = _moved(best, {name: number})
                    if point in tried:
                        break
                    if stop():
                        return best
                    tried.add(point)
                    value = judge(point, best)
                    better = value < least - least_gain
                    if better:
                        best, least = point, value
    return best


def _moved(point: T, numbers: dict[str, float]) -> T:
    """The same point with other numbers."""
    return replace(point, **numbers)  # type: ignore[type-var]
