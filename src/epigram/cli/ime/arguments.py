"""Arguments that the commands of ``epigram ime`` share, and input of text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from epigram.cli import console
from epigram.files import read_lines

if TYPE_CHECKING:
    from epigram.ime import KanaKanjiConverter


Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A *.epigram file of an input method.")]


Text = Annotated[
    Path, typer.Argument(metavar="TEXT", help="Sentences of surface/reading tokens, one a line.")
]


Raw = Annotated[
    bool, typer.Option("--raw", help="Read raw Japanese text; SudachiPy supplies words and readings.")
]


Quantise = Annotated[
    bool, typer.Option("--quantise", help="Store n-grams in eight bits: less than half the size.")
]


User = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Journal of corrections and user words (JSON lines); created if missing."
    ),
]


def load_converter(model: Path, user: Path | None = None) -> KanaKanjiConverter:
    """Load a converter, with the corrections of a user."""
    from epigram.ime import KanaKanjiConverter

    converter = KanaKanjiConverter.load(model)
    if user is not None:
        converter.open_journal(user)
    return converter


def read_sentences(path: Path, raw: bool) -> list[list[str]]:
    from epigram.ime.kana import analyse, read_sentences

    if not raw:
        return read_sentences(path)

    return analyse(read_lines(path, sentences=True))


@contextmanager
def show_progress(what: str, total: int) -> Iterator[Callable[[], object]]:
    with console.progress() as bar:
        task = bar.add_task(what, total=total, status="")
        yield lambda: bar.advance(task)


def describe(converter: KanaKanjiConverter, output: Path) -> dict[str, Any]:
    return {"model": str(output), "settings": converter.settings, **converter.fit_}
