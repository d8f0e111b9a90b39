"""Figures 1 and 2 of Gao et al. 2006 word by word: every loss is computed from scratch over all pairs."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq

Pairs = list[tuple[float, dict[str, float]]]


def exp_loss(pairs: Pairs, base_weight: float, w: dict[str, float]) -> float:
    """Equation (6)."""
    return math.fsum(
        math.exp(-base_weight * base - sum(w.get(name, 0.0) * v for name, v in values.items()))
        for base, values in pairs
    )


def moved(w: dict[str, float], name: str, delta: float) -> dict[str, float]:
    """Upd(lambda, k, delta)."""
    return {**w, name: w.get(name, 0.0) + delta}


def optimal_step(pairs: Pairs, base_weight: float, w: dict[str, float], name: str, pad: float) -> float:
    """argmin over delta of ExpLoss(Upd) + pad (e^delta + e^-delta), by the root of its slope."""
    terms = [
        (values[name], math.exp(-base_weight * base - sum(w.get(n, 0.0) * v for n, v in values.items())))
        for base, values in pairs
        if name in values
    ] + [(1.0, pad), (-1.0, pad)]

    def slope(delta: float) -> float:
        return -math.fsum(v * q * math.exp(-v * delta) for v, q in terms)

    if all(v > 0 for v, q in terms if q > 0):
        return math.inf
    if all(v < 0 for v, q in terms if q > 0):
        return -math.inf
    return float(brentq(slope, -60.0, 60.0, xtol=1e-14, rtol=1e-14))


def lowest(pairs: Pairs, base_weight: float, w: dict[str, float], name: str, search_step: float) -> float:
    """The loss that selecting a feature promises: (12) for a finite search step, (7) for an infinite one."""
    if search_step < math.inf:
        return min(exp_loss(pairs, base_weight, moved(w, name, s)) for s in (search_step, -search_step))
    delta = optimal_step(pairs, base_weight, w, name, 0.0)
    if math.isinf(delta):
        return exp_loss([pair for pair in pairs if name not in pair[1]], base_weight, w)
    return exp_loss(pairs, base_weight, moved(w, name, delta))


def backward(
    pairs: Pairs, base_weight: float, w: dict[str, float], alpha: float, eps: float
) -> tuple[float, dict[str, float]]:
    """Best fall of LassoLoss by one step towards zero, and each weight's."""
    now = exp_loss(pairs, base_weight, w)
    falls = {}
    for name, value in w.items():
        if value != 0.0:
            size = min(eps, abs(value))
            after = exp_loss(pairs, base_weight, moved(w, name, -math.copysign(size, value)))
            falls[name] = now - after + alpha * size
    return max(falls.values(), default=-math.inf), falls


def fitted_base(pairs: Pairs) -> float:
    """argmin over lambda_0 with all other weights zero."""
    base = np.array([b for b, _ in pairs])
    return float(brentq(lambda weight: -float(base @ np.exp(-weight * base)), -20.0, 20.0, xtol=1e-14))
