"""The l1-ball constraint, and projection onto it.

Weights whose absolute values sum to a radius at most. Duchi et al. 2008, "Efficient projections
onto the l1-ball for learning in high dimensions".

The nearest point of the ball is a soft threshold, v = sign(w) max(|w| - theta, 0), with the theta that makes
||v||_1 the radius (their equation 3); theta is found by random pivots (their Figure 2), O(n) expected. Differs:
scales a and steps s per weight. The nearest point in sum (v - w)^2 / s with sum a |v| <= radius has the
thresholds theta s a, so a weight reaches zero at theta = |w| / (s a) and all else stays the same.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from epigram.protocols import Floats


def project_l1(
    w: Floats,
    radius: float,
    out: Floats,
    steps: float | Floats = 1.0,
    weights: Floats | None = None,
    nonnegative: bool = False,
) -> None:
    """Write the nearest point of the l1 ball of that radius to ``out``, which may be ``w``.

    Parameters
    ----------
    w : the point
    radius : largest sum of absolute values, above 0
    out : where the result goes
    steps : distance is sum (v - w)^2 / steps
    weights : the ball is sum weights |v| <= radius; a weight of 0 leaves its coordinate free
    nonnegative : also v >= 0

    Examples
    --------
    >>> w = np.array([3.0, -1.0, 0.5])
    >>> project_l1(w, 3.0, w)
    >>> w.tolist()
    [2.5, -0.5, 0.0]
    """
    sizes = np.maximum(w, 0.0) if nonnegative else np.abs(w)
    scales = np.ones(1) if weights is None else weights
    if float((scales * sizes).sum()) > radius:
        thresholds = np.broadcast_to(steps * scales, w.shape)
        sizes -= _theta(sizes, thresholds, np.broadcast_to(scales, w.shape), radius) * thresholds
        np.maximum(sizes, 0.0, out=sizes)
    np.copysign(sizes, w, out=out)
    out += 0.0  # a zero has no sign


def _theta(sizes: Floats, thresholds: Floats, scales: Floats, radius: float) -> float:
    """The root of sum scales max(sizes - theta thresholds, 0) = radius, by random pivots."""
    undecided = np.flatnonzero((sizes > 0.0) & (thresholds > 0.0))
    ends = sizes[undecided] / thresholds[undecided]  # the theta at which each weight is zero
    costs = scales[undecided] * sizes[undecided]
    slopes = scales[undecided] * thresholds[undecided]
    cost, slope = 0.0, 0.0  # of the weights known not to be zero
    rng = np.random.default_rng(0)
    while ends.size:
        pivot = ends[rng.integers(ends.size)]
        above = ends >= pivot
        cost_above, slope_above = cost + float(costs[above].sum()), slope + float(slopes[above].sum())
        if cost_above - pivot * slope_above < radius:
            cost, slope = cost_above, slope_above
            rest = ~above
        else:
            rest = ends > pivot
        ends, costs, slopes = ends[rest], costs[rest], slopes[rest]
    return (cost - radius) / slope


class L1Ball:
    """A limit instead of a penalty: 0 where ``sum weights |w| <= radius``, infinite elsewhere.

    Training under ``L1Ball(r)`` gives what ``L1(c)`` gives for the c whose solution has ``||w||_1 = r``.

    Parameters
    ----------
    radius : largest sum of absolute values
    weights : factor of each coordinate in that sum
    nonnegative : also w >= 0

    Examples
    --------
    >>> ball = L1Ball(2.0)
    >>> ball.value(np.array([1.0, -1.0])), ball.value(np.array([1.0, -1.5]))
    (0.0, inf)
    """

    def __init__(
        self, radius: float, weights: npt.ArrayLike | None = None, nonnegative: bool = False
    ) -> None:
        if not (np.isfinite(radius) and radius > 0):
            raise ValueError(f"the radius must be finite and above 0, not {radius!r}; 0 leaves no weights.")
        self.radius = float(radius)
        self.weights = None if weights is None else np.asarray(weights, dtype=np.float64)
        if self.weights is not None and not (np.isfinite(self.weights) & (self.weights >= 0)).all():
            raise ValueError("weights must be finite and >= 0: they scale the size of each coordinate.")
        self.nonnegative = nonnegative

    def value(self, w: Floats) -> float:
        """0 inside, infinite outside; rounding of the projection is forgiven."""
        size = float((np.abs(w) if self.weights is None else self.weights * np.abs(w)).sum())
        outside = size > self.radius * (1.0 + 1e-9) or (self.nonnegative and w.min(initial=0.0) < 0)
        return float("inf") if outside else 0.0

    def prox(self, w: Floats, step: float | Floats, out: Floats) -> None:
        """The nearest point of the ball; steps matter only where they differ."""
        project_l1(w, self.radius, out, step, self.weights, self.nonnegative)
