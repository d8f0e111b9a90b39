"""The ``epigram`` command: builds the group of commands and runs the one asked for.

Results go to standard output, everything else to standard error. Exit codes: 0 done, 1 result not reached
(or nobody reads it any more), 2 bad use or input, 130 interrupted.
"""

from __future__ import annotations

import atexit
import errno
import gc
import os
import re
import signal
import sys
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated, Any

gc.set_threshold(20_000)  # imported objects stay: a search among them is a tenth of a command's start

import typer  # noqa: E402

import epigram  # noqa: E402
from epigram.cli.removed import name_replacements, refuse_command  # noqa: E402
from epigram.errors import (  # noqa: E402
    DataWarning,
    DivergenceError,
    EpigramError,
    InputError,
    WrongInputWarning,
    reason,
)

COMMANDS = {
    "pipeline": "Train, evaluate and run pipelines: raw text to sentences, tags, lemmas and trees.",
    "lm": "Train, evaluate, query, explain, mix and export language models.",
    "tag": "Train, evaluate and run taggers: CRF, maxent, history-based.",
    "parse": "Train, evaluate and run dependency parsers and tree taggers.",
    "classify": "Train, evaluate, run, explain and update text classifiers.",
    "filter": "Score documents of files and keep those within bounds.",
    "rerank": "Train, evaluate and run rerankers of n-best lists.",
    "ime": "Build, adapt, evaluate and use kana-kanji converters.",
    "serve": "Serve models to a browser and over HTTP.",
    "inspect": "Show what is inside a model file.",
    "convert": "Rewrite a model file in the newest format.",
    "export-web": "Write a page that runs a model in a browser, without a server.",
    "models": "List, find and install ready models.",
    "data": "List, find and fetch named data sets.",
    "demo": "Run a short tour on built-in sample data.",
}
GROUPS = {
    "pipeline": "train run eval explain update",
    "lm": "train eval score next sample explain interpolate prune map export-arpa classes prepare update",
    "tag": "train update pool rerank chain convert explain eval run template",
    "parse": "train eval run explain",
    "classify": "train run eval explain update",
    "rerank": "train eval run explain path",
    "ime": "build convert nbest adapt eval type words corrections settings server install uninstall doctor",
    "models": "list path info install",
    "data": "list path get",
}
"""The commands of each group: ``epigram tag train`` is the function ``command`` of ``epigram.cli.tag.train``."""
OUTPUTS = ("output", "new", "save", "plot", "export")
"""Parameters that name a file to write."""
IN_PLACE = {
    "pipeline update", "lm prune", "lm map", "lm update", "tag update", "tag rerank", "classify update", "ime adapt",
    "convert",
}  # fmt: skip
"""Commands that may write the changed model in place of the old one."""
_MARKUP = re.compile(r"\[(?=[a-z#/@][^[]*\])")


class LazyCommands(dict[str, Any]):
    """Commands of a group, which are imported and built when they are looked up."""

    def __init__(self, names: Iterable[str], build: Callable[[str], Any], prefix: str = "") -> None:
        super().__init__(dict.fromkeys(names))
        self._build, self._prefix = build, prefix

    def __getitem__(self, name: str) -> Any:
        if (found := super().__getitem__(name)) is None:
            found = self[name] = self._build(name)
        return found

    def get(self, name: str, default: Any = None) -> Any:
        """Return a command, or the default; refuse a removed command."""
        if name in self:
            return self[name]
        refuse_command(f"{self._prefix}{name}")
        return default

    def items(self) -> Any:
        """Return all names and commands."""
        return [(name, self[name]) for name in self]

    def values(self) -> Any:
        """Return all commands."""
        return [self[name] for name in self]


def build() -> Any:
    """Return the command line as a click group; commands below it are built on demand."""
    app = typer.Typer(
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        help="Train, inspect and run small log-linear language models, taggers, parsers and rerankers.",
    )
    app.callback()(_root)
    root: Any = escape_help(typer.main.get_command(app))
    root.commands = LazyCommands(COMMANDS, lambda name: _build(name, COMMANDS[name]))
    return root


def _build(name: str, summary: str) -> Any:
    """Return a group of commands, or a command without a group."""
    if name not in GROUPS:
        return _command(name, summary)
    group = typer.Typer(no_args_is_help=True)
    group.callback(help=summary)(lambda: None)
    made: Any = typer.main.get_group(group)
    made.name = name
    made.commands = LazyCommands(GROUPS[name].split(), lambda inner: _command(f"{name} {inner}"), f"{name} ")
    return made


def _command(path: str, summary: str | None = None) -> Any:
    """Return the command of a path such as ``tag train``."""
    module = import_module("epigram.cli." + path.replace("-", "_").replace(" ", "."))
    from epigram.cli.options import derived, description

    app = typer.Typer(add_completion=False)
    command = module.command if hasattr(module.command, "__signature__") else derived()(module.command)
    app.command(path.rpartition(" ")[2], help=summary or description(command))(command)
    made: Any = name_replacements(escape_help(typer.main.get_command(app)), path)
    invoke = made.invoke

    def check(context: Any) -> Any:
        _refuse_inputs(path, context.params)
        return invoke(context)

    made.invoke = check
    return made


def _refuse_inputs(path: str, given: dict[str, Any]) -> None:
    """Refuse to overwrite an input of a command, other than the model that it changes."""
    targets = [given[name] for name in OUTPUTS if given.get(name) and os.path.isfile(given[name])]
    for name, value in given.items() if targets else ():
        for source in value if isinstance(value, list | tuple) else (value,):
            if name in OUTPUTS or (name in ("model", "old") and path in IN_PLACE):
                continue
            if not isinstance(source, str) or not os.path.isfile(source):
                continue
            for target in targets:
                if os.path.samefile(source, target):
                    said = (
                        f"is an input of this command ({name}) and would be overwritten; choose another name"
                    )
                    raise InputError(said, path=target)


def _version(show: bool) -> None:
    if show:
        print(f"epigram {epigram.__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
    max_bytes: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Most bytes of an unpacked gzip or model file [default: 64 MB + 100 times its size]",
        ),
    ] = None,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet",
            help="Print no warnings, and read text that looks like a table or a file of columns as it is; "
            "allowed anywhere on the command line.",
        ),
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Treat warnings as errors; allowed anywhere on the command line.")
    ] = False,
) -> None:
    if max_bytes is not None:
        os.environ["EPIGRAM_MAX_BYTES"] = str(max_bytes)


def main() -> None:
    """Entry point of the ``epigram`` command."""
    _open_streams()
    _set_warnings()
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:  # as Ctrl-C: no temporary file is left
        with suppress(ValueError):  # not the main thread
            signal.signal(signal.SIGTERM, signal.default_int_handler)
    # numpy's BLAS starts threads that spin, and no command of ours has work for them
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    atexit.register(gc.freeze)  # no last search for garbage

    run_app(lambda: build()())


def escape_help(command: Any) -> Any:
    """Escape brackets in the help texts of a command, which Rich takes for markup."""
    for described in (command, *command.params):
        if getattr(described, "help", None):
            described.help = _MARKUP.sub(r"\\[", described.help)
    return command


def run_app(app: Callable[[], object]) -> None:
    """Run a command; what is wrong becomes one line on standard error and an exit code."""
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except EpigramError as error:
        from epigram.files import shown

        print(f"epigram: {shown(str(error))}", file=sys.stderr)
        sys.exit(1 if isinstance(error, DivergenceError) else 2)
    except MemoryError as error:
        said = f" ({error})" if str(error) else ""
        print(f"epigram: out of memory{said}; see docs/scale.md for text larger than it", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - what is left to write has nowhere to go
        from epigram.files import shown

        why = "standard output is closed" if error.errno == errno.EBADF else reason(error)
        place = f"{error.filename}: " if error.filename else ""
        print(f"epigram: {shown(place)}cannot write: {why}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("epigram: interrupted", file=sys.stderr)
        sys.exit(130)


def _open_streams() -> None:
    """Make all streams UTF-8; writing to a closed standard output fails."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if not isinstance(stream, TextIOWrapper | None):
            continue
        if stream is None:
            access = os.O_WRONLY if name == "stderr" else os.O_RDONLY  # of stdout too: see run_app's EBADF
            setattr(sys, name, open(os.open(os.devnull, access), mode, encoding="utf-8"))  # noqa: SIM115
        elif "PYTHONIOENCODING" in os.environ:
            stream.reconfigure(errors="surrogateescape" if mode == "r" else "backslashreplace")
        else:
            stream.reconfigure(encoding="utf-8", errors="surrogateescape" if name == "stdin" else "replace")
    if sys.getfilesystemencoding() != "utf-8":
        sys.argv = [os.fsencode(word).decode("utf-8", "surrogateescape") for word in sys.argv]


def _set_warnings() -> None:
    """Print each warning as one line, and obey ``--quiet`` and ``--strict`` anywhere."""
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    given = {"--quiet", "--strict"}.intersection(sys.argv[1:end])
    sys.argv[1:end] = [word for word in sys.argv[1:end] if word not in given]
    action: Any = "error" if "--strict" in given else "ignore" if "--quiet" in given else "always"
    warnings.simplefilter(action, DataWarning)
    if action == "always":
        warnings.simplefilter("error", WrongInputWarning)
    default = warnings.showwarning

    def show(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
        if not issubclass(category, DataWarning):
            return default(message, category, *where, **more)
        from epigram.files import shown

        print(f"epigram: warning: {shown(str(message))}", file=sys.stderr)

    warnings.showwarning = show
