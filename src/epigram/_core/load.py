"""Loads the compiled core and declares its functions and structures to ctypes."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

from epigram.errors import EpigramError

HERE = Path(__file__).parent
ENDINGS = ("so", "dylib", "dll")
TYPES: dict[str, Any] = {
    "void": None,
    "*": ctypes.c_void_p,
    "char": ctypes.c_char_p,
    "f64": ctypes.c_double,
    "f32": ctypes.c_float,
    "i64": ctypes.c_int64,
    "i32": ctypes.c_int32,
    "i16": ctypes.c_int16,
    "u64": ctypes.c_uint64,
    "u32": ctypes.c_uint32,
    "u16": ctypes.c_uint16,
    "u8": ctypes.c_uint8,
}


@cache
def library(digest: int) -> ctypes.CDLL:
    """Load the build for the newest instructions of this CPU, compiled from these headers."""
    found = [path for ending in ENDINGS for path in sorted(HERE.glob(f"epigram.*.{ending}"))]
    built = {path.name.split(".", 1)[1].rsplit(".", 1)[0]: path for path in found}
    if not built:
        raise EpigramError(
            f"the compiled core is missing in {HERE}; install epigram again (in a checkout: make core)"
        )
    first = ctypes.CDLL(str(built[min(built)]))
    newest = f"x86-64-v{first.cpu_level()}"
    chosen = ctypes.CDLL(str(built[newest])) if newest in built else first
    if not hasattr(chosen, "headers_digest") or chosen.headers_digest() & 0xFFFFFFFF != digest:
        raise EpigramError(
            f"the compiled core in {HERE} is of another version; install epigram again (in a checkout: make core)"
        )
    return chosen


def declare(function: Any, result: str, arguments: str) -> None:
    """Set the types of a C function: names of :data:`TYPES`."""
    function.restype = TYPES[result]
    function.argtypes = [TYPES[kind] for kind in arguments.split()]


def layout(name: str, fields: str) -> type[ctypes.Structure]:
    """Make the ctypes class of a C structure from ``field:type`` pairs."""
    pairs = (field.split(":") for field in fields.split())
    return type(name, (ctypes.Structure,), {"_fields_": [(field, TYPES[kind]) for field, kind in pairs]})


class Structure:
    """Base of the generated structures, which hold checked arrays and keep them alive."""

    __slots__ = ("_arrays", "_at", "_c")

    def keep(self, c: ctypes.Structure, arrays: list[Any]) -> None:
        """Take the C structure and the arrays that it points to."""
        self._c, self._arrays, self._at = c, arrays, ctypes.addressof(c)

    def get(self, field: str) -> Any:
        """Return a number of the structure, which C may have changed."""
        return getattr(self._c, field)
