"""Forests given by parent indices, in any numbering: checks, an order with parents first, collapse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram._core.native import family
from epigram.errors import InputError
from epigram.protocols import Floats, Ints

core = family("penalties")


@dataclass(frozen=True, slots=True)
class Forest:
    """Trees numbered parents first; ``order`` leads back to the caller's numbering (None: it is the same)."""

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
        order, *scratch = np.empty((4, parent.size), dtype=np.int64)
        reached = core.parents_first(parent.size, parent, *scratch, order)
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
    """Merge chains of equal value in which each node is an only child (the paper's Definition 3).

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
    n = core.collapse_chains(given.size, forest.parent, given, n_children, node, parent, value, count)
    if forest.order is not None:
        own, node = node, np.empty_like(node)
        node[forest.order] = own
    return parent[:n].copy(), value[:n].copy(), count[:n].copy(), node
