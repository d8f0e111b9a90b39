"""Checkpoints: a training saves its state, so that a later run can resume it.

A resumed run ends in the same bits. A run is a sequence of tasks (the fit of a solver, a clustering), some with tasks
inside. The same program on the same data runs the same tasks in the same order, so a task is identified by its
position: ``1.0`` is the first task inside the second. A resumed run takes the results of finished tasks from the file
and resumes the unfinished one from its last state. A task is written as::

    with piece("FISTA") as kept:
        x, number = (kept.state["x"], kept.state["number"]) if kept.state else (start, 0)
        ...
        kept.save({"x": x, "number": number})

Without a :class:`Tape` this does nothing. A :class:`Checkpoint` keeps one in a file.
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
from typing import Any, Self, TypeVar, cast

import numpy as np

from epigram.errors import EpigramError, InputError, reason
from epigram.files import parse_json, write_atomically
from epigram.protocols import Result

State = dict[str, Any]
"""Arrays and JSON values, by name."""

T = TypeVar("T")
Solve = TypeVar("Solve", bound=Callable[..., Result])
MAGIC = b"epigram checkpoint 2\n"
"""First bytes of a file; then come the CRC-32 of the rest, the length of the JSON header, the header and the arrays."""
SIZES = struct.Struct("<IQ")
KINDS = ("<f8", "<f4", "<i8", "<i4", "|u1", "|b1")
MISFITS = (
    LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, ArgumentError
)  # fmt: skip
DOES_NOT_FIT = "the checkpoint does not fit this training; leave out --resume to start afresh"


@dataclass(frozen=True, slots=True)
class SavedValues:
    """Saved values of a task: ``state``, ``result``, or ``carried`` while tasks inside run."""

    kind: str
    what: str
    values: State


class Task:
    """A resumable task; ``state`` and ``result`` are those of an earlier run, or None.

    ``ended`` is set by a callback that stops the task by a rule (early stopping): there is nothing to resume.
    """

    def __init__(
        self, tape: Tape | None, kind: str, place: str, carry: Callable[[], State] | None = None
    ) -> None:
        self.tape, self.kind, self.place, self.carry = tape, kind, place, carry
        self.begun = 0  # tasks inside since the last state
        self.ended = False

    @property
    def state(self) -> State | None:
        """Copy of the last state of an earlier run."""
        return self._saved(is_result=False)

    @property
    def result(self) -> State | None:
        """Copy of the result of an earlier run."""
        return self._saved(is_result=True)

    def _saved(self, is_result: bool) -> State | None:
        found = None if self.tape is None else self.tape.entries.get(self.place)
        if found is None or (found.what == "result") != is_result:
            return None
        return {name: x.copy() if isinstance(x, np.ndarray) else x for name, x in found.values.items()}

    def _may_save(self, over: bool, stop: bool) -> bool:
        """Whether there is something to resume, and a file or tape to save it."""
        tape = self.tape
        return not (tape is None or tape.frozen or over or self.ended or (stop and not tape.interrupted))

    def is_due(self, over: bool = False, stop: bool = False) -> bool:
        """Whether :meth:`save` would write now: for states that are expensive to collect."""
        tape = self.tape
        return tape is not None and self._may_save(over, stop) and tape.folder is not None and tape.is_due()

    @property
    def folder(self) -> Path:
        """Folder for large parts of a state; only valid when :meth:`is_due`."""
        assert self.tape is not None
        assert self.tape.folder is not None
        return self.tape.folder

    def give_up(self, why: str) -> None:
        """Stop saving, because a part of the state could not be written."""
        if self.tape is not None:
            self.tape.give_up(why)

    def save(self, state: State, *, over: bool = False, stop: bool = False, always: bool = False) -> None:
        """Offer the state at the end of a step; it is written if a save is due.

        With ``over`` the task is done: there is nothing to resume. With ``stop`` it was ended: by a user, and a later
        run resumes here, or by a rule, and it is done. A task with tasks inside takes ``always``.
        """
        tape = self.tape
        if tape is None or not self._may_save(over, stop):
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
        """Record the result for a later run, unless a user stopped the task early."""
        tape = self.tape
        if tape is None or tape.frozen or (stopped and tape.interrupted and not self.ended):
            return
        tape.forget(self.place)
        tape.put(self, "result", result)
        if tape.is_due():
            tape.write()


class Tape:
    """The saved values of a run, in memory; :class:`Checkpoint` writes them to a file."""

    def __init__(self) -> None:
        self.entries: dict[str, SavedValues] = {}
        self.interrupted = False  # a user asked to stop
        self.frozen = False  # interrupted: the state is on disk and is not overwritten while shutting down
        self._open = [Task(self, "", "")]
        self._tokens: list[Token[Tape | None]] = []

    folder: Path | None = None
    """Folder for parts of states that workers write themselves, on other machines perhaps."""

    def is_due(self) -> bool:
        """Whether a save is due."""
        return False

    def give_up(self, why: str) -> None:
        """Write no more."""

    def write(self) -> None:
        """Write the entries."""

    def __enter__(self) -> Self:
        self._tokens.append(_tape.set(self))
        return self

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        _tape.reset(self._tokens.pop())

    def begin(self, kind: str, carry: Callable[[], State] | None) -> Task:
        """Start the next task inside the current one."""
        outer = self._open[-1]
        made = Task(self, kind, f"{outer.place}.{outer.begun}".lstrip("."), carry)
        outer.begun += 1
        found = self.entries.get(made.place)
        if found is not None and found.kind != kind:
            raise InputError(f"saved by another training ({found.kind}, here {kind}); leave out --resume")
        self._open.append(made)
        return made

    def end(self, piece: Task) -> None:
        """End a task."""
        self._open.remove(piece)

    def put(self, piece: Task, what: str, values: State) -> None:
        """Store values of a task, and what the tasks around it carry."""
        for outer in self._open:
            if outer is not piece and outer.carry is not None and piece.place.startswith(f"{outer.place}."):
                self.entries[outer.place] = SavedValues(outer.kind, "carried", outer.carry())
        self.entries[piece.place] = SavedValues(piece.kind, what, values)

    def forget(self, place: str, inside_only: bool = False) -> None:
        """Drop the values of a task and of those inside."""
        if not inside_only:
            self.entries.pop(place, None)
        for inner in [name for name in self.entries if name.startswith(f"{place}.")]:
            del self.entries[inner]


_tape: ContextVar[Tape | None] = ContextVar("tape", default=None)


@contextmanager
def piece(kind: str, carry: Callable[[], State] | None = None) -> Iterator[Task]:
    """Run a resumable task; ``carry`` returns values that the states of inner tasks need.

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
        yield Task(None, kind, "")
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


def here() -> Task:
    """Return the current task."""
    tape = _tape.get()
    return Task(None, "", "") if tape is None or tape.frozen else tape._open[-1]


def resumable(solve: Solve) -> Solve:
    """Make each call of a solver's ``solve`` a task, found by :func:`here`."""

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
    """Record a value that another run would not reproduce, such as a time.

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


def demand(fits: Any) -> None:
    """Refuse a checkpoint whose values do not fit the training."""
    if not fits:
        raise InputError(DOES_NOT_FIT)


def restored_result(values: State, n: int) -> Result:
    """Return the result of a solver that an earlier run noted, for ``n`` weights."""
    check_vectors(values, n)
    result = Result(**values)
    wanted = (
        (result.objective, float),
        (result.iterations, int),
        (result.reason, str),
        (result.optimality, float | None),
    )
    demand(all(isinstance(value, kind) for value, kind in wanted))
    return result


def check_counts(values: State) -> None:
    """Refuse a state with a negative count of iterations or samples."""
    for value in values.values():
        counts = value if isinstance(value, list) else [value]
        demand(all(not isinstance(count, int) or count >= 0 for count in counts))


def check_vectors(values: State, n: int) -> None:
    """Refuse a state whose vectors are not ``n`` finite float64 numbers each, tables apart."""
    for name, value in values.items():
        if isinstance(value, np.ndarray):
            demand(value.dtype.kind == "f" and bool(np.isfinite(value).all()))
            is_vector = (value.shape, value.dtype) == ((n,), np.float64)
            demand(is_vector or value.ndim > 1 or name.startswith("changed"))


def check_offsets(ptr: Any, total: int) -> None:
    """Refuse offsets into ``total`` values that do not begin at 0, rise and end there."""
    demand(ptr.dtype == np.int64 and ptr.ndim == 1 and ptr.size and ptr[0] == 0 and ptr[-1] == total)
    demand(not (np.diff(ptr) < 0).any())


def check_ids(ids: Any, n: int) -> None:
    """Refuse integers that are not 0 to n - 1."""
    demand(ids.dtype.kind == "i" and ids.ndim == 1)
    demand(not ids.size or 0 <= ids.min() <= ids.max() < n)


def restored_rng(rng: np.random.Generator, state: Mapping[str, Any]) -> np.random.Generator:
    """Set the state of a generator from a checkpoint."""
    rng.bit_generator.state = state
    return rng


class Checkpoint(Tape):
    """Context manager that saves the state of trainings in this thread to a file.

    Parameters
    ----------
    path : the file; replaced atomically.
    subject : text, or a function that returns it, that identifies data and settings; other files are refused.
    every : seconds between two saves, and before the first. Infinity for never.
    resume : resume from the file if it exists.
    complain : called with the reason if the file cannot be written, instead of an error; training continues.

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

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
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

    def _read(self) -> dict[str, SavedValues]:
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
                str(place): SavedValues(str(kind), str(what), dict(values))
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
