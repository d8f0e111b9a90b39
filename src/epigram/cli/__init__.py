"""The ``epigram`` command: one module per command group, imported only when its command is used; what all share.

Results go to standard output, everything else to standard error. Exit codes: 0 done, 1 result not reached
(or nobody reads it any more), 2 bad use or input, 130 interrupted.
"""

from __future__ import annotations

import atexit
import gc
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from importlib import import_module
from io import TextIOWrapper
from typing import TYPE_CHECKING, Annotated, Any

gc.set_threshold(
    20_000
)  # what is imported stays: to look for garbage in it takes a tenth of a command's start

import typer  # noqa: E402

import epigram  # noqa: E402
from epigram.errors import DivergenceError, EpigramError  # noqa: E402

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

COMMANDS = {
    "lm": ("epigram.cli.lm", "Train, evaluate, query, explain, mix and export language models."),
    "tag": ("epigram.cli.tag", "Train, evaluate and run taggers: CRF, maxent, history-based."),
    "parse": ("epigram.cli.parse", "Train, evaluate and run dependency parsers, and labels on trees."),
    "rerank": ("epigram.cli.rerank", "Train, evaluate and run rerankers of n-best lists."),
    "ime": ("epigram.cli.ime", "Build, adapt, evaluate and use an input method: kana to text."),
    "serve": ("epigram.cli.serve", "The studio: models in a browser and over HTTP."),
    "inspect": ("epigram.cli.inspect", "Show what is inside a model file."),
    "data": ("epigram.cli.data", "List, find and fetch named data sets."),
    "demo": ("epigram.cli.demo", "A short tour on built-in sample data, offline."),
}
ADDED = "epigram.commands"
"""The group of entry points by which other packages add commands; they are loaded unless one of ours is asked for."""
PIPE_WIDTH = 160  # a file or a pipe has no width of its own; rich would fold at 80
EVERY = 60.0
Seconds = Annotated[
    float,
    typer.Option(
        "--checkpoint",
        metavar="SECONDS",
        min=0.0,
        help="Note so often, in MODEL.checkpoint, where training stands; 0 for never.",
    ),
]
Resume = Annotated[
    bool,
    typer.Option("--resume", help="Go on where a stopped run of the same command was, to the same model."),
]


def build(wanted: str | None, inner: str | None = None) -> typer.Typer:
    """The command line with one command's module loaded; the others stand there with their one-line help.

    ``inner`` is the word after it: where it names a command of the group, the group's others are left out.
    """
    app = typer.Typer(
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        help="Language models, taggers, parsers and rerankers: compact, exact, explainable, fast on a CPU.",
    )

    @app.callback()
    def root(
        version: Annotated[
            bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
        ] = False,
        max_bytes: Annotated[
            int | None,
            typer.Option(
                metavar="N",
                min=1,
                help="Most bytes of an unpacked gzip file (64 MB + 100 times its size).",
            ),
        ] = None,
    ) -> None:
        if max_bytes is not None:
            os.environ["EPIGRAM_MAX_BYTES"] = str(max_bytes)

    for name, (home, summary) in COMMANDS.items():
        if name != wanted:
            app.command(name, help=summary)(_placeholder)
            continue
        module = import_module(home)
        if hasattr(module, "app"):
            app.add_typer(_only(module.app, inner), name=name, help=summary)
        else:
            app.command(name, help=summary)(module.command)
    if wanted not in COMMANDS:
        from importlib.metadata import entry_points

        for entry in entry_points(group=ADDED):
            app.command(entry.name)(entry.load())
    return app


def main() -> None:
    """Entry point of the ``epigram`` command."""
    _open_streams()
    wanted, inner = [*(word for word in _words() if not word.startswith("-")), None, None][:2]
    if wanted in COMMANDS:  # numpy's BLAS starts threads that spin, and no command of ours has work for them
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    atexit.register(gc.freeze)  # the process ends then: nothing is to be looked through once more
    run_app(build(wanted, inner))


def run_app(app: Callable[[], object]) -> None:
    """Run a command; what is wrong becomes one line on standard error and an exit code."""
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except EpigramError as error:
        from epigram.text import shown

        print(f"epigram: {shown(str(error))}", file=sys.stderr)
        sys.exit(1 if isinstance(error, DivergenceError) else 2)
    except MemoryError as error:
        said = f" ({error})" if str(error) else ""
        print(f"epigram: out of memory{said}; see docs/scale.md for text larger than it", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - what is left to write has nowhere to go
        print(f"epigram: cannot write: {error.strerror}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("epigram: interrupted", file=sys.stderr)
        sys.exit(130)


def _open_streams() -> None:
    """Text is UTF-8 whatever the locale says; a stream that is closed is as one that leads nowhere."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if not isinstance(stream, TextIOWrapper | None):
            continue
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
        elif "PYTHONIOENCODING" in os.environ:
            stream.reconfigure(errors="surrogateescape" if mode == "r" else "backslashreplace")
        else:
            stream.reconfigure(encoding="utf-8", errors="surrogateescape" if name == "stdin" else "replace")
    if sys.getfilesystemencoding() != "utf-8":
        sys.argv = [os.fsencode(word).decode("utf-8", "surrogateescape") for word in sys.argv]


def _words() -> list[str]:
    """The words of the command line; while a shell asks for completions, those typed so far."""
    typed = os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS")
    words = typed.split()[1:] if typed and "_EPIGRAM_COMPLETE" in os.environ else sys.argv[1:]
    return words[2:] if words[:1] == ["--max-bytes"] else words


def _only(group: typer.Typer, name: str | None) -> typer.Typer:
    """A group with one of its commands, if it has it: typer takes the options of all of them apart, which is slow."""
    named = [info for info in group.registered_commands if _name(info) == name]
    if not named:
        return group
    one = copy(group)
    one.registered_commands, one.registered_groups = named, []
    return one


def _name(info: typer.models.CommandInfo) -> str | None:
    if info.name is None and info.callback is not None:
        return typer.main.get_command_name(info.callback.__name__)
    return info.name


def _version(show: bool) -> None:
    if show:
        print(f"epigram {epigram.__version__}")
        raise typer.Exit


def _placeholder() -> None:
    """Stands for a command whose module was not asked for."""


def stdout() -> Console:
    """Console for results."""
    from rich.console import Console

    piped = not sys.stdout.isatty()
    return Console(highlight=False, soft_wrap=piped, width=PIPE_WIDTH if piped else None)


def echoed(text: str) -> str:
    """Data as a command writes it: as it is, but on a terminal with control characters spelled out."""
    from epigram.text import shown

    return shown(text) if sys.stdout.isatty() else text


def stderr() -> Console:
    """Console for progress and notes."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def print_json(record: Any) -> None:
    """One JSON object on standard output; infinities and NaN become null."""
    print(echoed(json.dumps(_finite(record), ensure_ascii=False, indent=2)))


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


def progress() -> Progress:
    """A progress display on standard error, with time used and time left; use as a context manager."""
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

    from epigram.text import shown

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
