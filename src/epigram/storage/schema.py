"""Declarative checks of the header and the arrays of a model file.

A family declares a :class:`Schema`; :meth:`Schema.read` checks a file against it before anything uses the file, in time
and memory linear in its size. C code may index with what comes back without further checks.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from epigram.errors import ModelFileError
from epigram.storage.file import ModelFile
from epigram.storage.quantise import sum_groups


@dataclass(frozen=True)
class Array:
    """One array: the type in which it is read, and what must be true of it.

    Parameters
    ----------
    dtype : a type of numpy; a file may hold another size of the same kind, values are checked first.
    shape : a number, or the name of a size, per axis; arrays of one name must agree. ``a+b``, ``a+1`` are sums.
    least : of integers.
    below : all numbers are below it: a number, or the name of a size.
    total : the size that the numbers must add up to.
    offsets : the numbers begin with 0, never fall, and end with this size.
    steps : each number is stored as its difference from the one before; they are added up. ``per_parent`` and
        ``per_count`` name the array that says where the sums begin anew: equal parents, or a number for each group.
    parents : number k is below ``k`` and this size: parents come before their children.
    infinite : ``"-"`` where minus infinity is allowed, ``"any"`` where NaN and infinity are.
    most : the largest size of a float, infinity aside, so that sums and exponentials of them are numbers.
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
    most: float = 1e30
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
    epigram.errors.ModelFileError: corrupt file: 'ids' holds 1 where all are below 1
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
        for name, array in self.arrays.items():
            if shapes[name] is not None:
                stored = tensors.get(prefix + name, np.empty(shapes[name] or 0, array.dtype))
                found[name] = _read(prefix + name, array, stored, found)
        return found


SETTINGS: dict[str, tuple[Any, float, float]] = {
    "threads": (int, 1, 4096),
    "beam": (int, 1, 4096),
    "order": (int, 0, 2.0**20),
    "random_state": ((int, None, str), 0, 2.0**63),
    "l1": ((float, str), 0, 1e30),
    "l2": (float, 0, 1e30),
    "tolerance": (float, 1e-300, 1 - 1e-9),
    "held_out": (float, 0, 1e18),
    "nonnegative": (bool, 0, 1),
    "template": ((str, None), 0, 0),
    "samples": (int, 1, 2.0**62),
    **dict.fromkeys(("features", "sentences", "words"), (int, 0, 2.0**62)),
    **dict.fromkeys(
        ("min_count", "patience", "max_weights", "max_words", "max_iterations"), ((int, None), 0, 2.0**62)
    ),
}
"""Types and bounds of settings and figures of the fit that training goes on with (``partial_fit``)."""


def check_settings(header: Mapping[str, Any]) -> None:
    """Refuse a header whose ``settings`` or ``fit`` hold what nobody could have asked for.

    A random state that is a text stood for a generator, which a file does not hold: it becomes None.
    """
    _check_values(header["settings"])
    _check_values(header.get("fit", {}))


def _check_values(values: dict[str, Any]) -> None:
    if isinstance(values.get("random_state"), str):
        values["random_state"] = None
    if isinstance(values.get("l1"), str) and values["l1"] != "auto":
        damaged(f"'l1' cannot be {values['l1']!r}")
    for name, value in values.items():
        if name in SETTINGS:
            kind, least, most = SETTINGS[name]
            _check_field(repr(name), kind, value)
            if isinstance(value, int | float) and not least <= value <= most:
                damaged(f"{name!r} cannot be {value}")
        elif isinstance(value, dict):  # the settings of a solver or a penalty
            _check_values(value)
        if isinstance(value, int) and abs(value) >= 2**63:
            damaged(f"{name!r} is too large a number")


def strings(prefix: str, size: str) -> dict[str, Array]:
    """The two arrays of packed strings, of which there are ``size``."""
    return {
        f"{prefix}.bytes": Array(np.uint8, (f"{prefix}.bytes",)),
        f"{prefix}.lengths": Array(np.int64, (size,), total=f"{prefix}.bytes"),
    }


def weights(size: str, prefix: str = "", **must: Any) -> dict[str, Array]:
    """The arrays that :func:`~epigram.storage.quantise.pack_weights` makes of ``size`` numbers."""
    book = f"{prefix}codebook"
    return {
        f"{prefix}weights": Array(np.float32, (size,), **must, optional=True),
        f"{prefix}codes": Array(np.int64, (size,), below=book, optional=True),
        book: Array(np.float32, (book,), **must, optional=True),
    }


def damaged(what: str) -> NoReturn:
    """Refuse a model file."""
    raise ModelFileError(f"corrupt file: {what}")


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
    if kind is float:
        return isinstance(found, int | float) and abs(found) <= sys.float_info.max
    return isinstance(found, kind)


def _wrong(name: str, found: Any) -> NoReturn:
    damaged(f"{name} cannot be {str(found)[:40]!r}")


def _shape(name: str, array: Array, tensors: Mapping[str, npt.NDArray[Any]]) -> tuple[int, ...] | None:
    """The shape of a stored array whose type is right; None for one that is absent and may be."""
    if name not in tensors:
        empty = (size if isinstance(size, int) else 0 for size in array.shape[1:])
        return None if array.optional else (0, *empty)
    stored, wanted = tensors[name], np.dtype(array.dtype)
    kinds = "f" if wanted.kind == "f" else "iu"
    if stored.dtype.kind not in kinds or (wanted == np.uint8 != stored.dtype):
        damaged(f"{name!r} holds {stored.dtype}, not {wanted}")
    return stored.shape


def _read(name: str, array: Array, stored: npt.NDArray[Any], found: Contents) -> npt.NDArray[Any]:
    values = stored
    if array.per_parent is not None:
        starts = np.flatnonzero(np.diff(found[array.per_parent], prepend=-1))
        values = sum_groups(values, np.diff(starts, append=values.size))
    elif array.per_count is not None:
        counts = found[array.per_count]
        values = sum_groups(values, counts[counts > 0])
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
    return np.ascontiguousarray(values, array.dtype)


def _check_floats(name: str, array: Array, values: npt.NDArray[Any]) -> None:
    if array.infinite == "any":
        return
    low, high = values.min(), values.max()  # NaN where one is
    if low == -np.inf and array.infinite:
        low = values.min(where=values > -np.inf, initial=0.0)
    if not (-np.inf < low and high < np.inf):
        damaged(f"{name!r} holds a number that is not finite")
    if isinstance(array.below, float) and high >= array.below:
        damaged(f"{name!r} holds {high:g}, which is too large")
    if not -array.most <= low <= high <= array.most:
        damaged(f"{name!r} holds {high if high > array.most else low:g}, which is beyond {array.most:g}")


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
    if high > np.iinfo(array.dtype).max:
        damaged(f"{name!r} holds {high}, which is too large")
