"""The one way in which a command trains: look at the targets first, show progress, heed Ctrl-C, save, report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from epigram.cli import console
from epigram.cli.stopping import EXIT_CODE, GracefulStop
from epigram.plots import check_plot
from epigram.storage.atomic import check_writable

Show = Callable[..., bool]
"""``show(completed, status, description=None)`` moves the progress bar; True where the user asked to stop."""


class TrainingRun:
    """A training that writes ``output`` and, where asked for, ``plot``; refuses at once what cannot be written.

    The clock starts with the run, and again where progress begins. A command is these lines::

        run = TrainingRun(output, plot, json)
        with run.progress("training", total=500) as show:
            model.fit(text, callback=lambda now: show(now.number, f"objective {now.objective:,.0f}"))
        run.finish({"nonzero": model.n_nonzero_}, save=lambda: model.save(output))
    """

    def __init__(self, output: Path, plot: Path | None = None, json: bool = False) -> None:
        self.output, self.plot, self.json, self.interrupted = output, plot, json, False
        for target in (output, plot):
            if target is not None:
                check_writable(target)
        if plot is not None:
            check_plot(plot)
        self._watch = console.Stopwatch()

    @contextmanager
    def progress(self, description: str, total: int | None = None, step: str = "iteration") -> Iterator[Show]:
        """A progress bar whose ``show`` tells whether to stop: a first Ctrl-C ends the fit after the present step."""
        self._watch = console.Stopwatch()
        with console.progress() as bar:
            task = bar.add_task(description, total=total, status="")

            def say() -> None:
                said = f"stopping after this {step}; Ctrl-C again stops at once"
                bar.console.print(f"[yellow]{said}[/yellow]")

            with GracefulStop(say) as stop:

                def show(completed: int, status: str = "", description: str | None = None) -> bool:
                    bar.update(task, completed=completed, status=status, description=description)
                    return stop.asked

                try:
                    yield show
                finally:
                    self.interrupted = stop.asked

    @property
    def cost(self) -> dict[str, float]:
        """Wall and CPU seconds so far."""
        return {"seconds": self._watch.seconds, "cpu_seconds": self._watch.cpu_seconds}

    def finish(
        self,
        record: dict[str, Any],
        save: Callable[[], Any],
        draw: Callable[[Path], Any] | None = None,
    ) -> None:
        """Save, draw, and report ``record`` with cost and size; exit code 130 where the fit was interrupted."""
        record = {**record, **self.cost, "interrupted": self.interrupted}
        save()
        record["bytes"] = self.output.stat().st_size
        if self.plot is not None and draw is not None:
            draw(self.plot)
        console.print_json(record) if self.json else console.facts(str(self.output), record)
        if self.interrupted:
            raise typer.Exit(EXIT_CODE)
