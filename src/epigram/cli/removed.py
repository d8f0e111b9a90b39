"""Removed commands and options, with the sentence that names the replacement."""

from __future__ import annotations

from typing import Any

from epigram.errors import InputError

_BALL = "train with --l1, or in Python with solver='fista' and penalty=L1Ball(R)"
_CHUNKED = {"--cluster": "run the command on chunks of the file in parallel, as docs/scale.md shows"}
_IN_MEMORY = "leave it out: the text is read into memory"
COMMANDS = {
    "lm counts": "lm train reads the text itself",
    "lm filter": "epigram filter TEXT -o OUT --model MODEL reads lines too, and --score '' leaves them as they are",
    "reproduce": "in a checkout of epigram's source run python -m experiments",
}
OPTIONS: dict[str, dict[str, str]] = {
    "ime convert": _CHUNKED,
    "lm classes": {"--shards": _IN_MEMORY, "--n-shards": _IN_MEMORY, "--cluster": _IN_MEMORY},
    "lm score": _CHUNKED,
    "lm train": {"--counts": "give the text that was counted"},
    "rerank run": _CHUNKED,
    "tag run": _CHUNKED,
    "tag train": {
        "--solver projected": _BALL,
        "--radius": _BALL,
    },
}
"""Of each command: an option, or an option with one of its values, and what to use instead."""


def refuse_command(path: str) -> None:
    """Refuse a removed command, such as ``lm counts``, by naming its replacement."""
    if path in COMMANDS:
        raise InputError(f"the command {path!r} was removed; {COMMANDS[path]}")


def name_replacements(command: Any, path: str) -> Any:
    """Make a command answer a removed option with its replacement."""
    if path not in OPTIONS:
        return command
    parse = command.parse_args

    def parse_args(context: Any, words: list[str]) -> Any:
        given = f" {' '.join(words).replace('=', ' ')} "
        try:
            return parse(context, words)
        except Exception as error:
            if not hasattr(error, "format_message"):  # click's, wherever typer has it from
                raise
            for old, instead in OPTIONS[path].items():
                if f" {old} " in given:
                    raise InputError(f"{old} of 'epigram {path}' was removed; {instead}") from None
            raise

    command.parse_args = parse_args
    return command
