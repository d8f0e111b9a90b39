"""A file in which a long training keeps where it stands, so that it can go on after its process was killed.

It holds the entries of a :class:`~epigram.resuming.Tape`: the states of solvers as arrays and numbers, by names. A
training that goes on from it ends in the same bits as one that nobody stopped.
"""

from __future__ import annotations

import io
import json
import math
import shutil
import time
import zipfile
import zlib
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np

from epigram.errors import InputError
from epigram.resuming import Entry, Tape
from epigram.storage.file import write_atomically

HEADER, FORMAT = "header", 1


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

    def __enter__(self) -> Self:
        if self.resume and not self._tokens and self.path.exists():
            self.entries, self.resume = self._read(), False
        return super().__enter__()

    def is_due(self) -> bool:
        """Whether ``every`` seconds are over, or somebody asked to stop."""
        waited = time.monotonic() - self._last
        return waited >= self.every or (self.interrupted and self.every < math.inf)

    def write(self) -> None:
        """Replace the file."""
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
        header = {"format": FORMAT, "subject": self._subject(), "entries": entries}
        content = io.BytesIO()
        arrays[HEADER] = np.frombuffer(json.dumps(header).encode(), np.uint8)
        np.savez(content, **arrays)
        try:
            write_atomically(self.path, content.getvalue())
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
        self.path.unlink(missing_ok=True)
        shutil.rmtree(self.folder or "", ignore_errors=True)

    def _subject(self) -> str:
        if not isinstance(self.subject, str):
            self.subject = self.subject()
        return self.subject

    def _read(self) -> dict[str, Entry]:
        try:
            with np.load(self.path, allow_pickle=False) as saved:
                arrays = {name: saved[name] for name in saved.files}
            header = json.loads(arrays.pop(HEADER).tobytes())
            subject, known = str(header["subject"]), header["format"] == FORMAT
            entries = {place: Entry(*entry) for place, entry in header["entries"].items()}
            for key, array in arrays.items():
                place, _, name = key.partition(" ")
                entries[place].values[name] = array
        except (
            OSError, ValueError, LookupError, TypeError, AttributeError, EOFError, MemoryError,
            RecursionError, zipfile.BadZipFile, zlib.error, NotImplementedError,
        ) as error:  # fmt: skip
            raise InputError(
                f"not a checkpoint, or damaged ({error}); remove it to start afresh", path=self.path
            ) from None
        if not known or subject != self._subject():
            raise InputError(
                "saved by a training of other data, settings or version; leave out --resume to start afresh",
                path=self.path,
            )
        return entries
