"""Encode integers and weights in few bits: narrow types, differences and codebooks.

The values of a codebook are placed by Lloyd's algorithm on a histogram of the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram._core import bindings
from epigram.errors import InputError, ModelFileError
from epigram.protocols import Floats, Ints

Bytes = npt.NDArray[np.uint8]
CODES = 256
"""Room of a codebook."""
USED = 64
"""Codes that :func:`coded` uses: those of 256 values take 1.3 times the bytes of a compressed file."""
LOWEST = np.float32(-1e9)
"""Numbers below it stand for no gain or no chance, and keep their value."""


def narrow(values: npt.NDArray[np.integer]) -> npt.NDArray[np.unsignedinteger]:
    """Non-negative integers in the smallest type that holds them all.

    Examples
    --------
    >>> narrow(np.array([3, 300])).dtype
    dtype('uint16')
    """
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))


def differences(values: Ints, groups: np.ndarray) -> np.ndarray:
    """Each value less the one before it in its group (rising within groups); the first as it is.

    Examples
    --------
    >>> differences(np.array([3, 5, 1]), np.array([0, 0, 1])).tolist()
    [3, 2, 1]
    """
    out = np.diff(values.astype(np.int64), prepend=0)
    first = np.diff(groups, prepend=-1) != 0
    out[first] = values[first]
    return out


def sum_groups(steps: np.ndarray, sizes: np.ndarray) -> Ints:
    """Undo :func:`differences`; ``sizes`` are the lengths of the groups.

    Examples
    --------
    >>> sum_groups(np.array([3, 2, 1]), np.array([2, 1])).tolist()
    [3, 5, 1]
    """
    if sizes.sum() != steps.size or (sizes < 0).any() or (sizes > steps.size).any():
        raise ModelFileError("corrupt file: its trees do not fit together")
    out = np.empty(steps.size, dtype=np.int32)
    steps, sizes = (np.ascontiguousarray(numbers, dtype=np.int64) for numbers in (steps, sizes))
    if not bindings.groups_sum(sizes, steps, out):
        raise ModelFileError("corrupt file: a number of its trees is too large")
    return out


def pack_weights(w: Floats, bits: int) -> dict[str, npt.NDArray[np.generic]]:
    """Weights as float32 (``bits`` 0), or as codes of 1 to 16 bits and their codebook.

    Examples
    --------
    >>> w = np.array([0.5, 2.0, 0.5])
    >>> unpack_weights(pack_weights(w, 8)).tolist()
    [0.5, 2.0, 0.5]
    """
    if bits == 0:
        return {"weights": w.astype(np.float32)}
    if not 1 <= bits <= 16:
        raise InputError(f"bits must be 0 (full) or 1 to 16, not {bits}.")
    book = codebook(w, 1 << bits)
    codes = np.searchsorted((book[1:] + book[:-1]) / 2, w)
    return {"codes": narrow(codes), "codebook": book.astype(np.float32)}


def unpack_weights(tensors: Mapping[str, npt.NDArray[Any]]) -> Floats:
    """Return the weights that :func:`pack_weights` packed."""
    if "weights" in tensors:
        return tensors["weights"].astype(np.float64)
    book, codes = tensors["codebook"].astype(np.float64), tensors["codes"]
    if codes.size and codes.max() >= book.size:
        raise ModelFileError("corrupt file: a code outside the codebook")
    return np.asarray(book[codes])


def codebook(w: Floats, size: int, rounds: int = 30) -> Floats:
    """At most ``size`` rising values that lie close to the weights in the square mean."""
    return codebook_of(lambda: iter((w,)), size, rounds)


def codebook_of(blocks: Callable[[], Iterator[Floats]], size: int, rounds: int = 30) -> Floats:
    """:func:`codebook` of weights that come in blocks; ``blocks`` is called twice.

    Examples
    --------
    >>> w = np.arange(100.0) ** 2
    >>> bool((codebook_of(lambda: iter((w[:30], w[30:])), 8) == codebook(w, 8)).all())
    True
    """
    distinct, low, high = np.empty(0), np.inf, -np.inf
    for w in blocks():
        if distinct.size <= size:
            distinct = np.union1d(distinct, w)
        low, high = min(low, w.min(initial=np.inf)), max(high, w.max(initial=-np.inf))
    if distinct.size <= size:
        return distinct
    bins = max(1 << 14, 4 * size)
    edges = np.histogram_bin_edges(np.empty(0), bins, (low, high))
    counts = np.zeros(bins, np.int64)
    for w in blocks():
        counts += np.histogram(w, bins, (low, high))[0]
    middles, counts = ((edges[1:] + edges[:-1]) / 2)[counts > 0], counts[counts > 0]
    mass, moment = np.cumsum(counts), np.cumsum(counts * middles)
    # Centres start at the density to the power 1/3, which is best for many of them.
    spacing = np.cumsum(np.cbrt(counts))
    book = np.interp((np.arange(size) + 0.5) / size * spacing[-1], spacing, middles)
    for _ in range(rounds):
        ends = np.searchsorted(middles, (book[1:] + book[:-1]) / 2)
        sums = np.diff(np.concatenate(([0.0], np.append(moment, moment[-1])[ends - 1], moment[-1:])))
        masses = np.diff(np.concatenate(([0.0], np.append(mass, mass[-1])[ends - 1], mass[-1:])))
        book = np.where(masses > 0, sums / np.maximum(masses, 1), book)
    return np.unique(book)


def coded(
    values: npt.NDArray[np.float32], ends: list[int], up: bool = False
) -> tuple[Bytes, npt.NDArray[np.float32]]:
    """Return codes of the nearest value (``up``: the next not smaller) and a book per level."""
    codes, books = np.empty(values.size, np.uint8), np.zeros((len(ends), CODES), np.float32)
    for level, (first, last) in enumerate(pairwise([0, *ends])):
        numbers = values[first:last]
        if not numbers.size:
            continue
        low = np.unique(numbers[numbers < LOWEST])
        high = codebook(numbers[numbers >= LOWEST].astype(np.float64), max(USED - low.size, 1))
        book: npt.NDArray[np.float32] = np.append(low, high.astype(np.float32))
        if up:
            book[-1] = numbers.max()
        books[level, : book.size] = book
        borders = book[:-1] if up else (book[1:] + book[:-1]) / 2
        codes[first:last] = np.searchsorted(borders, numbers)
    return codes, books


def decoded(codes: Bytes, books: npt.NDArray[np.float32], ends: list[int]) -> npt.NDArray[np.float32]:
    """The numbers that codes stand for."""
    parts = [books[level][codes[first:last]] for level, (first, last) in enumerate(pairwise([0, *ends]))]
    return np.concatenate(parts)
