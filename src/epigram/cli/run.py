"""Training commands: output checks, progress bar, Ctrl-C, checkpoint and final report.

Python runs signal handlers between bytecodes only, so they would wait for C to return. The signal's number is written
to a socket at once instead (``set_wakeup_fd``), and a thread reads it while the loop runs.
"""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import typer

import epigram
from epigram.checkpoint import Checkpoint
from epigram.cli import console
from epigram.cli.cluster import Cluster
from epigram.cli.options import EVERY, parameters
from epigram.cli.plots import check_plot
from epigram.errors import InputError
from epigram.files import check_writable

EXIT_CODE = 130
SIGNALS = (signal.SIGINT, signal.SIGTERM)
SHOW_CURSOR = "\x1b[?25h"
Show = Callable[..., bool]
"""``show(completed, status, description=None)`` moves the progress bar; True where the user asked to stop."""


def _sharding(shards: Path | None = None, n_shards: int | None = None, cluster: Cluster = None) -> None:
    """Options of training on shards.

    More than memory, more than one machine
    ---------------------------------------
    shards FOLDER : Encode the text into this folder and train from it: text larger than memory.
    n_shards K >= 1 : Shards (by the size of the text).
    """


SHARDING = parameters(_sharding)
"""Options of a command that can train on shards; :meth:`Sharding.of` reads them."""


@dataclass(frozen=True)
class Sharding:
    """Folder and number of the shards, and the cluster that trains on them."""

    folder: Path | None
    n_shards: int | None
    cluster: str | None

    @classmethod
    def of(cls, settings: dict[str, Any]) -> Sharding:
        """Return what the options of :data:`SHARDING` say."""
        return cls(settings["shards"], settings["n_shards"], settings["cluster"])

    @property
    def asked_for(self) -> bool:
        """Whether training goes by shards."""
        asked = self.folder is not None or self.cluster is not None
        if self.n_shards is not None and not asked:
            raise InputError("--n-shards is for training with --shards or --cluster")
        return asked

    def folder_for(self, output: Path) -> Path:
        """Return the folder of the shards: beside the model unless it was given."""
        return self.folder or output.with_name(f"{output.name}.shards")


def watch(show: Show, more: Callable[[], str] = lambda: "") -> Callable[[dict[str, Any]], bool]:
    """Return the callback of a fit that moves a progress bar; ``more`` adds to its text."""

    def callback(entry: dict[str, Any]) -> bool:
        status = f"objective {entry['objective']:,.1f}, {entry['nonzero']:,} active"
        if "dev_score" in entry:
            status += f", dev {entry['dev_score']:.2%}"
        return show(entry["iteration"], status + more(), entry.get("stage"))

    return callback


class TrainingRun:
    """Runs a training that writes a model; refuses at once what cannot be written.

    A fit inside ``progress`` writes a checkpoint beside ``output`` every ``checkpoint`` seconds; a run with ``resume``
    resumes it. The checkpoint is removed when the model is saved, unless the user stopped the fit. The clock starts
    with the run, and again with ``progress``. A command is these lines::

        run = TrainingRun.of(context, settings)
        with run.progress("training", total=500) as show:
            model.fit(text, callback=lambda now: show(now.number, f"objective {now.objective:,.0f}"))
        run.finish({"nonzero": model.n_nonzero_}, save=lambda: model.save(output))
    """

    def __init__(
        self,
        output: Path,
        plot: Path | None = None,
        json: bool = False,
        checkpoint: float = EVERY,
        resume: bool = False,
        context: typer.Context | None = None,
    ) -> None:
        self.output, self.plot, self.json, self.interrupted = output, plot, json, False
        for target in (output, plot):
            if target is not None:
                check_writable(target)
        if plot is not None:
            check_plot(plot)
        # Beside a device or a pipe there is no place for a file.
        usual = output.is_file() or not output.exists()
        self.checkpoint = Checkpoint(
            output.with_name(f"{output.name}.checkpoint"),
            lambda: subject_of_command(context),
            checkpoint if checkpoint and usual else float("inf"),
            resume,
            complain=console.note,
        )
        if self.checkpoint.path.exists() and not resume:
            console.note(f"{self.checkpoint.path} is the checkpoint of a stopped run; --resume continues it")
        elif resume and not self.checkpoint.path.exists():
            console.note(f"there is no {self.checkpoint.path}; training starts from the beginning")
        self._watch = console.Stopwatch()

    @classmethod
    def of(cls, context: typer.Context, settings: dict[str, Any]) -> Self:
        """Return the run of a command with the options :data:`epigram.cli.options.TRAINING`."""
        names = ("json", "checkpoint", "resume")
        return cls(
            settings["output"],
            settings.get("plot"),
            context=context,
            **{name: settings[name] for name in names},
        )

    @contextmanager
    def progress(self, description: str, total: int | None = None, step: str = "iteration") -> Iterator[Show]:
        """Show a progress bar, whose ``show`` returns True after a first Ctrl-C."""
        self._watch = console.Stopwatch()
        with console.progress() as bar:
            task = bar.add_task(description, total=total, status="")

            def say() -> None:
                said = f"stopping after this {step}; Ctrl-C again stops at once"
                bar.console.print(f"[yellow]{said}[/yellow]")

            with GracefulStop(say) as stop, self.checkpoint:

                def show(completed: int, status: str = "", description: str | None = None) -> bool:
                    bar.update(task, completed=completed, status=status, description=description)
                    self.checkpoint.interrupted = stop.asked
                    return self.checkpoint.interrupted

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
        """Save, draw and report; exit with code 130 if the fit was interrupted."""
        record = {**record, **self.cost, "interrupted": self.interrupted}
        save()
        if not self.interrupted:
            self.checkpoint.remove()
        elif self.checkpoint.path.exists():
            console.note(f"stopped; --resume continues from {self.checkpoint.path}")
        record["bytes"] = self.output.stat().st_size
        if self.plot is not None and draw is not None:
            draw(self.plot)
        console.report(record, str(self.output), self.json)
        if self.interrupted:
            raise typer.Exit(EXIT_CODE)


def subject_of_command(context: typer.Context | None) -> str:
    """Return a digest of the command, its settings and its files, for the checkpoint."""
    command, given = ("", {}) if context is None else (context.command_path, context.params)
    digest = hashlib.blake2b(f"{epigram.__version__} {command}".encode(), digest_size=16)
    for name, value in sorted(given.items()):
        if name in ("output", "plot", "json", "checkpoint", "resume", "memory", "tmp", "dry_run"):
            continue
        digest.update(f"\0{name}={value!r}".encode())
        for path in value if isinstance(value, list | tuple) else (value,):
            if isinstance(path, str | Path) and os.path.isfile(path):
                with open(path, "rb") as file:
                    digest.update(hashlib.file_digest(file, "blake2b").digest())
    return digest.hexdigest()


class GracefulStop:
    """Context in which a first signal sets ``asked``, and a second exits with code 130.

    Parameters
    ----------
    on_first : called, in another thread, when the first signal arrives.

    Examples
    --------
    >>> import time
    >>> with GracefulStop() as stop:
    ...     signal.raise_signal(signal.SIGINT)
    ...     while not stop.asked:
    ...         time.sleep(0.001)
    >>> stop.asked
    True
    """

    def __init__(self, on_first: Callable[[], Any] = lambda: None) -> None:
        self.asked = False
        self._on_first = on_first

    def __enter__(self) -> Self:
        self._reader, self._writer = socket.socketpair()
        self._writer.setblocking(False)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self._wakeup = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        self._handlers = {number: signal.signal(number, _nothing) for number in SIGNALS}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup)
        self._writer.close()
        self._listener.join()
        self._reader.close()

    def _listen(self) -> None:
        while byte := self._reader.recv(1):
            if byte[0] not in SIGNALS:
                continue
            if self.asked:
                sys.stderr.write(SHOW_CURSOR if sys.stderr.isatty() else "")
                sys.stderr.flush()
                os._exit(EXIT_CODE)
            self.asked = True
            self._on_first()


def _nothing(*_: Any) -> None:
    """Replace the handler that would raise KeyboardInterrupt."""
