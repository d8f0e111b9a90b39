"""l1, squared l2 and elastic-net penalties with optional weights per coordinate.

``L1(c)`` is c sum |w|; ``L2(c)`` is c sum w^2 (as CRFsuite's c2); ``weights`` scales the strength of each
coordinate (``ridge_weights``, where given, that of its squared part alone); ``nonnegative`` adds the
constraint w >= 0 (Nelakanti et al. 2013, section 3).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from epigram._core import bindings
from epigram._core.arrays import dot
from epigram.errors import InputError
from epigram.protocols import Floats, Penalty


class _Separable:
    """prox of l1 |w| + l2 w^2 per coordinate: soft threshold, then shrink."""

    def __init__(
        self,
        l1: float,
        l2: float,
        weights: Floats | None,
        nonnegative: bool,
        ridge_weights: Floats | None = None,
    ) -> None:
        for name, strength in (("l1", l1), ("l2", l2)):
            if not (np.isfinite(strength) and strength >= 0):
                raise InputError(f"{name} must be finite and >= 0, not {strength!r}.")
        if weights is not None and not (np.isfinite(weights).all() and np.min(weights, initial=0.0) >= 0):
            raise InputError("weights must be finite and >= 0: they scale the strength of each coordinate.")
        self.weights = weights
        self.ridge_weights = weights if ridge_weights is None else ridge_weights
        self.nonnegative = nonnegative
        self._l1 = float(l1)
        self._l2 = float(l2)

    def value(self, w: Floats) -> float:
        """The value of the penalty at ``w``; infinite outside a non-negativity constraint."""
        if self.nonnegative and w.size and w.min() < 0:
            return float("inf")
        if self.weights is not None and self.ridge_weights is not None:
            return float(bindings.penalties_value(w, self._l1, self._l2, self.weights, self.ridge_weights))
        total = 0.0
        if self._l1:
            total += self._l1 * float(np.abs(w).sum())
        if self._l2:
            total += self._l2 * dot(w, w)
        return total

    def prox(self, w: Floats, step: float | Floats, out: Floats) -> None:
        """Soft threshold by step * l1, then divide by 1 + 2 step l2."""
        if self.weights is None or self.ridge_weights is None:
            size = np.maximum(np.abs(w) - self._l1 * step, 0.0) / (1.0 + 2.0 * self._l2 * step)
            np.copysign(size, w, out=out)
            if self.nonnegative:
                np.maximum(out, 0.0, out=out)
            return
        steps = np.broadcast_to(np.asarray(step, dtype=np.float64), w.shape)
        bindings.penalties_prox(
            np.ascontiguousarray(w),
            np.ascontiguousarray(steps),
            self._l1,
            self._l2,
            self.weights,
            self.ridge_weights,
            self.nonnegative,
            out,
        )


class L1(_Separable):
    """The l1 penalty, ``c * sum |w|``.

    Examples
    --------
    >>> import numpy as np
    >>> L1(0.5).value(np.array([1.0, -2.0]))
    1.5
    """

    def __init__(self, l1: float, weights: Floats | None = None, nonnegative: bool = False) -> None:
        super().__init__(l1, 0.0, weights, nonnegative)
        self.l1 = self._l1


class L2(_Separable):
    """The squared l2 penalty, ``c * sum w^2``.

    Examples
    --------
    >>> import numpy as np
    >>> L2(0.5).value(np.array([1.0, -2.0]))
    2.5
    """

    def __init__(self, l2: float, weights: Floats | None = None, nonnegative: bool = False) -> None:
        super().__init__(0.0, l2, weights, nonnegative)
        self.l2 = self._l2


class ElasticNet(_Separable):
    """``l1 * sum |w|`` + l2 * sum w^2.

    Examples
    --------
    >>> import numpy as np
    >>> ElasticNet(1.0, 0.5).value(np.array([1.0, -2.0]))
    5.5
    """

    def __init__(
        self,
        l1: float,
        l2: float,
        weights: Floats | None = None,
        nonnegative: bool = False,
        ridge_weights: Floats | None = None,
    ) -> None:
        if ridge_weights is not None and weights is None:
            weights = np.ones_like(ridge_weights)
        super().__init__(l1, l2, weights, nonnegative, ridge_weights)
        self.l1 = self._l1
        self.l2 = self._l2


FARTHEST = 1e100


def depth_weights(depth: npt.ArrayLike, alpha: float, multiplicity: npt.ArrayLike | None = None) -> Floats:
    """Compute alpha^depth per node; a node of a collapsed chain has the chain's sum.

    Examples
    --------
    >>> depth_weights([0, 1, 3], 0.5, [1, 1, 2]).tolist()
    [1.0, 0.5, 0.375]
    >>> depth_weights([5000], 1.5).tolist()
    [1e+100]
    """
    if not (np.isfinite(alpha) and alpha > 0):
        raise InputError(f"the depth weight must be finite and positive, not {alpha!r}.")
    deep = np.asarray(depth, dtype=np.float64)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        weights: Floats = alpha**deep
        if multiplicity is not None:
            m = np.asarray(multiplicity, dtype=np.float64)
            if alpha == 1.0:
                return m
            ratio = 1.0 / alpha
            weights = weights * (ratio**m - 1.0) / (ratio - 1.0)
            lost = ~np.isfinite(weights) & (alpha < 1.0)  # 0 times infinity: the sum from its other end
            weights[lost] = (alpha ** (deep - m + 1.0) * (1.0 - alpha**m) / (1.0 - alpha))[lost]
    # A context of a thousand words has no finite weight; what is larger than this allows none either.
    return np.clip(weights, 1.0 / FARTHEST, FARTHEST)


def penalty_of(given: Penalty | None, l1: float, l2: float) -> Penalty:
    """Return the penalty given, or the one of these strengths."""
    if given is not None:
        if not isinstance(given, Penalty):
            raise ValueError(f"penalty must be None or an object such as L1(1.0), not {given!r}.")
        return given
    if l2 and l1:
        return ElasticNet(l1, l2)
    return L2(l2) if l2 else L1(l1)
