"""``epigram ime convert``: converts kana to text."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from epigram.cli import console
from epigram.errors import InputError
from epigram.files import read_lines

if TYPE_CHECKING:
    pass
from epigram.cli.ime.arguments import Model, User, load_converter


def command(
    model: Model,
    kana: Annotated[
        list[str] | None, typer.Argument(metavar="KANA...", help="Readings; none: lines of stdin.")
    ] = None,
    nbest: Annotated[int, typer.Option(min=1, help="So many candidates, with their scores.")] = 1,
    explain: Annotated[bool, typer.Option("--explain", help="Show words and their probabilities.")] = False,
    romaji: Annotated[bool, typer.Option("--romaji", help="Read Latin letters as romaji.")] = False,
    before: Annotated[str, typer.Option(metavar="TEXT", help="Text that stands before the readings.")] = "",
    user: User = None,
    source: Annotated[
        Path | None, typer.Option("--input", metavar="FILE", help="Readings, one a line.")
    ] = None,
) -> None:
    """Write kana as text, one result a line."""
    from epigram.ime.kana import from_romaji

    if kana and source is not None:
        raise InputError("give readings as arguments or --input FILE, not both")
    converter = load_converter(model, user)
    converter = converter.following(before) if before else converter
    readings = kana or (_stdin() if source is None else read_lines(source, sentences=True))
    for number, line in enumerate(readings, 1):
        reading = from_romaji(line) if romaji else line
        try:
            ways = converter.nbest(reading, nbest) if nbest > 1 else [converter.best(reading)]
        except InputError as error:
            raise InputError(
                str(error), path=None if kana else source or "-", line=None if kana else number
            ) from None
        for way in ways:
            line = f"{way.score:.4f}\t{way.text}" if nbest > 1 else way.text
            print(console.echoed(line), flush=not kana)
            if explain:
                rows = [tuple(row) for row in converter.decoder.explain(way)]
                console.table("", ("word", "log probability", "n-gram", "bonus"), rows)


def _stdin() -> Iterator[str]:
    """Lines as they come, so that a pipe can be talked to."""
    for raw in sys.stdin.buffer:
        try:
            yield raw.decode().rstrip("\r\n")
        except UnicodeDecodeError:
            raise InputError("standard input is not UTF-8; convert it first") from None
