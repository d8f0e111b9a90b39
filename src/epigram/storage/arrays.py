"""The arrays of a model file: what a family's file must hold, and how integers and weights are packed small.

A family declares a :class:`Schema`; :meth:`Schema.read` checks a file against it before anything uses the file, in time
and memory linear in its size. What comes back can be followed by C without a further look.

A few integers go through an adaptive range coder (``_core/packing.c``), many through one with tables that are counted
first (``_core/ans.c``), which reads a million in a hundredth of a second. Files of earlier versions hold byte planes,
compressed by xz, and are read as before. A codebook has 2^bits values, placed by Lloyd's algorithm on a
histogram of the weights.
"""

from __future__ import annotations

import lzma
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from epigram._core.native import family
from epigram.errors import InputError, ModelFileError
from epigram.protocols import Floats, Ints
from epigram.storage.file import ModelFile

PACKED = "packed"
"""The type of integers that :func:`~epigram.storage.arrays.pack_integers` made bytes of; they are read as int64."""
MOST_NUMBERS, NUMBERS_PER_BYTE = 1 << 22, 4
"""Packed integers that a file may hold: so many, and so many more for each of its bytes."""
Bytes = npt.NDArray[np.uint8]
CODES = 256
LOWEST = np.float32(-1e9)
"""Numbers below stand for something else, no gain or no chance, and keep their value."""
_CODED = 1 << 63  # in the number at the start: what follows is of a coder of ours, not of xz
_SHARED = 1 << 62  # beside it: of the second coder, behind its tables
_MANY = 1 << 15  # numbers for which tables are worth their bytes
_TABLES, _SHARES = (
    (16, 240),
    1 << 12,
)  # tokens after each context, and what their shares add up to (_core/ans.h)
_MOST = 1000  # numbers in a byte: the coder's probabilities do not come closer to 1
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 6}]


@dataclass(frozen=True)
class Array:
    """One array: the type in which it is read, and what must be true of it.

    Parameters
    ----------
    dtype : a type of numpy, or ``PACKED``; a file may hold another size of the same kind, values are checked first.
    shape : a number, or the name of a size, per axis; arrays of one name must agree. ``a+b``, ``a+1`` are sums.
    least : of integers.
    below : all numbers are below it: a number, or the name of a size.
    total : the size that the numbers must add up to.
    offsets : the numbers begin with 0, never fall, and end with this size.
    steps : each number is stored as its difference from the one before; they are added up. ``per_parent`` and
        ``per_count`` name the array that says where the sums begin anew: equal parents, or a number for each group.
    parents : number k is below ``k`` and this size: parents come before their children.
    infinite : ``"-"`` where minus infinity is allowed, ``"any"`` where NaN and infinity are.
    optional : may be absent whatever its sizes are; an array that is absent and not optional is empty.
    """

    dtype: Any
    shape: tuple[int | str, ...]
    least: int = 0
    below: float | str | None = None
    total: str | None = None
    offsets: str | None = None
    steps: bool = False
    per_parent: str | None = None
    per_count: str | None = None
    parents: int | str | None = None
    infinite: str = ""
    optional: bool = False


@dataclass(frozen=True)
class Maybe:
    """A field of the header that may be absent."""

    kind: Any


class Contents(dict[str, npt.NDArray[Any]]):
    """The checked arrays of a file by name, and their sizes by name."""

    def __init__(self, sizes: dict[str, int]) -> None:
        super().__init__()
        self.sizes = sizes

    def size(self, name: float | str) -> int:
        """A number, or the size or sum of sizes of that name."""
        if not isinstance(name, str):
            return int(name)
        return sum(int(part) if part.isdecimal() else self.sizes.get(part, 0) for part in name.split("+"))

    def settle(self, name: str, wanted: tuple[int | str, ...], found: tuple[int, ...]) -> None:
        """Sizes of one name are one number."""
        if len(wanted) != len(found):
            damaged(f"{name!r} has the shape {found}")
        for size, number in zip(wanted, found, strict=True):
            if isinstance(size, str) and "+" not in size:
                self.sizes.setdefault(size, number)
            elif isinstance(size, str):
                continue  # a sum: settled when its parts are known
            if number != self.size(size):
                damaged(f"{name!r} has {number:,} numbers where {self.size(size):,} belong")


@dataclass(frozen=True)
class Schema:
    """The header's fields and the arrays of one kind of model.

    A field is described by a type, a tuple of types (one of them), a list of one description (of every element), or a
    dictionary of descriptions; whole numbers count as floats, and truth values not as numbers.

    Examples
    --------
    >>> schema = Schema({"labels": [str]}, {"ids": Array(np.int32, ("n",), below="labels")})
    >>> good = ModelFile("toy", {"labels": ["a", "b"]}, {"ids": np.array([0, 1], np.uint8)})
    >>> schema.read(good, labels=2)["ids"].dtype
    dtype('int32')
    >>> schema.read(good, labels=1)
    Traceback (most recent call last):
        ...
    epigram.errors.ModelFileError: damaged: 'ids' holds 1 where all are below 1
    """

    header: Mapping[str, Any]
    arrays: Mapping[str, Array] = field(default_factory=dict)

    def read(self, file: ModelFile, **sizes: int) -> Contents:
        """The arrays of a file that fits; ``sizes`` are those that the header gives."""
        self.check_header(file.header)
        return self.read_arrays(file.tensors, **sizes)

    def check_header(self, header: Mapping[str, Any]) -> None:
        """Refuse a header that lacks a field, or has one of another type."""
        _check_field("the header", dict(self.header), header)

    def read_arrays(
        self, tensors: Mapping[str, npt.NDArray[Any]], prefix: str = "", /, **sizes: int
    ) -> Contents:
        """The arrays alone; in the file they stand under a prefix."""
        found = Contents(dict(sizes))
        shapes = {name: _shape(prefix + name, array, tensors) for name, array in self.arrays.items()}
        for name, shape in shapes.items():
            if shape is not None:
                found.settle(prefix + name, self.arrays[name].shape, shape)
        for name, shape in shapes.items():
            for size, number in zip(self.arrays[name].shape, shape or (), strict=False):
                if number != found.size(size):
                    damaged(f"{prefix + name!r} has {number:,} numbers where {found.size(size):,} belong")
        self._check_room(tensors, prefix)
        for name, array in self.arrays.items():
            if shapes[name] is not None:
                stored = tensors.get(prefix + name, np.empty(shapes[name] or 0, _stored_type(array)))
                found[name] = _read(prefix + name, array, stored, found)
        return found

    def _check_room(self, tensors: Mapping[str, Any], prefix: str) -> None:
        limit = MOST_NUMBERS + NUMBERS_PER_BYTE * sum(array.nbytes for array in tensors.values())
        packed = (prefix + name for name, array in self.arrays.items() if array.dtype == PACKED)
        if sum(packed_size(tensors[name]) for name in packed if name in tensors) > limit:
            damaged("it promises more numbers than its bytes can hold")


def strings(prefix: str, size: str) -> dict[str, Array]:
    """The two arrays of packed strings, of which there are ``size``."""
    return {
        f"{prefix}.bytes": Array(np.uint8, (f"{prefix}.bytes",)),
        f"{prefix}.lengths": Array(np.int64, (size,), total=f"{prefix}.bytes"),
    }


def weights(size: str, prefix: str = "", below: float | None = None, infinite: str = "") -> dict[str, Array]:
    """The arrays that :func:`~epigram.storage.arrays.pack_weights` makes of ``size`` numbers."""
    book = f"{prefix}codebook"
    return {
        f"{prefix}weights": Array(np.float32, (size,), below=below, infinite=infinite, optional=True),
        f"{prefix}codes": Array(PACKED, (size,), below=book, optional=True),
        book: Array(np.float32, (book,), below=below, infinite=infinite, optional=True),
    }


def damaged(what: str) -> NoReturn:
    """Refuse a model file."""
    raise ModelFileError(f"damaged: {what}")


def _check_field(name: str, wanted: Any, found: Any) -> None:
    if isinstance(wanted, dict):
        if not isinstance(found, dict):
            _wrong(name, found)
        for key, inner in wanted.items():
            if key in found:
                _check_field(repr(key), inner.kind if isinstance(inner, Maybe) else inner, found[key])
            elif not isinstance(inner, Maybe):
                damaged(f"{name} has no {key!r}")
    elif isinstance(wanted, list):
        if not isinstance(found, list):
            _wrong(name, found)
        for element in found:
            _check_field(f"an element of {name}", wanted[0], element)
    elif not any(_is_a(kind, found) for kind in (wanted if isinstance(wanted, tuple) else (wanted,))):
        _wrong(name, found)


def _is_a(kind: Any, found: Any) -> bool:
    if isinstance(kind, list | dict):
        try:
            _check_field("", kind, found)
        except ModelFileError:
            return False
        return True
    if kind is None or isinstance(found, bool):
        return found is None if kind is None else kind in (bool, object)
    return isinstance(found, (int, float) if kind is float else kind)


def _wrong(name: str, found: Any) -> NoReturn:
    damaged(f"{name} cannot be {str(found)[:40]!r}")


def _stored_type(array: Array) -> np.dtype[Any]:
    return np.dtype(np.uint8 if array.dtype == PACKED else array.dtype)


def _shape(name: str, array: Array, tensors: Mapping[str, npt.NDArray[Any]]) -> tuple[int, ...] | None:
    """The shape of a stored array whose type is right; None for one that is absent and may be."""
    if name not in tensors:
        empty = (size if isinstance(size, int) else 0 for size in array.shape[1:])
        return None if array.optional else (0, *empty)
    stored, wanted = tensors[name], _stored_type(array)
    kinds = "f" if wanted.kind == "f" else "iu"
    if stored.dtype.kind not in kinds or (wanted == np.uint8 != stored.dtype):
        damaged(f"{name!r} holds {stored.dtype}, not {wanted}")
    if array.dtype == PACKED and stored.ndim == 1:
        return (packed_size(stored),)
    return stored.shape


def _read(name: str, array: Array, stored: npt.NDArray[Any], found: Contents) -> npt.NDArray[Any]:
    values = stored
    if array.dtype == PACKED:
        values = unpack_integers(stored) if stored.size else np.empty(0, np.int64)
    if array.per_parent is not None:
        starts = np.flatnonzero(np.diff(found[array.per_parent], prepend=-1))
        values = summed(values, np.diff(starts, append=values.size))
    elif array.per_count is not None:
        counts = found[array.per_count]
        values = summed(values, counts[counts > 0])
    elif array.steps:
        values = np.cumsum(values, dtype=np.int64)
    if values.dtype.kind == "f":
        with np.errstate(over="ignore"):  # what does not fit becomes infinite, and is refused as such
            values = np.ascontiguousarray(values, array.dtype)
        if values.size:
            _check_floats(name, array, values)
        return values
    if values.size:
        _check_integers(name, array, values, found)
    if array.total is not None and int(values.sum(dtype=np.int64)) != found.size(array.total):
        damaged(f"{name!r} adds up to {int(values.sum(dtype=np.int64)):,}, not {found.size(array.total):,}")
    return np.ascontiguousarray(values, np.int64 if array.dtype == PACKED else array.dtype)


def _check_floats(name: str, array: Array, values: npt.NDArray[Any]) -> None:
    low, high = (0.0 if array.infinite else values.min()), values.max()  # NaN where one is
    if array.infinite != "any" and not (-np.inf < low and high < np.inf):
        damaged(f"{name!r} holds a number that is not finite")
    if isinstance(array.below, float) and high >= array.below:
        damaged(f"{name!r} holds {high:g}, which is too large")


def _check_integers(name: str, array: Array, values: npt.NDArray[Any], found: Contents) -> None:
    low, high = int(values.min()), int(values.max())
    if low < array.least:
        damaged(f"{name!r} holds {low} where all are at least {array.least}")
    if array.below is not None and high >= found.size(array.below):
        damaged(f"{name!r} holds {high} where all are below {found.size(array.below)}")
    if array.parents is not None and (values >= np.arange(values.size) + found.size(array.parents)).any():
        damaged(f"{name!r} has a child before its parent")
    if array.offsets is not None:
        rises = values[0] == 0 and values[-1] == found.size(array.offsets)
        if not rises or (values[1:] < values[:-1]).any():
            damaged(f"{name!r} does not rise from 0 to {found.size(array.offsets):,}")
    if array.total is not None and high > found.size(array.total):  # so that sums cannot wrap around
        damaged(f"{name!r} holds {high}, more than all {found.size(array.total):,} together")
    if array.dtype != PACKED and high > np.iinfo(array.dtype).max:
        damaged(f"{name!r} holds {high}, which is too large")


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
    """What :func:`pack_weights` packed; codes may be unpacked already, as :mod:`epigram.storage.arrays` does it."""
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


def coded(
    values: npt.NDArray[np.float32], ends: list[int], up: bool = False
) -> tuple[Bytes, npt.NDArray[np.float32]]:
    """Codes, and a codebook for each level: of the nearest value, or (``up``) of the next that is not smaller."""
    codes, books = np.empty(values.size, np.uint8), np.zeros((len(ends), CODES), np.float32)
    for level, (first, last) in enumerate(pairwise([0, *ends])):
        numbers = values[first:last]
        if not numbers.size:
            continue
        low = np.unique(numbers[numbers < LOWEST])
        high = codebook(numbers[numbers >= LOWEST].astype(np.float64), CODES - low.size)
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
