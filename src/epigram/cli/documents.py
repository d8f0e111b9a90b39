"""Text of documents for commands that read plain text: `--field`, a temporary file."""

from __future__ import annotations

import atexit
import re
import shutil
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from epigram.errors import InputError

Field = Annotated[
    str | None,
    typer.Option(
        "--field",
        metavar="NAME,NAME",
        help="Fields of the text in JSON lines, CSV, TSV or Parquet, joined [default: recognised].",
    ),
]


def may_hold_records(path: Path) -> bool:
    """Whether name or first bytes of a file leave open that it is more than plain text."""
    if not path.is_file():  # a pipe can be read only once
        return False
    if re.search(r"\.(csv|tsv|tab|parquet|zst)$", path.name):
        return True
    try:
        with path.open("rb") as file:
            return re.match(rb"\s*(\{|__label__|\x1f\x8b)", file.read(64)) is not None
    except OSError:
        return False  # its reader says why


def plain_text(path: Path, field: str | None) -> Path:
    """The path of a plain text; for records, of a temporary file with their text.

    Every line of a document is a line there, and a blank line follows each document.
    """
    if field is None and not may_hold_records(path):
        return path
    from epigram.records import Fields, RecordReader, recognise_file
    from epigram.records.streams import unpacked_name

    if field is None and path.suffix != ".zst" and recognise_file(str(path)) is None:
        return path
    reader = RecordReader(str(path), Fields(tuple(field.split(",")) if field else ()))
    folder = Path(tempfile.mkdtemp(prefix="epigram-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    made = folder / Path(unpacked_name(path)).with_suffix(".txt").name
    with made.open("w", encoding="utf-8", newline="") as file:
        for document in reader:
            lines = [line for line in document.text.split("\n") if line.strip()]
            file.write("".join(f"{line}\n" for line in lines) + "\n" * bool(lines))
    reader.refuse_blank()
    if field is not None and reader.format is not None and not reader.format.names:
        raise InputError("has no fields; leave out --field", path=path)
    return made
