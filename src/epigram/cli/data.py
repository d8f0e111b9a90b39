"""``epigram data``: list, find and fetch the named data sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from epigram import cli

if TYPE_CHECKING:
    from rich.progress import Progress

app = typer.Typer(no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="A data set's name, as shown by `epigram data list`.")]
OneFile = Annotated[str | None, typer.Argument(help="One of its files; all of them without it.")]
Json = Annotated[bool, typer.Option("--json", help="JSON on standard output.")]


@app.command("list")
def list_(json: Json = False) -> None:
    """Show every data set: what it is, its licence, and where it is on this machine."""
    records = [_record(name) for name in _names()]
    if json:
        cli.print_json(records)
        return
    cli.table(
        "data sets",
        ("name", "what", "MB", "licence", "here"),
        [
            (
                r["name"],
                r["about"],
                round(r["bytes"] / 1e6, 1),
                r["licence"],
                r["path"] is not None,
            )
            for r in records
        ],
    )


@app.command()
def path(name: Name, file: OneFile = None, json: Json = False) -> None:
    """Print where a data set, or one of its files, is on this machine; exit code 1 if it is not."""
    from epigram.datasets import fetch, find

    found = fetch(name, file) if name == "sample" else find(name, file)
    if json:
        cli.print_json({**_record(name), "path": found and str(found)})
    elif found:
        print(found)
    if found is None:
        cli.stderr().print(f"{name} is not on this machine; try: epigram data get {name}", soft_wrap=True)
        raise typer.Exit(1)


@app.command()
def get(name: Name, file: OneFile = None, json: Json = False) -> None:
    """Find or download a data set, or one of its files; check it by its checksum; print where it is."""
    from epigram.datasets import fetch

    with _meters() as meter:
        found = fetch(name, file, meter)
    if json:
        cli.print_json({**_record(name), "path": str(found)})
    else:
        print(found)


class _Meter:
    """A download's progress as a bar."""

    def __init__(self, bars: Progress, name: str) -> None:
        self._bars, self._task = bars, bars.add_task(name, total=None)

    @property
    def total(self) -> int:
        return int(self._bars.tasks[self._task].total or 0)

    @total.setter
    def total(self, n: int) -> None:
        self._bars.update(self._task, total=n or None)

    def update(self, n: int) -> None:
        self._bars.advance(self._task, n)


@contextmanager
def _meters() -> Iterator[Callable[[str], _Meter]]:
    """A bar on standard error for each file that is downloaded."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    look = (TextColumn("{task.description}"), BarColumn(24), DownloadColumn(), TransferSpeedColumn())
    bars = Progress(*look, console=cli.stderr())

    def meter(name: str) -> _Meter:
        bars.start()
        return _Meter(bars, name)

    try:
        yield meter
    finally:
        if bars.tasks:
            bars.stop()


def _names() -> list[str]:
    from epigram.datasets import catalogue

    return list(catalogue())


def _record(name: str) -> dict[str, Any]:
    from epigram.datasets import dataset, find

    entry = dataset(name)
    found = find(name)
    return {
        "name": name,
        "task": entry.task,
        "about": entry.about,
        "bytes": entry.bytes,
        "origin": entry.origin,
        "licence": entry.licence,
        "path": found and str(found),
        "files": [
            {"name": file.name, "sha256": file.sha256, "url": file.url or None} for file in entry.files
        ],
    }
