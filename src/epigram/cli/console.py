"""Console output: tables and JSON on standard output, progress and notes on standard error."""

from __future__ import annotations

import json as json_module
import math
import sys
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

PIPE_WIDTH = 160  # a file or a pipe has no width; rich would fold at 80


def stdout() -> Console:
    """Console for results."""
    from rich.console import Console

    piped = not sys.stdout.isatty()
    return Console(highlight=False, soft_wrap=piped, width=PIPE_WIDTH if piped else None)


def echoed(text: str) -> str:
    """Return data as it is written; for a terminal, with control characters spelled out."""
    from epigram.files import shown

    return shown(text) if sys.stdout.isatty() else text


def stderr() -> Console:
    """Console for progress and notes."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def note(text: str) -> None:
    """Print a note for people on standard error."""
    from epigram.files import shown

    stderr().print(shown(text), style="dim", markup=False, soft_wrap=True)


def print_json(record: Any) -> None:
    """One JSON object on standard output; infinities and NaN become null."""
    print(echoed(json_module.dumps(_finite(record), ensure_ascii=False, indent=2)))


def print_line(record: Any) -> None:
    """Print a record as one line of JSON on standard output."""
    print(echoed(json_module.dumps(record, ensure_ascii=False)))


def write(texts: Iterable[str]) -> None:
    """Write the output of a command to standard output, always as UTF-8."""
    sys.stdout.buffer.write(echoed("".join(texts)).encode())
    sys.stdout.buffer.flush()


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A table on standard output; numbers are right-aligned and written for people."""
    from rich import box
    from rich.table import Table

    rows = [tuple(row) for row in rows]
    grid = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for k, column in enumerate(columns):
        numeric = bool(rows) and all(isinstance(row[k], int | float) for row in rows)
        grid.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        grid.add_row(*(_for_people(value) for value in row))
    stdout().print(grid)


def facts(title: str, record: dict[str, Any]) -> None:
    """Name and value pairs, one a line."""
    from rich.table import Table

    grid = Table(title=title, title_justify="left", title_style="bold", box=None, show_header=False)
    for name, value in record.items():
        grid.add_row(f"  [dim]{name.replace('_', ' ')}[/]", _for_people(value))
    stdout().print(grid)
    stdout().print()


def report(record: dict[str, Any], title: str, json: bool) -> None:
    """Print a record as JSON, or as a list of names and values under a title."""
    print_json(record) if json else facts(title, record)


def progress() -> Progress:
    """Return a progress display on standard error; use it as a context manager."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),  # "12/?" where the end is not known
        TextColumn("{task.fields[status]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(compact=True),
        console=stderr(),
        transient=False,
    )


class Stopwatch:
    """Wall and CPU seconds since it was made."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    @property
    def seconds(self) -> float:
        """Wall seconds so far."""
        return time.perf_counter() - self._wall

    @property
    def cpu_seconds(self) -> float:
        """CPU seconds of this process so far, all threads."""
        return time.process_time() - self._cpu


def _for_people(value: Any) -> str:
    from rich.markup import escape

    from epigram.files import shown

    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "-"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        if value != 0 and (abs(value) < 1e-3 or abs(value) >= 1e7):
            return f"{value:.3e}"
        return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.1f}"
    if isinstance(value, dict):
        return ", ".join(f"{name.replace('_', ' ')} {_for_people(item)}" for name, item in value.items())
    return escape(shown(str(value)))


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return _finite(value.tolist()) if hasattr(value, "tolist") else value
