"""``epigram ime convert``: converts kana to text."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from epigram.cli import console
from epigram.cli.ime.arguments import User, load_converter
from epigram.errors import InputError
from epigram.files import read_lines
from epigram.storage.installed import JAPANESE, installed_models, model_path


def command(
    arguments: list[str] | None = None,
    nbest: int = 1,
    explain: bool = False,
    romaji: bool = False,
    before: str = "",
    user: User = None,
    source: Path | None = None,
) -> None:
    """Convert kana to text, one result per line.

    Parameters
    ----------
    arguments [MODEL] [KANA...] : A *.epigram file or the name of an installed model (without one: japanese), and
        readings (without any, or for -: lines of standard input).
    nbest >= 1 : Number of candidates, shown with their scores if more than 1.
    explain : Show words and their probabilities.
    romaji : Convert romaji to kana first.
    before TEXT : Text that stands before the readings.
    source --input FILE : File of readings, one per line.
    """
    from epigram.ime.kana import from_romaji

    model, kana = split_model(arguments or [])
    kana = [] if kana == ["-"] else kana
    if kana and source is not None:
        raise InputError("give readings as arguments or --input FILE, not both")
    converter = load_converter(Path(model_path(model)), user)
    converter = converter.following(before) if before else converter
    readings = kana or (_stdin() if source is None else read_lines(source, sentences=True))
    blank = True
    for number, line in enumerate(readings, 1):
        blank &= not line.strip()
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
    if blank:
        raise InputError("no readings: the file is empty or blank", path=source or "-")


def split_model(arguments: list[str]) -> tuple[str, list[str]]:
    """Model and readings; the first argument is a model if it is a path or an installed name.

    Examples
    --------
    >>> split_model(["m.epigram", "はし"]), split_model(["はし"])
    (('m.epigram', ['はし']), ('japanese', ['はし']))
    """
    first = arguments[0] if arguments else ""
    is_model = first.endswith(".epigram") or os.path.exists(first) or first in installed_models()
    return (first, arguments[1:]) if is_model else (JAPANESE, arguments)


def _stdin() -> Iterator[str]:
    """Yield lines as they arrive, so that a pipe can be interactive."""
    for raw in sys.stdin.buffer:
        try:
            yield raw.decode().rstrip("\r\n")
        except UnicodeDecodeError:
            raise InputError("standard input is not UTF-8; convert it first") from None
