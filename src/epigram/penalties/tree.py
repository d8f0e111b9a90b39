"""Tree-structured l2 and l-infinity norms and their proximal operators.

Nelakanti et al. 2013, section 4; Jenatton et al. 2011.

    tree-l2(w) = sum_x h_x ||v w over the subtree of x||_2        prox by Algorithm 2, O(n)
    tree-linf(w) = sum_x h_x max |v w| over the subtree of x      prox by Algorithm 4, O(n log n)

over all nodes x of a forest. h are weights of groups, v of features (entries), all 1 unless given. The paper's
depth weights are on features: it multiplies a feature of depth m by alpha^m, so that v = alpha^-m; weighing the
groups instead, h = alpha^-m, is another norm (:func:`depth_weights` makes either).

Groups are nested or disjoint, so the prox is the composition of the groups' own from the leaves up: a projection
on the dual ball each. With the constraint w >= 0 it is the same after clipping negative entries to 0. With feature
weights it is the prox of z = v w with steps v^2 step, divided by v: 1/2 sum (w - u)^2 / step is
1/2 sum (z - v u)^2 / (v^2 step).

Differs from the paper: entries that a node clips stay equal, so they return to the heap as one entry; each
is then popped once, where the paper's Algorithm 4 may pop it at every ancestor.

Steps. For a language model the forest has one tree per predicted word. ``TreeL2.prox`` takes steps for which
v^2 step is constant on each tree (without feature weights: one step, or one a tree); ``level`` finds such steps.
``TreeLinf.prox`` takes any positive vector: an entry with step s counts 1/s times, which is what a collapsed chain
needs: a node that stands for m contexts of one value has step s/m and the weight of all its groups together
(Propositions 1 and 2; exact for group weights that do not grow with depth).

Under feature weights that do not grow with depth either, a chain of contexts that always occur together has one
value of z at the minimum: the loss sees the sum of z / v along it, a deeper entry adds at least as much to it as a
shallower one, and it can be raised to the largest of its group at no cost. So the chain is one node again, of
feature weight m / (sum of 1 / v) if it is shared by m contexts and holds the mean of their weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from epigram._core import bindings
from epigram.errors import InputError
from epigram.protocols import Floats, Ints

__all__ = ["TreeL2", "TreeLinf", "prox"]


class _TreeNorm:
    """Checks, work space and numbering; the norms differ in their kernels."""

    def __init__(
        self,
        strength: float,
        parents: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        nonnegative: bool = False,
        feature_weights: npt.ArrayLike | None = None,
    ) -> None:
        self.strength = _strength(strength)
        self.nonnegative = bool(nonnegative)
        self._forest = Forest.of(parents)
        n = self._forest.parent.size
        h = np.ones(n) if weights is None else np.array(weights, dtype=np.float64)
        if h.shape != (n,) or not (h >= 0).all():
            raise InputError(f"group weights must be {n} numbers >= 0, one for each node.")
        self._h = self._forest.arrange(h)
        v = None if feature_weights is None else np.array(feature_weights, dtype=np.float64)
        if v is not None and (v.shape != (n,) or not (np.isfinite(v) & (v > 0)).all()):
            raise InputError(f"feature weights must be {n} finite numbers above 0, one for each node.")
        self.feature_weights = v
        self._allocate()

    @property
    def group_weights(self) -> Floats:
        """The weight of each node's group, in the numbering given."""
        if self._forest.order is None:
            return self._h
        out = np.empty_like(self._h)
        out[self._forest.order] = self._h
        return out

    def value(self, w: Floats) -> float:
        """The value of the penalty at ``w``; infinite outside a non-negativity constraint."""
        w = self._fits(w)
        if self.nonnegative and w.size and w.min() < 0:
            return float("inf")
        z = w if self.feature_weights is None else self.feature_weights * w
        return self.strength * self._norm(self._forest.arrange(z))

    def prox(self, w: Floats, step: float | Floats, out: Floats) -> None:
        """Write argmin_v 1/2 ||v - w||^2 / step + value(v) to ``out``, which may be ``w``."""
        w = self._fits(w)
        steps = np.atleast_1d(np.asarray(step, dtype=np.float64))
        if steps.size not in (1, w.size):
            raise InputError(f"{steps.size} steps for {w.size} weights; give one, or one for each.")
        self._check_steps(steps)
        if self.feature_weights is None:
            self._arranged(w, steps, out)
            return
        self._arranged(self.feature_weights * w, self.feature_weights**2 * steps, out)
        out /= self.feature_weights

    def _arranged(self, w: Floats, steps: Floats, out: Floats) -> None:
        """The prox without feature weights."""
        if self._forest.order is None:
            self._project(w, steps, out)
            return
        result = np.empty_like(w)
        self._project(
            self._forest.arrange(w), steps if steps.size == 1 else self._forest.arrange(steps), result
        )
        out[self._forest.order] = result

    def _fits(self, w: Floats) -> Floats:
        if w.shape != self._h.shape:
            raise InputError(f"{w.size} weights for {self._h.size} nodes.")
        return w

    def _allocate(self) -> None:
        """Make the norm's own work space."""
        raise NotImplementedError

    def _check_steps(self, steps: Floats) -> None:
        """Any positive steps will do, unless a norm says otherwise."""

    def _norm(self, w: Floats) -> float:
        raise NotImplementedError

    def _project(self, w: Floats, step: Floats, out: Floats) -> None:
        raise NotImplementedError


class TreeL2(_TreeNorm):
    """strength * sum over nodes of weight * l2 norm of the subtree.

    Examples
    --------
    >>> penalty = TreeL2(0.8, [-1, 0, 1, 2, 3, 3, 1, 6])
    >>> w = np.array([3.0, 4, 6, 6, 4, 5, 7, 7])  # Figure 1 of the paper
    >>> penalty.prox(w, 1.0, w)
    >>> w.round(3).tolist()
    [2.805, 3.506, 4.809, 4.328, 2.308, 3.029, 5.61, 4.969]
    """

    def _allocate(self) -> None:
        self._tree = self._forest.trees()
        self._gamma = np.empty(self._h.size)
        self._checked: Floats | None = None

    def level(self, d: Floats) -> Floats:
        """The least diagonal metric of at least ``d`` whose steps 1 / d the prox can take.

        Examples
        --------
        >>> TreeL2(1.0, [-1, 0, -1]).level(np.array([1.0, 3, 2])).tolist()
        [3.0, 3.0, 2.0]
        >>> TreeL2(1.0, [-1, 0, -1], feature_weights=[1, 2, 1]).level(np.array([1.0, 3, 2])).tolist()
        [1.0, 4.0, 2.0]
        """
        square = 1.0 if self.feature_weights is None else self.feature_weights**2
        largest = np.zeros(int(self._tree.max(initial=0)) + 1)
        np.maximum.at(largest, self._tree, d / square)
        return np.asarray(largest[self._tree] * square)

    def _check_steps(self, steps: Floats) -> None:
        """Refuse steps that are uneven on a tree; an array that was checked is not checked again."""
        if self._checked is steps or (steps.size == 1 and self.feature_weights is None):
            return
        z_steps = steps if self.feature_weights is None else self.feature_weights**2 * steps
        ordered, below = self._forest.arrange(z_steps), self._forest.parent >= 0
        if not np.allclose(ordered[below], ordered[self._forest.parent[below]], rtol=1e-9, atol=0.0):
            raise InputError("tree-l2 needs one step for all weights of a tree, or steps by level().")
        self._checked = steps

    def _norm(self, w: Floats) -> float:
        return float(bindings.penalties_value_l2(self._forest.parent, w, self._h, self._gamma))

    def _project(self, w: Floats, step: Floats, out: Floats) -> None:
        bindings.penalties_prox_l2(
            self._forest.parent,
            w,
            self._h,
            self.strength,
            step,
            self.nonnegative,
            self._gamma,
            out,
        )


class TreeLinf(_TreeNorm):
    """strength * sum over nodes of weight * largest absolute value of the subtree.

    Examples
    --------
    >>> penalty = TreeLinf(0.8, [-1, 0, 1, 2, 3, 3, 1, 6])
    >>> w = np.array([3.0, 4, 6, 6, 4, 5, 7, 7])  # Figure 1 of the paper
    >>> penalty.prox(w, 1.0, w)
    >>> w.round(3).tolist()
    [3.0, 4.0, 5.2, 5.2, 3.2, 4.2, 5.4, 5.4]

    The chains 6-6 and 7-7 collapsed: twice the group weight, half the step.

    >>> penalty = TreeLinf(0.8, [-1, 0, 1, 2, 2, 1], weights=[1, 1, 2, 1, 1, 2])
    >>> w = np.array([3.0, 4, 6, 4, 5, 7])
    >>> penalty.prox(w, np.array([1, 1, 0.5, 1, 1, 0.5]), w)
    >>> w.round(3).tolist()
    [3.0, 4.0, 5.2, 3.2, 4.2, 5.4]
    """

    def _allocate(self) -> None:
        n = self._h.size
        self._heap, self._child, self._sibling = np.empty((3, n), dtype=np.int32)
        self._key, self._count, self._total, self._bound = np.empty((4, n))

    def _norm(self, w: Floats) -> float:
        return float(bindings.penalties_value_linf(self._forest.parent, w, self._h, self._bound))

    def _project(self, w: Floats, step: Floats, out: Floats) -> None:
        bindings.penalties_prox_linf(
            self._forest.parent,
            w,
            self._h,
            self.strength,
            step,
            self.nonnegative,
            self._heap,
            self._child,
            self._sibling,
            self._key,
            self._count,
            self._total,
            self._bound,
            out,
        )


def prox(
    parents: npt.ArrayLike,
    weights: npt.ArrayLike,
    step: float | npt.ArrayLike,
    norm: Literal["l2", "linf"] = "l2",
    *,
    group_weights: npt.ArrayLike | None = None,
    feature_weights: npt.ArrayLike | None = None,
    multiplicity: npt.ArrayLike | None = None,
    nonnegative: bool = False,
    method: Literal["heap", "pivot"] = "heap",
    seed: int = 0,
) -> Floats:
    """Proximal operator of a tree norm on any forest in any numbering.

    Parameters
    ----------
    parents : parent of each node, -1 at roots.
    weights : the vector to project, one value a node.
    step : kappa, one for all or one for each tree (as a vector over nodes).
    norm : ``l2`` (Algorithm 2) or ``linf`` (Algorithm 4, or 3 with ``method="pivot"``, for comparison).
    group_weights : factor of kappa at each node; for collapsed nodes, of all groups they stand for.
    feature_weights : factor of each entry inside all norms; with l2, steps must be even after a factor of
        feature_weights^2 (see :meth:`TreeL2.level`).
    multiplicity : linf only: how many equal entries of a chain each node stands for; ``group_weights``
        default to it.
    nonnegative : also constrain the result to be >= 0.

    Examples
    --------
    >>> prox([1, -1], [4.0, 3.0], 1.0, norm="linf").tolist()  # node 0 is the child
    [2.5, 2.5]
    """
    vector = np.array(weights, dtype=np.float64)
    if vector.ndim != 1 or not np.isfinite(vector).all():
        raise InputError("weights must be a vector of finite numbers.")
    steps = np.asarray(step, dtype=np.float64)
    if steps.ndim > 1 or not (np.isfinite(steps) & (steps > 0)).all():
        if steps.ndim == 0 and steps == 0:
            return np.maximum(vector, 0.0) if nonnegative else vector
        raise InputError("steps must be finite and positive.")
    if norm not in ("l2", "linf") or method not in ("heap", "pivot"):
        raise InputError(f"norm is l2 or linf and method heap or pivot, not {norm!r} and {method!r}.")
    if norm == "l2" and (multiplicity is not None or method == "pivot"):
        raise InputError(
            "multiplicity and the pivot method belong to the linf norm; l2 needs the whole trie."
        )
    if method == "pivot" and feature_weights is not None:
        raise InputError("random pivots know no feature weights; use the heap method.")
    if multiplicity is not None:
        count = np.asarray(multiplicity, dtype=np.float64)
        if count.shape != vector.shape or not (count > 0).all():
            raise InputError(f"multiplicities must be {vector.size} positive numbers, one for each node.")
        steps = steps / count
        group_weights = count if group_weights is None else group_weights
    if norm == "l2":
        TreeL2(1.0, parents, group_weights, nonnegative, feature_weights).prox(vector, steps, vector)
    elif method == "heap":
        TreeLinf(1.0, parents, group_weights, nonnegative, feature_weights).prox(vector, steps, vector)
    else:
        _pivot(parents, vector, steps, group_weights, nonnegative, seed)
    return vector


def _pivot(
    parents: npt.ArrayLike,
    vector: Floats,
    steps: Floats,
    group_weights: npt.ArrayLike | None,
    nonnegative: bool,
    seed: int,
) -> None:
    """Algorithm 3, in place."""
    checked = TreeLinf(1.0, parents, group_weights, nonnegative)._fits(vector)
    forest = Forest.of(parents, preorder=True)
    h = np.ones(vector.size) if group_weights is None else np.asarray(group_weights, dtype=np.float64)
    result, count = np.empty_like(vector), np.empty_like(vector)
    size, live = np.empty((2, vector.size), dtype=np.int64)
    if forest.order is None:
        raise AssertionError("preorder numbering was asked for")
    steps = np.atleast_1d(steps)
    bindings.penalties_prox_linf_pivot(
        forest.parent,
        checked[forest.order],
        h[forest.order],
        1.0,
        steps if steps.size == 1 else steps[forest.order],
        nonnegative,
        seed,
        count,
        size,
        live,
        result,
    )
    vector[forest.order] = result


def _strength(strength: float) -> float:
    if not (np.isfinite(strength) and strength >= 0):
        raise ValueError(f"strength must be finite and >= 0, not {strength!r}.")
    return float(strength)


@dataclass(frozen=True, slots=True)
class Forest:
    """Trees numbered parents first; ``order`` maps to the caller's numbering."""

    parent: Ints
    order: npt.NDArray[np.int64] | None

    @classmethod
    def of(cls, parents: npt.ArrayLike, preorder: bool = False) -> Forest:
        """Check and, where needed, renumber; roots have the parent -1.

        Examples
        --------
        >>> Forest.of([1, -1, 1]).parent.tolist()
        [-1, 0, 0]
        >>> Forest.of([1, 0])
        Traceback (most recent call last):
            ...
        epigram.errors.InputError: the parents form a cycle: 2 of 2 nodes hang below no root.
        """
        given: npt.NDArray[Any] = np.asarray(parents)
        if given.ndim != 1 or (given.size and not np.issubdtype(given.dtype, np.integer)):
            raise InputError(
                f"parents must be a vector of integers, not {given.dtype} of shape {given.shape}."
            )
        parent = given.astype(np.int32)
        if given.size and (given.min() < -1 or given.max() >= given.size):
            raise InputError(
                f"a parent must be -1 (a root) or a node 0 .. {given.size - 1}; found "
                f"{given.min() if given.min() < -1 else given.max()}."
            )
        if not preorder and (parent < np.arange(parent.size)).all():
            return cls(parent, None)
        order, first, sibling, stack = np.empty((4, parent.size), dtype=np.int64)
        reached = bindings.penalties_parents_first(parent, first, sibling, stack, order)
        if reached < parent.size:
            lost = parent.size - reached
            raise InputError(f"the parents form a cycle: {lost} of {parent.size} nodes hang below no root.")
        rank = np.empty(parent.size + 1, dtype=np.int32)
        rank[order] = np.arange(parent.size, dtype=np.int32)
        rank[-1] = -1
        return cls(rank[parent[order]], order)

    def arrange(self, of_node: Floats) -> Floats:
        """A vector in the caller's numbering, in ours."""
        return of_node if self.order is None else of_node[self.order]

    def trees(self) -> Ints:
        """The number of the tree each node belongs to, in the caller's numbering."""
        roots = np.flatnonzero(self.parent < 0)
        root = self._root_of()
        number = np.searchsorted(roots, root).astype(np.int32)
        if self.order is None:
            return number
        out = np.empty_like(number)
        out[self.order] = number
        return out

    def _root_of(self) -> Ints:
        """By pointer doubling: a handful of passes whatever the depth."""
        above = np.where(self.parent < 0, np.arange(self.parent.size, dtype=np.int32), self.parent)
        while True:
            higher = above[above]
            if np.array_equal(higher, above):
                return above
            above = higher


def collapse(parents: npt.ArrayLike, values: npt.ArrayLike) -> tuple[Ints, Floats, Ints, Ints]:
    """Merge chains of equal value and only children (the paper's Definition 3).

    Returns the parents and values of the merged nodes, how many each stands for, and the merged node of
    every given one; so ``values_of_tree[node]`` is the given vector again.

    Examples
    --------
    >>> parent, value, count, node = collapse([-1, 0, 1, 2, 2], [3.0, 3.0, 3.0, 1.0, 2.0])
    >>> parent.tolist(), value.tolist(), count.tolist(), node.tolist()
    ([-1, 0, 0], [3.0, 1.0, 2.0], [3, 1, 1], [0, 0, 0, 1, 2])
    """
    forest = Forest.of(parents)
    given = forest.arrange(np.asarray(values, dtype=np.float64))
    if given.shape != forest.parent.shape:
        raise InputError(f"{given.size} values for {forest.parent.size} nodes.")
    node, parent = np.empty_like(forest.parent), np.empty_like(forest.parent)
    count, value = np.empty_like(forest.parent), np.empty_like(given)
    n_children = np.empty_like(forest.parent)
    n = bindings.penalties_collapse_chains(forest.parent, given, n_children, node, parent, value, count)
    if forest.order is not None:
        own, node = node, np.empty_like(node)
        node[forest.order] = own
    return parent[:n].copy(), value[:n].copy(), count[:n].copy(), node
