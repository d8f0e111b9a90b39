"""Minimisers that need function values only: Nelder and Mead's simplex in several variables, golden section in one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from epigram.protocols import Floats


def nelder_mead(
    function: Callable[[Floats], float],
    simplex: Floats,
    max_evaluations: int,
    x_tolerance: float,
    f_tolerance: float,
) -> Floats:
    """The best point found from a first simplex (n + 1 rows of n numbers). Nelder and Mead 1965.

    It ends when all corners are within ``x_tolerance`` and their values within ``f_tolerance`` of the best, or after
    ``max_evaluations``.

    Examples
    --------
    >>> bowl = lambda x: float((x[0] - 1) ** 2 + 3 * (x[1] + 2) ** 2)
    >>> nelder_mead(bowl, first_simplex(np.zeros(2)), 200, 1e-4, 1e-8).round(3).tolist()
    [1.0, -2.0]
    """
    corners = np.array(simplex, dtype=np.float64)
    left = max_evaluations

    def evaluate(point: Floats) -> float:
        nonlocal left
        left -= 1
        return float(function(point))

    values = np.array([evaluate(corner) for corner in corners[: max(left, 1)]])
    corners = corners[: values.size]
    if values.size < len(simplex):
        return np.asarray(corners[int(values.argmin())])
    while True:
        order = np.argsort(values, kind="stable")
        corners, values = corners[order], values[order]
        near = np.abs(corners[1:] - corners[0]).max(initial=0.0) <= x_tolerance
        if left <= 0 or (near and np.abs(values[1:] - values[0]).max(initial=0.0) <= f_tolerance):
            return np.asarray(corners[0])
        centre, worst = corners[:-1].mean(axis=0), corners[-1]
        reflected = 2.0 * centre - worst
        value = evaluate(reflected)
        if value < values[0] and left > 0:
            farther = 3.0 * centre - 2.0 * worst
            beyond = evaluate(farther)
            corners[-1], values[-1] = (farther, beyond) if beyond < value else (reflected, value)
        elif value < values[-2]:
            corners[-1], values[-1] = reflected, value
        elif left > 0:
            outside = value < values[-1]
            nearer = 0.5 * (centre + (reflected if outside else worst))
            inner = evaluate(nearer)
            if inner <= value if outside else inner < values[-1]:
                corners[-1], values[-1] = nearer, inner
                continue
            corners[1:] = 0.5 * (corners[1:] + corners[0])
            for k in range(1, len(corners)):
                values[k] = evaluate(corners[k]) if left > 0 else np.inf


def first_simplex(start: Floats) -> Floats:
    """A simplex around a point: one side of 5 % along each axis (0.00025 where the point is 0)."""
    sides = np.where(start == 0.0, 0.00025, 0.05 * start)
    return np.vstack([start, start + np.diag(sides)])


def golden_section(function: Callable[[float], float], low: float, high: float, tolerance: float) -> float:
    """The least point of a function with one valley between ``low`` and ``high``, to ``tolerance``.

    Examples
    --------
    >>> round(golden_section(lambda x: (x - 0.3) ** 2, 0.0, 2.0, 1e-6), 4)
    0.3
    """
    ratio = (5.0**0.5 - 1.0) / 2.0
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    at_a, at_b = function(a), function(b)
    while high - low > tolerance:
        if at_a <= at_b:
            high, b, at_b = b, a, at_a
            a = high - ratio * (high - low)
            at_a = function(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + ratio * (high - low)
            at_b = function(b)
    return (low + high) / 2.0
