"""The ``epigram`` command: one module per command group, imported only when its command is used.

Results go to standard output, everything else to standard error. Exit codes: 0 done, 1 result not reached
(or nobody reads it any more), 2 bad use or input, 130 interrupted.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Callable
from copy import copy
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated

gc.set_threshold(
    20_000
)  # what is imported stays: to look for garbage in it takes a tenth of a command's start

import typer  # noqa: E402

import epigram  # noqa: E402
from epigram.errors import DivergenceError, EpigramError  # noqa: E402

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


def build(wanted: str | None, inner: str | None = None) -> typer.Typer:
    """The command line with one command's module loaded; the others stand there with their one-line help.

    ``inner`` is the word after it: where it names a command of the group, the group's others are left out.
    """
    app = typer.Typer(
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        help="Language models, taggers and rerankers: compact, exact, explainable, fast on a CPU.",
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
