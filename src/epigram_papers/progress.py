"""Progress over many experiments: a bar by expected CPU time where there is a terminal, else a line now and then."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from epigram import cli

if TYPE_CHECKING:
    from epigram_papers.runner import Status

BESIDE = 58  # columns of the terminal that bar, share and times take
LINE_EVERY = 20.0  # seconds, without a terminal


class Display:
    """Shows each :class:`Status` given to ``show``; use as a context manager."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

        self._console = cli.stderr()
        self._began = time.monotonic()
        self._last_line = self._began
        self._bar = Progress(
            BarColumn(bar_width=24),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            TextColumn("[dim]{task.description}[/dim]", markup=True),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task("", total=None, left="")

    def __enter__(self) -> Self:
        self._bar.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._bar.__exit__(kind, error, traceback)

    def show(self, status: Status) -> None:
        """Bring the display up to date."""
        from rich.markup import escape

        now = time.monotonic()
        left = time_left(status, now - self._began)
        names = ", ".join(status.running)
        room = max(10, self._console.width - BESIDE)
        self._bar.update(
            self._task,
            total=status.total,
            completed=status.done + status.under_way,
            description=escape(names if len(names) <= room else f"{names[: room - 1]}…"),
            left=left,
        )
        if not self._console.is_terminal and now - self._last_line >= LINE_EVERY:
            self._last_line = now
            share = (status.done + status.under_way) / status.total if status.total else 1.0
            self._console.print(f"{share:.0%} {left} {names}", markup=False, soft_wrap=True)


def time_left(status: Status, elapsed: float) -> str:
    """An estimate in words from what this run itself has done so far; nothing before it has done something.

    Examples
    --------
    >>> from epigram_papers.runner import Status
    >>> time_left(Status(done=70, kept=50, under_way=10, total=200, running=()), 60.0)
    '4 min left'
    """
    from epigram_papers.html import duration

    computed = status.done - status.kept + status.under_way
    if elapsed < 5 or computed <= 0:
        return ""
    return f"{duration((status.total - status.done - status.under_way) * elapsed / computed)} left"
