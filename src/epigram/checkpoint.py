"""Long work that can go on where it was: it says now and then where it stands, and a later run is told.

A run is a row of pieces of work (the fit of a solver, a clustering), some with pieces inside. The same program on the
same data makes the same pieces in the same order, so a piece is known by its place: ``1.0`` is the first piece inside
the second. On a later run pieces that were done give their result at once, and the one that was at work goes on from
its state, to the same bits. Who does the work says::

    with piece("FISTA") as kept:
        x, number = (kept.state["x"], kept.state["number"]) if kept.state else (start, 0)
        ...
        kept.save({"x": x, "number": number})

Where no :class:`Tape` is kept, this does nothing. A :class:`Checkpoint` keeps one in a file, so that a training can go
on after its process was killed, and ends in the same bits as one that nobody stopped.
"""

from __future__ import annotations

import json
import math
import shutil
import struct
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar, Token
from ctypes import ArgumentError
from dataclasses import dataclass
from functools import wraps
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar, cast

import numpy as np

from epigram.errors import EpigramError, InputError, reason
from epigram.files import parse_json, write_atomically
from epigram.protocols import Result

State = dict[str, Any]
"""Arrays and what JSON can hold, by name."""

T = TypeVar("T")
Solve = TypeVar("Solve", bound=Callable[..., Result])
MAGIC = b"epigram checkpoint 2\n"
"""A file begins so; the CRC-32 of the rest and the length of the JSON header follow, then the header and the arrays."""
SIZES = struct.Struct("<IQ")
KINDS = ("<f8", "<f4", "<i8", "<i4", "|u1", "|b1")
MISFITS = (
    LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, ArgumentError
)  # fmt: skip
DOES_NOT_FIT = "the checkpoint does not fit this training; leave out --resume to start afresh"


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of a piece: its ``state``, its ``result``, or what it ``carries`` while pieces inside it work."""

    kind: str
    what: str
    values: State


class Piece:
    """A piece of work. ``state`` and ``result`` are those of an earlier run, None where there was none.

    ``ended`` is for who watches the work: it ends here by a rule of its own, not because a user asked.
    """

    def __init__(
        self, tape: Tape | None, kind: str, place: str, carry: Callable[[], State] | None = None
    ) -> None:
        self.tape, self.kind, self.place, self.carry = tape, kind, place, carry
        self.begun = 0  # pieces inside since the last state
        self.ended = False

    @property
    def state(self) -> State | None:
        """Where an earlier run was, or what it carried; the arrays may be changed."""
        found = None if self.tape is None else self.tape.entries.get(self.place)
        return None if found is None or found.what == "result" else _copied(found.values)

    @property
    def result(self) -> State | None:
        """What came out in an earlier run."""
        found = None if self.tape is None else self.tape.entries.get(self.place)
        return None if found is None or found.what != "result" else _copied(found.values)

    def is_due(self, over: bool = False, stop: bool = False) -> bool:
        """Whether :meth:`save` would write: for a state that takes work to tell, part of it in ``folder``."""
        tape = self.tape
        if tape is None or tape.frozen or over or self.ended or (stop and not tape.interrupted):
            return False
        return tape.folder is not None and tape.is_due()

    @property
    def folder(self) -> Path:
        """Where parts of a state may be kept that are too large for it; not before :meth:`is_due`."""
        assert self.tape is not None
        assert self.tape.folder is not None
        return self.tape.folder

    def give_up(self, why: str) -> None:
        """A part of the state could not be kept: there will be no more."""
        if self.tape is not None:
            self.tape.give_up(why)

    def save(self, state: State, *, over: bool = False, stop: bool = False, always: bool = False) -> None:
        """Say where the work stands, at the end of a step; it is only kept where it is time to write.

        With ``over`` the work is done and has nothing to go on from. With ``stop`` somebody ended it: a user, and then
        a later run goes on from here, or a rule, and then it is done. A piece with pieces inside takes ``always``.
        """
        tape = self.tape
        if tape is None or tape.frozen or over or self.ended or (stop and not tape.interrupted):
            return
        due = tape.is_due()
        if due or always:
            tape.forget(self.place, inside_only=True)
            self.begun = 0
            tape.put(self, "state", state)
        if due:
            tape.write()
        tape.frozen = stop

    def finish(self, result: State, stopped: bool = False) -> None:
        """The work is done: a later run takes this result, unless a user stopped it before its end."""
        tape = self.tape
        if tape is None or tape.frozen or (stopped and tape.interrupted and not self.ended):
            return
        tape.forget(self.place)
        tape.put(self, "result", result)
        if tape.is_due():
            tape.write()


class Tape:
    """What the pieces of a run have said, kept in memory; who derives from it writes it to somewhere."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.interrupted = False  # a user asked to stop
        self.frozen = False  # what happens from now on is only to end well
        self._open = [Piece(self, "", "")]
        self._tokens: list[Token[Tape | None]] = []

    folder: Path | None = None
    """Beside what is written: for parts of states that are written where they are, on other machines perhaps."""

    def is_due(self) -> bool:
        """Whether it is time to write."""
        return False

    def give_up(self, why: str) -> None:
        """Write no more."""

    def write(self) -> None:
        """Write the entries."""

    def __enter__(self) -> Self:
        self._tokens.append(_tape.set(self))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _tape.reset(self._tokens.pop())

    def begin(self, kind: str, carry: Callable[[], State] | None) -> Piece:
        """The next piece inside the one at work."""
        outer = self._open[-1]
        made = Piece(self, kind, f"{outer.place}.{outer.begun}".lstrip("."), carry)
        outer.begun += 1
        found = self.entries.get(made.place)
        if found is not None and found.kind != kind:
            raise InputError(f"saved by another training ({found.kind}, here {kind}); leave out --resume")
        self._open.append(made)
        return made

    def end(self, piece: Piece) -> None:
        """A piece is left."""
        self._open.remove(piece)

    def put(self, piece: Piece, what: str, values: State) -> None:
        """Note something of a piece, and with it what the pieces around it carry."""
        for outer in self._open:
            if outer is not piece and outer.carry is not None and piece.place.startswith(f"{outer.place}."):
                self.entries[outer.place] = Entry(outer.kind, "carried", outer.carry())
        self.entries[piece.place] = Entry(piece.kind, what, values)

    def forget(self, place: str, inside_only: bool = False) -> None:
        """Drop what was noted of a piece and those inside."""
        if not inside_only:
            self.entries.pop(place, None)
        for inner in [name for name in self.entries if name.startswith(f"{place}.")]:
            del self.entries[inner]


_tape: ContextVar[Tape | None] = ContextVar("tape", default=None)


@contextmanager
def piece(kind: str, carry: Callable[[], State] | None = None) -> Iterator[Piece]:
    """Begin a piece of work; ``carry`` is asked for what belongs to the states of pieces inside it.

    Examples
    --------
    >>> def count(tape, last):
    ...     with tape, piece("count") as kept:
    ...         at = kept.state["at"] if kept.state else 0
    ...         while at < last:
    ...             at += 1
    ...             kept.save({"at": at}, always=True)
    ...     return at
    >>> tape = Tape()
    >>> later = Tape()
    >>> count(tape, 3)
    3
    >>> later.entries.update(tape.entries)
    >>> later.entries["0"].values, count(later, 5)
    ({'at': 3}, 5)
    """
    tape = _tape.get()
    if tape is None or tape.frozen:
        yield Piece(None, kind, "")
        return
    made = tape.begin(kind, carry)
    try:
        yield made
    except BaseException:
        if not tape.frozen:
            tape.forget(made.place)
        raise
    finally:
        tape.end(made)


def here() -> Piece:
    """The piece at work."""
    tape = _tape.get()
    return Piece(None, "", "") if tape is None or tape.frozen else tape._open[-1]


def resumable(solve: Solve) -> Solve:
    """Make each call of a solver's ``solve`` a piece of work, which finds itself by :func:`here`."""

    @wraps(solve)
    def resumed(self: object, loss: Any, *rest: Any, **options: Any) -> Result:
        n = getattr(loss, "n_weights", 0)
        with piece(f"{type(self).__name__} of {n} weights") as kept:
            if kept.result is not None:
                return restored_result(kept.result, n)
            check_vectors(kept.state or {}, n)
            check_counts(kept.state or {})
            result = solve(self, loss, *rest, **options)
            names = ("w", "objective", "iterations", "reason", "optimality")
            kept.finish({name: getattr(result, name) for name in names}, result.reason == "callback")
            return result

    return cast(Solve, resumed)


def noted(kind: str, value: Callable[[], T]) -> T:
    """A value that another run would not find again, such as a time: a later run is given the same.

    Examples
    --------
    >>> with Tape() as tape:
    ...     first = noted("seconds", lambda: 7.5)
    >>> with Tape() as later:
    ...     later.entries.update(tape.entries)
    ...     noted("seconds", lambda: 0.1)
    7.5
    """
    with piece(kind) as kept:
        if kept.result is not None:
            return cast(T, kept.result["value"])
        found = value()
        kept.finish({"value": found})
        return found


def restored_result(values: State, n: int) -> Result:
    """Return the result of a solver that an earlier run noted, for ``n`` weights."""
    check_vectors(values, n)
    result = Result(**values)
    wanted = ((result.objective, float), (result.iterations, int), (result.reason, str))
    if not all(isinstance(value, kind) for value, kind in wanted) or not isinstance(
        result.optimality, float | None
    ):
        raise InputError(DOES_NOT_FIT)
    return result


def check_counts(values: State) -> None:
    """Refuse a state with a negative count of iterations or samples."""
    for value in values.values():
        for count in value if isinstance(value, list) else [value]:
            if isinstance(count, int) and count < 0:
                raise InputError(DOES_NOT_FIT)


def check_steps(scale: float, momentum: float) -> None:
    """Refuse numbers of an accelerated descent whose search for a step size would never end."""
    if not (0.0 < scale < 1e300 and 1.0 <= momentum < 1e300):
        raise InputError(DOES_NOT_FIT)


def check_vectors(values: State, n: int) -> None:
    """Refuse a state whose vectors are not ``n`` finite numbers each, tables apart: C takes their lengths on trust."""
    for name, value in values.items():
        if isinstance(value, np.ndarray) and not (
            value.dtype.kind == "f"
            and np.isfinite(value).all()
            and (
                value.ndim > 1
                or name.startswith("changed")
                or (value.shape, value.dtype) == ((n,), np.float64)
            )
        ):
            raise InputError(DOES_NOT_FIT)


def check_offsets(ptr: Any, total: int) -> None:
    """Refuse offsets into ``total`` values that do not begin at 0, rise and end there."""
    if not (ptr.dtype == np.int64 and ptr.ndim == 1 and ptr.size and ptr[0] == 0 and ptr[-1] == total):
        raise InputError(DOES_NOT_FIT)
    if (np.diff(ptr) < 0).any():
        raise InputError(DOES_NOT_FIT)


def check_ids(ids: Any, n: int) -> None:
    """Refuse integers that are not 0 to n - 1."""
    if not (ids.dtype.kind == "i" and ids.ndim == 1) or (ids.size and not 0 <= ids.min() <= ids.max() < n):
        raise InputError(DOES_NOT_FIT)


def restored_rng(rng: np.random.Generator, state: Mapping[str, Any]) -> np.random.Generator:
    """A generator that goes on where the one with this ``bit_generator.state`` was."""
    rng.bit_generator.state = state
    return rng


def _copied(values: State) -> State:
    return {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in values.items()}


class Checkpoint(Tape):
    """While it is entered, whatever is fitted in this thread keeps where it stands in a file.

    Parameters
    ----------
    path : the file; replaced whole or not at all.
    subject : what is trained on and how, or a function that tells; a file of another subject is refused.
    every : seconds between two saves; the first is made so long after the start. Infinity for never.
    resume : go on from the file, where there is one.
    complain : told why the file cannot be written, instead of an error: training goes on without.

    Examples
    --------
    >>> import tempfile
    >>> from epigram import CRFTagger, OWLQN
    >>> X, y = [[["w=the"], ["w=dog"]], [["w=a"], ["w=cat"]]], [["DT", "NN"], ["DT", "NN"]]
    >>> def fit(last, **options):
    ...     with Checkpoint(path, "two sentences", **options):
    ...         return CRFTagger(l1=0.01, solver=OWLQN(max_iterations=last)).fit(X, y)
    >>> path = Path(tempfile.mkdtemp()) / "checkpoint"
    >>> started = fit(5, every=0.0)
    >>> resumed = fit(20, resume=True)  # takes the 5 iterations that were done
    >>> len(resumed.history_)
    5
    """

    def __init__(
        self,
        path: str | PathLike[str],
        subject: str | Callable[[], str] = "",
        every: float = 60.0,
        resume: bool = False,
        complain: Callable[[str], object] | None = None,
    ) -> None:
        super().__init__()
        self.path, self.subject, self.every, self.resume = Path(path), subject, every, resume
        self.folder = self.path.with_name(f"{self.path.name}.parts")
        self.complain = complain
        self._last = time.monotonic()
        self._resumed = False

    def __enter__(self) -> Self:
        if self.resume and not self._tokens and self.path.exists():
            self.entries, self.resume, self._resumed = self._read(), False, True
        return super().__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        super().__exit__(kind, error, traceback)
        if self._resumed and isinstance(error, MISFITS) and not isinstance(error, EpigramError):
            raise InputError(f"{DOES_NOT_FIT} ({error})", path=self.path) from error

    def is_due(self) -> bool:
        """Whether ``every`` seconds are over, or somebody asked to stop."""
        waited = time.monotonic() - self._last
        return waited >= self.every or (self.interrupted and self.every < math.inf)

    def write(self) -> None:
        """Replace the file."""
        if self.path.is_file() and not _is_ours(self.path):
            self.give_up(f"{self.path}: not a checkpoint, so it is left as it is")
            return
        arrays: dict[str, Any] = {}
        entries = {}
        for place, entry in self.entries.items():
            plain = {}
            for name, value in entry.values.items():
                if isinstance(value, np.ndarray):
                    arrays[f"{place} {name}"] = value
                else:
                    plain[name] = value
            entries[place] = [entry.kind, entry.what, plain]
        places = {name: [array.dtype.str, array.shape] for name, array in arrays.items()}
        header = json.dumps({"subject": self._subject(), "entries": entries, "arrays": places}).encode()
        rest = b"".join([header, *(array.tobytes() for array in arrays.values())])
        sizes = SIZES.pack(_sum_of(len(header), rest), len(header))
        try:
            write_atomically(self.path, MAGIC + sizes + rest)
        except InputError as error:
            if self.complain is None:
                raise
            self.give_up(str(error))
        self._last = time.monotonic()

    def give_up(self, why: str) -> None:
        """Write no more, and say so."""
        if self.complain is None:
            raise InputError(why)
        self.complain(f"{why}; training goes on without a checkpoint")
        self.every = math.inf

    def remove(self) -> None:
        """The training is done."""
        if _is_ours(self.path):
            self.path.unlink()
        folder = self.path.with_name(f"{self.path.name}.parts")
        if folder.is_dir():
            for one in folder.iterdir():
                if one.name.isdecimal():  # states of shards
                    shutil.rmtree(one, ignore_errors=True)
            with suppress(OSError):  # something else is there
                folder.rmdir()

    def _subject(self) -> str:
        if not isinstance(self.subject, str):
            self.subject = self.subject()
        return self.subject

    def _read(self) -> dict[str, Entry]:
        """Read the file: checksum first, then whose it is, then the shapes of its arrays."""
        start = len(MAGIC) + SIZES.size
        try:
            content = memoryview(self.path.read_bytes())
            if content[: len(MAGIC)] != MAGIC or len(content) < start:
                raise ValueError("it begins otherwise, or is of another version")
            crc, length = SIZES.unpack(content[len(MAGIC) : start])
            if crc != _sum_of(length, content[start:]):
                raise ValueError("its checksum is wrong")
            header = parse_json(str(content[start : start + length], "utf-8"))
            if header["subject"] != self._subject():
                raise InputError(
                    "saved by a training of other data, settings or version; leave out --resume to start afresh",
                    path=self.path,
                )
            entries = {
                str(place): Entry(str(kind), str(what), dict(values))
                for place, (kind, what, values) in header["entries"].items()
            }
            for key, array in _arrays(content[start + length :], header["arrays"]):
                place, _, name = key.partition(" ")
                entries[place].values[name] = array
        except InputError as error:
            if error.path is not None:
                raise
            why = str(error)
        except (*MISFITS, MemoryError) as error:
            why = str(error)
        except OSError as error:
            why = reason(error)
        else:
            return entries
        raise InputError(f"not a checkpoint, or corrupt ({why}); remove it to start afresh", path=self.path)


def _arrays(content: memoryview, places: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Cut bytes into arrays of these kinds and shapes, which must be as many as there are."""
    at = 0
    for name, (kind, shape) in places.items():
        if kind not in KINDS or not all(isinstance(size, int) and size >= 0 for size in shape):
            raise ValueError(f"{name!r} has a kind or shape that no checkpoint has")
        n_bytes = math.prod(shape) * np.dtype(kind).itemsize
        if n_bytes > len(content) - at or (not n_bytes and any(shape[:1])):
            raise ValueError(f"{name!r} has more numbers than there are bytes")
        yield name, np.frombuffer(content[at : at + n_bytes], kind).reshape(shape).copy()
        at += n_bytes
    if at != len(content):
        raise ValueError("there are bytes after the last array")


def _sum_of(length: int, rest: bytes | memoryview) -> int:
    return zlib.crc32(rest, zlib.crc32(length.to_bytes(8, "little")))


def _is_ours(path: Path) -> bool:
    """Whether a file is a checkpoint, and not one of the user's that has its name."""
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False
