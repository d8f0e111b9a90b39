"""The nearest point of an l1 ball by enumeration: Duchi et al. 2008, equation 3, for every set of non-zero weights."""

from __future__ import annotations

from itertools import combinations

import numpy as np


def project(
    w: np.ndarray, radius: float, steps: np.ndarray, weights: np.ndarray, nonnegative: bool = False
) -> np.ndarray:
    """Of all points with sum weights |v| <= radius that are optimal on their own support, the nearest to w."""
    sizes = np.maximum(w, 0.0) if nonnegative else np.abs(w)
    best, least = np.zeros_like(w), np.inf
    candidates = [sizes] if weights @ sizes <= radius else []
    for n in range(w.size + 1):
        for support in combinations(range(w.size), n):
            on = list(support)
            v = np.where(weights == 0.0, sizes, 0.0)
            slope = float(np.sum(steps[on] * weights[on] ** 2))
            if slope > 0.0:
                theta = (weights[on] @ sizes[on] - radius) / slope
                v[on] = sizes[on] - theta * steps[on] * weights[on]
            candidates.append(v)
    for v in candidates:
        distance = float(np.sum((v - sizes) ** 2 / steps))
        if v.min() >= 0.0 and weights @ v <= radius * (1.0 + 1e-12) and distance < least:
            best, least = np.sign(w) * v, distance
    return best
