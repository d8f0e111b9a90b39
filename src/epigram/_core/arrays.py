"""Offsets of consecutive blocks, the entries of chosen blocks, and the dot product."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int32]
Offsets: TypeAlias = npt.NDArray[np.int64]


def dot(x: Floats | Ints, y: Floats) -> float:
    """Dot product on this thread.

    BLAS would wake threads that then wait by spinning, in the way of ours.

    Examples
    --------
    >>> dot(np.array([1, 2]), np.array([0.5, 1.0]))
    2.5
    """
    return float(np.einsum("i,i", x, y))


def split_at(items: Any, ptr: Offsets) -> list[Any]:
    """Cut a sequence at offsets.

    Examples
    --------
    >>> split_at("abcde", offsets([2, 0, 3]))
    ['ab', '', 'cde']
    """
    return [items[a:b] for a, b in pairwise(ptr.tolist())]


def offsets(counts: Any) -> Offsets:
    """Offsets of consecutive blocks of the given sizes, and the end of the last.

    Examples
    --------
    >>> offsets([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    out = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, dtype=np.int64, out=out[1:])
    return out


def ranges(starts: Offsets, ends: Offsets) -> Offsets:
    """All of starts[0]..ends[0], starts[1]..ends[1], ... end to end.

    Examples
    --------
    >>> ranges(np.array([3, 0]), np.array([5, 2])).tolist()
    [3, 4, 0, 1]
    """
    counts = ends - starts
    places = offsets(counts)
    return np.arange(places[-1]) + np.repeat(starts - places[:-1], counts)


def gather(ptr: Offsets, rows: Offsets | Ints) -> tuple[Offsets, Offsets]:
    """Offsets of the chosen rows laid end to end, and the index of each of their entries.

    Examples
    --------
    >>> gather(np.array([0, 2, 3]), np.array([1, 0]))
    (array([0, 1, 3]), array([2, 0, 1]))
    """
    starts, ends = ptr[rows], ptr[rows + 1]
    return offsets(ends - starts), ranges(starts, ends)
