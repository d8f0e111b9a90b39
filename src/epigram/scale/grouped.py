"""Tree norms whose groups span shards: tree-l2 with one sum a step (Nelakanti et al. 2013, Algorithm 2).

The prox of a sum of l2 norms of subtrees shrinks every subtree by a factor, from the leaves up. A shard does so with
the subtrees of its own weights, and tells the sum of squares below each weight that the driver keeps; the driver
goes on upwards from there, and tells by how much all that is below each of its weights shrinks. Steps must be even
on a tree (:meth:`epigram.penalties.tree.TreeL2.level`): shards tell the largest curvature below each shared weight too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from epigram._core.native import dot
from epigram.penalties.tree import TreeL2
from epigram.protocols import Floats, Ints
from epigram.scale.parts import Part, Places, Talk, summed


class GroupedPart(Part):
    """A part whose own weights hang below shared ones: ``above`` tells below which.

    ``penalty`` is the tree norm of its own weights, each tree hanging below a shared weight.
    """

    above: Ints

    @property
    def _square(self) -> Floats | float:
        v = self.penalty.feature_weights  # type: ignore[attr-defined]
        return 1.0 if v is None else np.asarray(v * v)

    def at_y(self, pull: float, shared: Floats, turned: bool) -> tuple[Any, ...]:
        """As of a part; where the metric changes, also the largest curvature below each shared weight."""
        value, gradient = super().at_y(pull, shared, turned)
        if not turned:
            return value, gradient
        peaks = np.zeros(self.loss.n_shared)
        np.maximum.at(peaks, self.above, self.vectors["d"][self.loss.n_shared :] / self._square)
        return value, gradient, peaks

    def squares(self, scale: float, largest: Floats | None) -> Floats:
        """A proximal step of the own weights alone: the sum of squares below each shared weight."""
        n = self.loss.n_shared
        y, gradient, d = (self.vectors[name] for name in ("y", "gradient", "d"))
        if largest is not None:
            d[n:] = largest[self.above] * self._square
            self.vectors["d"] = d
        new = self.step(scale, y, gradient, d)
        self.vectors[self._new] = new
        return np.bincount(self.above, self._square * new[n:] ** 2, n).astype(np.float64)

    def attempt(self, scale: float, shared: Floats, factors: Floats | None = None) -> tuple[float, ...]:
        """The step as the groups above shrink it: what the driver asks about it."""
        new, y, gradient, d = (self.vectors[name] for name in (self._new, "y", "gradient", "d"))
        if factors is not None:
            new[self.loss.n_shared :] *= factors[self.above]
        return self.measured(new, shared, y, gradient, d)


class SharedGroups:
    """The groups of shared weights, each with all that is below it; a :class:`~epigram.scale.parts.SharedPenalty`.

    ``parent`` of a root is -1; what is not a root hangs below one.
    """

    def __init__(self, norm: TreeL2, parent: Ints) -> None:
        v = norm.feature_weights
        self.norm, self.parent = norm, parent
        self._v = np.ones(parent.size) if v is None else v
        self._prices = norm.strength * norm.group_weights
        self._largest: Floats | None = None
        self._value = 0.0

    def metric(self, d: Floats, places: Places, told: Sequence[Any]) -> Floats:
        """One largest d / v^2 for each tree, here and below; the parts hear of it with the next step."""
        peaks = summed(places, [answer[2] for answer in told], np.zeros(d.size), np.maximum)
        largest, below = np.maximum(d / self._v**2, peaks), self.parent >= 0
        np.maximum.at(largest, self.parent[below], largest[below])
        largest[below] = largest[self.parent[below]]
        self._largest = largest
        return np.asarray(largest * self._v**2)

    def step(self, talk: Talk, scale: float, point: Floats, step: Floats, new: Floats) -> tuple[Any, ...]:
        """Ask for the sums of squares below, then shrink."""
        told = talk.ask("squares", scale, self._largest)
        self._largest = None  # known from now on
        factors = self.prox(point, step, summed(talk.places, told, np.zeros(point.size)), new)
        return scale, new, factors

    def prox(self, point: Floats, step: Floats, squares: Floats, out: Floats) -> Floats:
        """Writes the shared weights, given the sums of squares below; returns the factor by which all below shrinks."""
        z, below = self._v * point, self.parent >= 0
        if self.norm.nonnegative:
            z = np.maximum(z, 0.0)
        totals, factors, price = z * z + squares, np.zeros(z.size), self._prices * self._v**2 * step
        factors[below] = _shrunk(totals[below], price[below])
        left = factors[below] ** 2 * totals[below]
        totals += np.bincount(self.parent[below], weights=left, minlength=totals.size)
        factors[~below] = _shrunk(totals[~below], price[~below])
        factors[below] *= factors[self.parent[below]]
        out[:] = factors * z / self._v
        self._value = dot(self._prices, factors * np.sqrt(totals))
        return factors

    def value(self, w: Floats) -> float:
        """The norms of all shared groups after the last step."""
        return self._value


def _shrunk(squares: Floats, price: Floats) -> Floats:
    """By how much a group of this sum of squares shrinks."""
    norms = np.sqrt(squares)
    return np.where(norms > price, 1.0 - price / np.where(norms > 0.0, norms, 1.0), 0.0)
