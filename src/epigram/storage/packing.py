"""Small model files: integers by entropy coders, rising ones as differences, weights as codes of a codebook.

A few integers go through an adaptive range coder (``_core/packing.c``), many through one with tables that are counted
first (``_core/ans.c``), which reads a million in a hundredth of a second. Files of earlier versions hold byte planes,
compressed by xz, and are read as before. A codebook has 2^bits values, placed by Lloyd's algorithm on a
histogram of the weights.
"""

from __future__ import annotations

import lzma
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram._core.native import family
from epigram.errors import InputError, ModelFileError
from epigram.protocols import Floats, Ints

Bytes = npt.NDArray[np.uint8]
_CODED = 1 << 63  # in the number at the start: what follows is of a coder of ours, not of xz
_SHARED = 1 << 62  # beside it: of the second coder, behind its tables
_MANY = 1 << 15  # numbers for which tables are worth their bytes
_TABLES, _SHARES = (
    (16, 240),
    1 << 12,
)  # tokens after each context, and what their shares add up to (_core/ans.h)
_MOST = 1000  # numbers in a byte: the coder's probabilities do not come closer to 1
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 6}]


def pack_integers(values: npt.NDArray[np.integer]) -> Bytes:
    """Non-negative integers below 2^32 as compressed bytes.

    Examples
    --------
    >>> unpack_integers(pack_integers(np.array([3, 70000, 0]))).tolist()
    [3, 70000, 0]
    """
    numbers = np.ascontiguousarray(values, np.uint32)
    if numbers.size >= _MANY:
        code = _pack_many(numbers)
        if numbers.size <= _MOST * code.size:
            return _started(_CODED | _SHARED | numbers.size, code)
    return _started(_CODED | numbers.size, _pack_few(numbers))


def _started(number: int, code: Bytes) -> Bytes:
    return np.concatenate((np.frombuffer(number.to_bytes(8, "little"), np.uint8), code))


def _pack_few(numbers: npt.NDArray[np.uint32]) -> Bytes:
    """By the adaptive coder."""
    room = np.empty(8 * numbers.size + 64, np.uint8)
    return room[: family("packing").pack(numbers.size, numbers, room.size, room)]


def _pack_many(numbers: npt.NDArray[np.uint32]) -> Bytes:
    """By shares that are counted first: their bytes, which begin with how many they are, then those of the numbers."""
    counts, room = np.empty(_TABLES, np.int64), np.empty(8 * numbers.size + 64, np.uint8)
    family("ans").count(numbers.size, numbers, counts)
    shares = np.stack([_shares(row) for row in counts])
    size = family("ans").pack(numbers.size, numbers, shares, room.size, room)
    tables = _pack_few(np.ascontiguousarray(shares.ravel(), np.uint32))
    return np.concatenate((np.array([tables.size], "<u4").view(np.uint8), tables, room[:size]))


def _shares(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.uint16]:
    """Counts as whole shares of 2^12, none of them 0; all 0 where nothing was counted."""
    total = int(counts.sum())
    if total == 0:
        return np.zeros(counts.size, np.uint16)
    shares = np.where(counts > 0, np.maximum(counts * _SHARES // total, 1), 0)
    while (
        over := int(shares.sum()) - _SHARES
    ) > 0:  # shares that were less than 1 are taken from the largest
        shares[shares.argmax()] -= min(over, int(shares.max()) // 2)
    shares[counts.argmax()] -= over
    return shares.astype(np.uint16)


def packed_size(content: Bytes) -> int:
    """How many numbers packed bytes say that they hold."""
    return int.from_bytes(content[:8].tobytes(), "little") & (_SHARED - 1)


def unpack_integers(content: Bytes) -> npt.NDArray[np.int64]:
    """What :func:`pack_integers` packed."""
    n = packed_size(content)
    code = np.ascontiguousarray(content[8:])
    if n > _MOST * (code.size + 64):
        raise ModelFileError("damaged: more numbers than its bytes can hold")
    if content.size < 8 or content[7] < 128:
        return _unpack_planes(code.tobytes(), n)
    out = _unpack_many(code, n) if content[7] & 64 else _unpack_few(code, n)
    return out.astype(np.int64)


def _unpack_few(code: Bytes, n: int) -> npt.NDArray[np.uint32]:
    out = np.empty(n, np.uint32)
    if not family("packing").unpack(code.size, code, n, out):
        raise ModelFileError("damaged: its numbers end too early or too late")
    return out


def _unpack_many(code: Bytes, n: int) -> npt.NDArray[np.uint32]:
    end = 4 + int.from_bytes(code[:4].tobytes(), "little")
    shares = np.minimum(_unpack_few(code[4:end], math.prod(_TABLES)), 1 << 13).astype(np.uint16)
    out, rest = np.empty(n, np.uint32), code[end:]
    if not family("ans").unpack(rest.size, rest, shares, n, out):
        raise ModelFileError("damaged: its numbers do not fit their tables")
    return out


def _unpack_planes(raw: bytes, n: int) -> npt.NDArray[np.int64]:
    """Integers as files of earlier versions have them: bytes of one significance end to end, then xz."""
    try:
        xz = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=_FILTERS)
        planes = xz.decompress(raw, 4 * n + 1)  # one byte more than there may be: a bomb is not unpacked
        bytes_of = np.frombuffer(planes, dtype=np.uint8).reshape(4, n).T
        return bytes_of.copy().view("<u4").ravel().astype(np.int64)
    except (lzma.LZMAError, ValueError, EOFError) as error:
        raise ModelFileError(f"damaged: {error}") from error


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


def summed(steps: np.ndarray, sizes: np.ndarray) -> Ints:
    """Undo :func:`differences`; ``sizes`` are the lengths of the groups.

    Examples
    --------
    >>> summed(np.array([3, 2, 1]), np.array([2, 1])).tolist()
    [3, 5, 1]
    """
    if sizes.sum() != steps.size or (sizes < 0).any() or (sizes > steps.size).any():
        raise ModelFileError("damaged: its trees do not fit together")
    out = np.empty(steps.size, dtype=np.int32)
    steps, sizes = (np.ascontiguousarray(numbers, dtype=np.int64) for numbers in (steps, sizes))
    if not family("packing").sum_groups(sizes.size, sizes, steps.size, steps, out):
        raise ModelFileError("damaged: a number of its trees is too large")
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
    return {"codes": pack_integers(codes), "codebook": book.astype(np.float32)}


def unpack_weights(tensors: Mapping[str, npt.NDArray[Any]]) -> Floats:
    """What :func:`pack_weights` packed; codes may be unpacked already, as :mod:`epigram.storage.schema` does it."""
    if "weights" in tensors:
        return tensors["weights"].astype(np.float64)
    book, codes = tensors["codebook"].astype(np.float64), tensors["codes"]
    if codes.dtype == np.uint8:
        codes = unpack_integers(codes)
    if codes.size and codes.max() >= book.size:
        raise ModelFileError("damaged: a code outside the codebook")
    return np.asarray(book[codes])


def codebook(w: Floats, size: int, rounds: int = 30) -> Floats:
    """At most ``size`` rising values that lie close to the weights in the square mean."""
    distinct = np.unique(w)
    if distinct.size <= size:
        return distinct
    counts, edges = np.histogram(w, bins=max(1 << 14, 4 * size))
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
