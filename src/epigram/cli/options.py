"""Options that commands share, and options from docstrings of commands and constructors.

An option of a command has its name, type and default from a parameter, and its help from the entry in the docstring:
``nbest K >= 1 : Number of trees to print.`` has the metavar K and a minimum, ``output -o FILE : File to write.``
also a short name. A parameter without a default, or with a metavar like ``[FILE]`` or ``FILE...``, is an argument.
Sections of the docstring other than Parameters are panels of the help.

An option derived from a constructor has the first sentence of the entry there. It is None where it is not given, so
that each default is written once.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

import typer

from epigram.errors import EpigramError, InputError

EVERY = 60.0
"""Seconds between checkpoints, unless an option says otherwise."""
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]
JsonLines = Annotated[bool, typer.Option("--json", help="Print JSON lines, one object per sentence.")]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file (*.epigram).")]
ModelOutput = Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="Model file to write.")]
Output = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="File to write.")]
Plot = Annotated[Path | None, typer.Option(metavar="FILE.png|svg", help="Draw the training into this file.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the random numbers; same seed, same result.")]
Text = Annotated[
    Path,
    typer.Argument(metavar="TEXT", help="Text, one sentence per line (gzip too); - reads standard input."),
]
Threads = Annotated[int, typer.Option(min=1, help="Number of threads.")]
Seconds = Annotated[
    float,
    typer.Option(
        "--checkpoint",
        metavar="SECONDS",
        min=0.0,
        help="Seconds between checkpoints, written to MODEL.checkpoint; 0 disables them.",
    ),
]
Resume = Annotated[
    bool, typer.Option("--resume", help="Resume the same command from MODEL.checkpoint, if it was stopped.")
]
Options: TypeAlias = list[inspect.Parameter]
"""Options of a command, as keyword parameters."""
Bounds: TypeAlias = Mapping[str, tuple[float | None, float | None]]
Function: TypeAlias = Callable[..., None]


def parameters(function: Callable[..., Any]) -> Options:
    """Return the options that are the parameters of a function."""
    entries: dict[str, tuple[list[str], dict[str, Any]]] = {}
    text = inspect.cleandoc(function.__doc__ or "")
    for title, block in re.findall(r"^(\w.*)\n-+\n((?:.+\n?)*)", text, re.MULTILINE):
        panel = None if title == "Parameters" else title
        for entry in re.split(r"\n(?=\S)", block.strip()):
            head, _, text = entry.partition(" : ")
            name, *words = head.split()
            entries[name] = words, {"help": " ".join(text.split()), "rich_help_panel": panel}
    found = []
    for one in inspect.signature(function, eval_str=True).parameters.values():
        if one.kind is inspect.Parameter.VAR_KEYWORD:
            continue
        annotation: Any = one.annotation
        if one.name in entries:
            annotation = Annotated[annotation, _option(one, *entries.pop(one.name))]
        found.append(one.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=annotation))
    assert not entries, f"{function.__module__} describes {', '.join(entries)}, which it does not take"
    return found


def _option(parameter: inspect.Parameter, words: list[str], settings: dict[str, Any]) -> Any:
    """Return an option or argument of typer, from the words after its name in a docstring."""
    for sign, bound in (("<=", "max"), (">=", "min")):
        if sign in words:
            at = words.index(sign)
            settings[bound] = float(words[at + 1]) if "." in words[at + 1] else int(words[at + 1])
            del words[at : at + 2]
    flags = [word for word in words if word.startswith("-")]
    metavar = " ".join(word for word in words if word not in flags)
    settings |= {"metavar": metavar} if metavar else {}
    if not flags and (parameter.default is parameter.empty or re.match(r"\[[A-Z]|.*\.\.\.", metavar)):
        return typer.Argument(**{"metavar": parameter.name.upper(), **settings})
    if not any(flag.startswith("--") for flag in flags) and len(parameter.name) > 1:
        flags.insert(0, f"--{parameter.name.replace('_', '-')}")  # of a bool, without --no-...
    return typer.Option(*flags, **settings)


def description(function: Callable[..., Any]) -> str:
    """Return the docstring of a command without its sections."""
    return re.split(r"\n\n\w.*\n-+\n", inspect.cleandoc(function.__doc__ or ""))[0]


def _training(
    output: ModelOutput,
    checkpoint: Seconds = EVERY,
    resume: Resume = False,
    plot: Plot = None,
    json: Json = False,
) -> None: ...


TRAINING = parameters(_training)
"""Options of a command that trains a model; :meth:`epigram.cli.run.TrainingRun.of` reads them."""


def options(
    kinds: type | Mapping[str, type],
    panel: str | None = None,
    *,
    only: Iterable[str] | None = None,
    skip: Iterable[str] = (),
    bounds: Bounds | None = None,
    defaults: Mapping[str, str] | None = None,
    readers: Mapping[str, tuple[str, Callable[[str], Any]]] | None = None,
) -> Options:
    """Return an option for each parameter of a constructor that can be written as text.

    Several constructors share the options that they have in common; of their names, help shows those that differ in a
    default or lack an option. Integers are at least 1 and floats at least 0, unless ``bounds`` says otherwise.
    ``defaults`` are shown in place of the constructor's where the command chooses others; ``readers`` give the form of
    a value, and a function that reads it, where the type says too little.
    """
    several = {"": kinds} if isinstance(kinds, type) else kinds
    having: dict[str, dict[str, type]] = {}
    for name, kind in several.items():
        for parameter in inspect.signature(kind).parameters:
            having.setdefault(parameter, {})[name] = kind
    found = []
    for parameter, able in having.items():
        if parameter in skip or (only is not None and parameter not in only):
            continue
        first = next(iter(able.values()))
        hint = _hints(first).get(parameter, object)
        if parameter in (readers or {}):
            metavar, read = (readers or {})[parameter]
            reader: Any = str, {"metavar": metavar, "parser": read}
        elif (reader := _reader(hint, parameter, (bounds or {}).get(parameter))) is None:
            continue
        accepted, settings = reader
        sentence = described(first).get(parameter, "")
        if len(able) < len(several):
            sentence = f"{sentence.rstrip('.')} ({', '.join(able)})."
        default = (defaults or {}).get(parameter) or _defaults(parameter, able)
        shown = f" [default: {default}]" if default else ""
        settings |= {"help": sentence + shown, "rich_help_panel": panel}
        annotation: Any = Annotated[accepted | None, typer.Option(**settings)]
        found.append(
            inspect.Parameter(parameter, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        )
    return found


def _defaults(name: str, kinds: Mapping[str, type]) -> str:
    """The default of a parameter, and those of the constructors where it differs."""
    shown: dict[str, str] = {}
    for kind, made in kinds.items():
        default = inspect.signature(made).parameters[name].default
        written = "" if default in (None, inspect.Parameter.empty, ()) else _written(default)
        if written not in shown.values():
            shown[kind] = written
    found = [
        f"{kind} {written}" if k else written for k, (kind, written) in enumerate(shown.items()) if written
    ]
    return "; ".join(found)


def derived(*groups: Options) -> Callable[[Function], Function]:
    """Give a command more options, whose values it takes as ``**settings``.

    Of two options with one name the command's own wins, then the first.
    """

    def decorate(command: Function) -> Function:
        named = {one.name: one for one in parameters(command)}
        for option in (one for group in groups for one in group):
            named.setdefault(option.name, option)
        whole: Any = command
        whole.__signature__ = inspect.Signature(list(named.values()))
        whole.__annotations__ = {name: one.annotation for name, one in named.items()}
        return command

    return decorate


def given(
    settings: Mapping[str, Any],
    kinds: Mapping[str, type],
    chosen: str,
    option: str,
    *,
    skip: Iterable[str] = (),
) -> dict[str, Any]:
    """Return the settings given for some constructors; refuse those that the chosen one lacks.

    Examples
    --------
    >>> from epigram.solvers import OWLQN, SGD
    >>> kinds = {"sgd": SGD, "owlqn": OWLQN}
    >>> given({"passes": 3, "decay": None, "min_count": 2}, kinds, "sgd", "--solver")
    {'passes': 3}
    >>> given({"decay": 0.5}, kinds, "owlqn", "--solver")
    Traceback (most recent call last):
        ...
    epigram.errors.InputError: --decay has no meaning with --solver owlqn; leave it out, or use --solver sgd
    """
    found = {}
    for name, value in settings.items():
        able = [kind for kind, made in kinds.items() if name in inspect.signature(made).parameters]
        if value is None or not able or name in skip:
            continue
        if chosen not in able:
            raise InputError(
                f"--{name.replace('_', '-')} has no meaning with {option} {chosen}; "
                f"leave it out, or use {option} {' or '.join(able)}"
            )
        found[name] = value
    return found


def described(kind: type) -> dict[str, str]:
    """Return the first sentence of each entry under Parameters in the docstring of a class.

    Examples
    --------
    >>> from epigram.solvers import SGD
    >>> described(SGD)["batch_size"]
    'Number of samples per step.'
    """
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        block = re.split(r"\n(?:Parameters|Attributes)\n-+\n", inspect.cleandoc(base.__doc__ or ""))[1:2]
        for entry in re.split(r"\n(?=\S)", block[0].split("\n\n")[0]) if block else ():
            names, _, text = entry.partition(" : ")
            text = re.sub(r"\s*\(:\w+:`[^`]*`\)", "", " ".join(text.split()))
            text = re.sub(r'``"?([^`"]*)"?``', r"\1", text)
            sentence = re.split(r"\.(?=\s|$)", text, maxsplit=1)[0]
            for name in names.split(","):
                found[name.strip()] = f"{sentence[:1].upper()}{sentence[1:]}."
    return found


def _hints(kind: type) -> dict[str, Any]:
    """The annotations of a constructor; ``object`` for names that only type checkers import."""
    found: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        names, init = vars(sys.modules[base.__module__]), vars(base).get("__init__")
        texts = inspect.get_annotations(base) if is_dataclass(base) else getattr(init, "__annotations__", {})
        for name, text in texts.items():
            try:
                found[name] = eval(text, dict(names)) if isinstance(text, str) else text
            except NameError:
                found[name] = object
    return found


def _reader(hint: Any, name: str, bounds: tuple[float | None, float | None] | None) -> Any:
    """The type that typer takes for an annotation, and settings of its option; None for objects."""
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    words = [word for part in parts if get_origin(part) is Literal for word in get_args(part)]
    kinds = [get_origin(part) or part for part in parts]
    if numbers := [kind for kind in kinds if kind in (int, float)]:
        least, most = bounds or ((1, None) if numbers[0] is int else (0.0, None))
        if not words:
            return numbers[0], {"min": least, "max": most}
        read = partial(number_or_word, name=name, words=words, number=numbers[0], least=least)
        return str, {"parser": read, "metavar": "|".join([*words, "N" if numbers[0] is int else "X"])}
    if Mapping in kinds:
        read = partial(weights_or_word, name=name, words=words)
        return str, {"parser": read, "metavar": "|".join([*words, "LABEL=W,..."])}
    if words:
        return Literal[tuple(words)], {}
    if tuple in kinds:
        (sequence,) = (part for part in parts if get_origin(part) is tuple)
        if get_args(sequence)[0] is int:
            return str, {"parser": partial(integers, name=name), "metavar": "N,N"}
        return list[str], {"metavar": "TEXT"}
    if PathLike in kinds:
        return Path, {"metavar": "FILE"}
    simple = [kind for kind in kinds if kind in (bool, str)]
    return (simple[0], {}) if simple else None


def number_or_word(
    text: str, *, name: str, words: list[str], number: type[int] | type[float], least: float | None
) -> Any:
    """Read one of some words, or a number."""
    if text in words:
        return text
    try:
        value = number(text)
    except ValueError:
        value = number(-1)
    if (least is not None and value < least) or not value < float("inf"):
        what = "a whole number" if number is int else "a number"
        at_least = "" if least is None else f" of at least {least:g}"
        raise refusal(name, f"{' or '.join(words)} or {what}{at_least}, not {text!r}")
    return value


def weights_or_word(text: str, *, name: str, words: list[str]) -> Any:
    """Read one of some words, or ``LABEL=W,LABEL=W``."""
    if text in words:
        return text
    weights = {}
    for item in text.split(","):
        label, equals, number = item.rpartition("=")
        try:
            weights[label] = float(number)
        except ValueError:
            equals = ""
        if not equals or not 0.0 <= weights[label] < float("inf"):
            raise refusal(name, f"{' or '.join(words)} or LABEL=W,LABEL=W with W >= 0, not {item!r}")
    return weights


def integers(text: str, *, name: str, least: int | None = None) -> tuple[int, ...]:
    """Read whole numbers between commas."""
    parts = [part.strip() for part in text.split(",")]
    if not all(re.fullmatch(r"-?\d{1,9}", part) and (least is None or int(part) >= least) for part in parts):
        at_least = "" if least is None else f" of at least {least}"
        raise refusal(name, f"whole numbers{at_least} such as 100,500, not {text!r}")
    return tuple(map(int, parts))


def numbers(text: str, *, name: str) -> list[float]:
    """Read numbers between commas."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise refusal(name, f"numbers such as 1,2, not {text!r}") from None


def refusal(name: str, why: str) -> EpigramError:
    """Return the error of a value; no ValueError, whose text typer would replace."""
    return EpigramError(f"{'-' if len(name) == 1 else '--'}{name.replace('_', '-')} is {why}")


def _written(default: Any) -> str:
    if isinstance(default, bool):
        return "yes" if default else "no"
    return f"{default:g}" if isinstance(default, float) else str(default)
