"""Checks of the arrays that Python hands to C: type, memory layout and length."""

from __future__ import annotations

import ctypes
from typing import Any, NoReturn

import numpy as np

f64, f32 = np.dtype(np.float64), np.dtype(np.float32)
i64, i32, i16 = np.dtype(np.int64), np.dtype(np.int32), np.dtype(np.int16)
u64, u32, u16, u8 = np.dtype(np.uint64), np.dtype(np.uint32), np.dtype(np.uint16), np.dtype(np.uint8)


def address(array: Any, dtype: np.dtype[Any], written: bool, what: str) -> int:
    """Return the address of the elements of a contiguous array of the given type."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{what} must be an array of {dtype}, not {type(array).__name__}")
    kind = array.dtype
    if kind is not dtype and kind != dtype and not (dtype == np.uint8 and kind == np.bool_):
        raise TypeError(f"{what} must be {dtype}, not {kind}")
    flags = array.flags
    if not flags.c_contiguous or (written and not flags.writeable):
        raise TypeError(f"{what} must be contiguous{' and writeable' if written else ''}")
    if flags.writeable and array.size:  # five times as fast as array.ctypes
        return ctypes.addressof(ctypes.c_char.from_buffer(array.data))
    return int(array.ctypes.data)


def disagree(what: str, **sizes: int) -> NoReturn:
    """Raise because arrays that share a length have different ones."""
    found = ", ".join(f"{name} has {size}" for name, size in sizes.items())
    raise TypeError(f"{what} do not agree on their length: {found} elements")


def negative(what: str, **sizes: int) -> NoReturn:
    """Raise because one of the sizes is below zero."""
    name, size = next((name, size) for name, size in sizes.items() if size < 0)
    raise TypeError(f"{what}: {name} must not be negative, but is {size}")


def short(what: str, size: int, least: int) -> NoReturn:
    """Raise because an array has fewer elements than C will use."""
    raise TypeError(f"{what} has {size} elements where {least} are needed")


def misfit(given: object, wanted: type) -> NoReturn:
    """Raise because an argument is no structure of the wanted class."""
    raise TypeError(f"expected {wanted.__name__}, not {type(given).__name__}")
