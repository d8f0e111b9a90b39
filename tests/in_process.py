"""Runs ``epigram`` in this process: the exit code and what went to the two streams."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from unittest import mock

from epigram.cli import main


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    returncode: int
    stdout: bytes
    stderr: bytes


def epigram(*words: object, stdin: bytes = b"", program: Callable[[], None] = main) -> Done:
    """``epigram WORDS``, or another program's, with some bytes on standard input."""
    out, err = io.BytesIO(), io.BytesIO()
    streams = {
        "stdin": io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"),
        "stdout": io.TextIOWrapper(out, encoding="utf-8", write_through=True),
        "stderr": io.TextIOWrapper(err, encoding="utf-8", write_through=True),
    }
    code = 0
    with mock.patch.multiple(sys, argv=["epigram", *map(str, words)], **streams):
        try:
            program()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    return Done(code, out.getvalue(), err.getvalue())
