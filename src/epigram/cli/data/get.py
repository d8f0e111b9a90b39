"""``epigram data get``: finds or downloads a data set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from epigram.cli import console
from epigram.cli.data.arguments import Json, Name, OneFile, describe

if TYPE_CHECKING:
    from rich.progress import Progress


def command(name: Name, file: OneFile = None, json: Json = False) -> None:
    """Download a data set or one of its files, unless it is there; print its path."""
    from epigram.datasets import fetch

    with _meters() as meter:
        found = fetch(name, file, meter)
    if json:
        console.print_json({**describe(name), "path": str(found)})
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
    bars = Progress(*look, console=console.stderr())

    def meter(name: str) -> _Meter:
        bars.start()
        return _Meter(bars, name)

    try:
        yield meter
    finally:
        if bars.tasks:
            bars.stop()
