"""Splits text files at sentence boundaries into slices that are read independently."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

from epigram.errors import os_errors_as
from epigram.files import GZIP_MAGIC, read_bytes

PARTITION_BYTES = 4 << 20  # of text; encoding it takes some 30 times as much memory
BLANK_LINE, LINE = re.compile(rb"\n\r?\n"), re.compile(rb"\n")


@dataclass(frozen=True, slots=True)
class FileSlice:
    """A part of a file that ends where a sentence ends; ``end`` None for all of it."""

    path: str
    start: int = 0
    end: int | None = None

    def read(self) -> bytes:
        """Its bytes."""
        if self.end is None:
            return read_bytes(self.path)
        with os_errors_as("cannot read", self.path), open(self.path, "rb") as file:
            file.seek(self.start)
            return file.read(self.end - self.start)

    def lines_before(self) -> int:
        """Lines of the file before it, for messages."""
        return FileSlice(self.path, 0, self.start).read().count(b"\n") if self.start else 0


def cut(
    paths: Sequence[str | PathLike[str]], ends: re.Pattern[bytes], size: int = PARTITION_BYTES
) -> list[FileSlice]:
    r"""Cut files into slices of about ``size`` bytes; a gzip file or stdin is one slice.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "words.txt"
    >>> _ = file.write_text("one\ntwo\nthree\n")
    >>> [piece.read() for piece in cut([file], LINE, 5)]
    [b'one\ntwo\n', b'three\n']
    """
    pieces = []
    for path in map(str, paths):
        if path == "-":
            pieces.append(FileSlice(path))
            continue
        with os_errors_as("cannot read", path), open(path, "rb") as file:
            if file.read(2) == GZIP_MAGIC:
                pieces.append(FileSlice(path))
                continue
            total, start = file.seek(0, 2), 0
            while start < total:
                end = _sentence_end(file, start + size, total, ends)
                pieces.append(FileSlice(path, start, end))
                start = end
    return pieces


def _sentence_end(file: Any, at: int, total: int, pattern: re.Pattern[bytes]) -> int:
    """The first end of a sentence at or after a byte."""
    window = 1 << 16
    while at < total:
        begin = max(at - 3, 0)
        file.seek(begin)
        for found in pattern.finditer(file.read(window + 6)):
            if begin + found.end() >= at:
                return int(begin + found.end())
        at += window
    return total
