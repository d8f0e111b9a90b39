"""Arguments that the commands of ``epigram ime`` share, and input of text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from epigram.cli import console
from epigram.files import read_lines
from epigram.storage.installed import JAPANESE

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


Journal = Annotated[
    Path | None,
    typer.Option(
        "--user",
        metavar="FILE",
        help="Journal of corrections and user words  [default: that of the model japanese]",
    ),
]


Installed = Annotated[
    str | None,
    typer.Argument(
        metavar="MODEL", help="A *.epigram file, or the name of an installed model  [default: japanese]"
    ),
]


Search = Annotated[
    str | None, typer.Option(metavar="TEXT", help="Only those whose reading or text contains TEXT.")
]


Export = Annotated[Path | None, typer.Option(metavar="FILE", help="File to write them to.")]


Format = Annotated[str, typer.Option(help="Format of --export: epigram, mozc, google, ms-ime, atok or skk.")]


def open_installed(model: str | None, user: Path | None) -> tuple[KanaKanjiConverter, Path, Path]:
    """Load a converter by path or name with its user's corrections; return its file and journal.

    The journal stands beside a model file, and in the data folder of the user for an installed model.
    """
    from epigram.storage.installed import looks_like_name, model_path

    name = model or JAPANESE
    file = Path(model_path(name))
    journal = user or (
        default_journal(name) if looks_like_name(name) else file.with_suffix(".corrections.jsonl")
    )
    journal.parent.mkdir(parents=True, exist_ok=True)
    return load_converter(file, journal), file, journal


def default_journal(name: str = JAPANESE) -> Path:
    """Journal of an installed model."""
    from epigram.ime.user.settings import user_folder

    return user_folder() / f"{name}.corrections.jsonl"


def open_words(user: Path | None) -> tuple[Path, KanaKanjiConverter]:
    """A journal, and a converter of no words that holds its corrections and user words."""
    from epigram.ime import KanaKanjiConverter
    from epigram.ime.corrections import Journal

    path = user or default_journal()
    if user is None:
        path.parent.mkdir(parents=True, exist_ok=True)
    converter = KanaKanjiConverter.build(["。"])
    converter.journal = Journal.load(converter.decoder, path)
    return path, converter


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
