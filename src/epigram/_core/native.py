"""The one door to the inner loops in C: reads the headers, checks what Python hands over, and calls.

A header is the contract of its family. From ``f64 vectors_dot(i64 n, const f64 x[n], const f64 y[n]);`` in
``vectors.h`` comes ``family("vectors").dot(n, x, y)``, which raises TypeError unless x and y are contiguous float64
arrays of at least n numbers and n is not negative, and releases the GIL while C runs. From a
``typedef struct { ... } Name;`` comes ``family("vectors").Name(...)``, checked when it is made; it keeps its arrays
alive, and ``const Name *`` in a prototype takes it, also in headers that include ``vectors.h``. Booleans go over as
``u8``, integers and floats as themselves. :class:`Parts` shares the columns of long vectors out among
threads; :func:`offsets` says where blocks laid end to end begin.
"""

from __future__ import annotations

import ctypes
import re
import zlib
from collections import deque
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Any, Self, TypeVar

import numpy as np

from epigram.errors import EpigramError
from epigram.protocols import Floats, Ints, Offsets

HERE = Path(__file__).parent
ENDINGS = ("so", "dylib", "dll")
SCALARS: dict[str, Any] = {
    "void": None,
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
DTYPES: dict[str, np.dtype[Any]] = {
    "f64": np.dtype(np.float64),
    "f32": np.dtype(np.float32),
    "i64": np.dtype(np.int64),
    "i32": np.dtype(np.int32),
    "i16": np.dtype(np.int16),
    "u64": np.dtype(np.uint64),
    "u32": np.dtype(np.uint32),
    "u16": np.dtype(np.uint16),
    "u8": np.dtype(np.uint8),
}
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_INCLUDE = re.compile(r'^#include "(\w+)\.h"$', re.MULTILINE)
_STRUCT = re.compile(r"typedef struct \{(.*?)\} (\w+);", re.DOTALL)
_FUNCTION = re.compile(r"^(\w+) (\w+)\(([^)]*)\);", re.MULTILINE)
_ARGUMENT = re.compile(r"(const )?(\w+) (\*)?(\w+)(?:\[(.*)\])?$")
_FIELD = re.compile(r"(const )?(\w+) (\*)?(\w+);(?:\s*/\* \[(.*?)\] \*/)?")
S = TypeVar("S")
T = TypeVar("T")
FEW = 1 << 14  # columns that one thread is through with before another one has begun


class Family:
    """Functions and structures of one header, made when they are first asked for."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._text = (HERE / f"{name}.h").read_text("utf-8")
        self._structs = {found[1]: found[0] for found in _STRUCT.findall(self._text)}
        self._included = [family(header) for header in _INCLUDE.findall(self._text)]
        plain = _COMMENT.sub("", self._text)
        self._functions = {found[1]: found for found in _FUNCTION.findall(plain)}
        self._lock = RLock()

    def functions(self) -> list[str]:
        """The C names of all functions."""
        return list(self._functions)

    def structures(self) -> list[str]:
        """The names of all structures."""
        return list(self._structs)

    def structure(self, name: str) -> Any:
        """The class of a structure that this header or one that it includes has; None if there is none."""
        if name in self._structs:
            return getattr(self, name)
        found = (header.structure(name) for header in self._included)
        return next((structure for structure in found if structure is not None), None)

    def __getattr__(self, name: str) -> Any:
        with self._lock:  # threads that ask at once get the same one
            if name not in self.__dict__:
                setattr(self, name, self._make(name))
            return self.__dict__[name]

    def _make(self, name: str) -> Any:
        if f"{self._name}_{name}" in self._functions:
            return _function(self, *self._functions[f"{self._name}_{name}"])
        if name in self._structs:
            return _structure(name, self._structs[name])
        raise AttributeError(f"{self._name}.h has no {name}")


_FAMILIES: dict[str, Family] = {}


def family(name: str) -> Family:
    """The functions and structures that ``name``.h lists."""
    return _FAMILIES.get(name) or _FAMILIES.setdefault(name, Family(name))


@cache
def library() -> ctypes.CDLL:
    """The compiled core: of several builds, the one for the newest instructions that this CPU has."""
    built = {path.name.split(".", 1)[1].rsplit(".", 1)[0]: path for path in _built()}
    if not built:
        raise EpigramError(
            f"the compiled core is missing in {HERE}; install epigram again (in a checkout: make core)"
        )
    if _compiled_from() != _headers_digest():
        raise EpigramError(
            f"the compiled core in {HERE} is of another version; install epigram again (in a checkout: make core)"
        )
    first = ctypes.CDLL(str(built[min(built)]))
    newest = f"x86-64-v{first.cpu_level()}"
    return ctypes.CDLL(str(built[newest])) if newest in built else first


def _compiled_from() -> str:
    """The digest of the headers that the libraries were compiled from; hatch_build.py writes it."""
    note = HERE / "epigram.headers"
    return note.read_text("utf-8") if note.exists() else ""


def _headers_digest() -> str:
    return f"{zlib.crc32(b''.join(path.read_bytes() for path in sorted(HERE.glob('*.h')))):08x}"


def _built() -> list[Path]:
    return [path for ending in ENDINGS for path in sorted(HERE.glob(f"epigram.*.{ending}"))]


def address(array: Any, dtype: np.dtype[Any], written: bool, least: int, what: str) -> int:
    """Where the numbers of a checked array are."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{what} must be an array of {dtype}, not {type(array).__name__}")
    kind = array.dtype
    if kind is not dtype and kind != dtype and not (dtype == np.uint8 and kind == np.bool_):
        raise TypeError(f"{what} must be {dtype}, not {kind}")
    flags = array.flags
    if not flags.c_contiguous or (written and not flags.writeable):
        raise TypeError(f"{what} must be contiguous{' and writeable' if written else ''}")
    if array.size < least:
        raise TypeError(f"{what} has {array.size} elements where {least} are needed")
    if flags.writeable and array.size:  # five times as fast as array.ctypes
        return ctypes.addressof(ctypes.c_char.from_buffer(array.data))
    return int(array.ctypes.data)


def _sizes(names: list[str], lengths: list[str]) -> list[str]:
    """The integers that lengths of arrays are made of."""
    used = {word for length in lengths for word in re.findall(r"[A-Za-z_]\w*", length)}
    return [name for name in names if name in used]


def refuse_negative(what: str, **sizes: int) -> None:
    """Raise because one of the sizes is below zero."""
    name, size = next((name, size) for name, size in sizes.items() if size < 0)
    raise TypeError(f"{what}: {name} must not be negative, but is {size}")


def _function(home: Family, result: str, name: str, arguments: str) -> Any:
    """A Python function that checks its arguments as the prototype says, then calls C."""
    c_function = getattr(library(), name)
    c_function.restype = SCALARS[result]
    types, names, passed, lengths = [], [], [], []
    space: dict[str, Any] = {"c_function": c_function, "address": address, "refuse_negative": refuse_negative}
    for k, text in enumerate(part.strip() for part in arguments.split(",") if part.strip() != "void"):
        found = _ARGUMENT.match(" ".join(text.split()))
        if found is None:
            raise EpigramError(f"{home._name}.h: cannot read the argument {text!r} of {name}")
        const, kind, star, argument, length = found.groups()
        names.append(argument)
        structure = home.structure(kind)
        if structure is not None:
            space[f"struct_{k}"] = structure
            passed.append(f"{argument}.address_as(struct_{k})")
            types.append(ctypes.c_void_p)
        elif star or length is not None:
            space[f"dtype_{k}"] = DTYPES[kind]
            what = f"{name}: {argument}"
            passed.append(f"address({argument}, dtype_{k}, {not const}, {length or 0}, {what!r})")
            lengths.append(length or "")
            types.append(ctypes.c_void_p)
        else:
            passed.append(argument)
            types.append(SCALARS[kind])
    c_function.argtypes = types
    sizes = _sizes(names, lengths)
    named = ", ".join(f"{size}={size}" for size in sizes)
    check = (
        f" if {' or '.join(f'{size} < 0' for size in sizes)}: refuse_negative({name!r}, {named})\n"
        if sizes
        else ""
    )
    exec(f"def {name}({', '.join(names)}):\n{check} return c_function({', '.join(passed)})", space)
    return space[name]


class _Structure:
    """What structures have in common."""

    __slots__ = ("_arrays", "_c")
    _c: Any

    def address_as(self, wanted: type) -> int:
        if type(self) is not wanted:
            raise TypeError(f"expected {wanted.__name__}, not {type(self).__name__}")
        return ctypes.addressof(self._c)


def _structure(name: str, body: str) -> type:
    """A class whose instances are C structures with checked arrays, which they keep alive."""
    fields = list(_FIELD.findall(body))
    names = [field for *_, field, _ in fields]
    sizes = _sizes(names, [length for *_, length in fields])
    layout = type(
        name,
        (ctypes.Structure,),
        {
            "_fields_": [
                (field, ctypes.c_void_p if star else SCALARS[kind]) for _, kind, star, field, _ in fields
            ]
        },
    )
    expected = getattr(library(), f"sizeof_{name}")()
    if ctypes.sizeof(layout) != expected:
        raise EpigramError(
            f"{name} has {expected} bytes in C and {ctypes.sizeof(layout)} here; install epigram again"
        )

    space: dict[str, Any] = {"_layout": layout, "_address": address, "_refuse_negative": refuse_negative}
    checks, sets, arrays = [], [], []
    for k, (const, kind, star, field, length) in enumerate(fields):
        value = field
        if star:
            space[f"_dtype_{k}"] = DTYPES[kind]
            value = f"_address({field}, _dtype_{k}, {not const}, {length or 0}, {f'{name}.{field}'!r})"
            arrays.append(field)
        elif kind[0] != "f":
            checks.append(f"{field} = int({field})")
        sets.append(value)
    if sizes:
        named = ", ".join(f"{size}={size}" for size in sizes)
        test = " or ".join(f"{size} < 0" for size in sizes)
        checks.append(f"if {test}: _refuse_negative({name!r}, {named})")
    lines = [*checks, f"self._c = _layout({', '.join(sets)})", f"self._arrays = [{', '.join(arrays)}]"]
    exec(f"def __init__(self, {', '.join(names)}):\n " + "\n ".join(lines), space)

    space["__init__"].__qualname__ = name
    return type(name, (_Structure,), {"__slots__": (), "__init__": space["__init__"]})


def dot(x: Floats | Ints, y: Floats) -> float:
    """Sum of x times y, on this thread. BLAS would wake threads that then wait by spinning, in the way of ours.

    Examples
    --------
    >>> dot(np.array([1, 2]), np.array([0.5, 1.0]))
    2.5
    """
    return float(np.einsum("i,i", x, y))


class Team:
    """Threads that share out tasks. The one that asks works along: it need not wake another and wait for it.

    Examples
    --------
    >>> with Team(2) as team:
    ...     team.run(abs, [-1, -2, -3])
    [1, 2, 3]
    """

    def __init__(self, threads: int) -> None:
        self._others, self._pool = threads - 1, None
        if self._others > 0:
            from concurrent.futures import ThreadPoolExecutor  # not cheap to import

            self._pool = ThreadPoolExecutor(self._others)

    def run(self, work: Callable[[S], T], tasks: Sequence[S]) -> list[T]:
        """Results of the work on all tasks, in their order; C lets go of the interpreter meanwhile."""
        if self._pool is None or len(tasks) < 2:
            return list(map(work, tasks))
        results: dict[int, T] = {}
        waiting = deque(enumerate(tasks))

        def labour() -> None:
            while waiting:
                try:
                    k, task = waiting.popleft()
                except IndexError:  # another thread was faster
                    return
                results[k] = work(task)

        others = [self._pool.submit(labour) for _ in range(min(self._others, len(tasks) - 1))]
        try:
            labour()
        finally:
            failures = [other.exception() for other in others if not other.cancel()]
        for failure in failures:
            if failure is not None:
                raise failure
        return [results[k] for k in range(len(tasks))]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool:
            self._pool.shutdown()


class Parts(Team):
    """The columns of vectors, shared out among threads. Same number of threads, same parts.

    Examples
    --------
    >>> x = np.arange(4.0)
    >>> with Parts(x.size, threads=1) as parts:
    ...     parts.each(lambda part: float(x[part].sum()))
    [6.0]
    """

    def __init__(self, n: int, threads: int = 1) -> None:
        bounds = np.linspace(0, n, (threads if n >= FEW else 1) + 1).astype(int).tolist()
        self._slices = [slice(a, b) for a, b in pairwise(bounds)]
        super().__init__(threads)

    def each(self, work: Callable[[slice], T]) -> list[T]:
        """Results of the work on each part, in their order."""
        return self.run(work, self._slices)

    def sums(self, size: int, work: Callable[[slice, Floats], object]) -> Floats:
        """Numbers that the work writes for each part, added up."""

        def run(part: slice) -> Floats:
            out = np.zeros(size)
            work(part, out)
            return out

        return np.asarray(sum(self.each(run)))


def offsets(counts: Any) -> Offsets:
    """Where each of a row of blocks starts, and where the last ends.

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
    """Offsets of the chosen rows laid end to end, and the index of each of their entries in the original.

    Examples
    --------
    >>> gather(np.array([0, 2, 3]), np.array([1, 0]))
    (array([0, 1, 3]), array([2, 0, 1]))
    """
    starts, ends = ptr[rows], ptr[rows + 1]
    return offsets(ends - starts), ranges(starts, ends)
