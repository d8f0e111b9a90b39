"""Writes what tests compare: help of every command, OpenAPI document, generated pages of the documentation.

    python tools/snapshots.py

Run it after a change of options, help texts, routes or import contracts, and review the difference before it is
committed.
"""

from __future__ import annotations

import json
import os
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

TESTS = Path(__file__).parents[1] / "tests"
BORDERS = re.compile("[─│╭╮╰╯]+")


def snapshots() -> dict[Path, str]:
    """Return the content of every snapshot by its path."""
    from epigram import cli

    found = {TESTS / f"cli/snapshots/{name}.txt": help_of(name) for name in cli.COMMANDS}
    found[TESTS / "cli/snapshots/epigram.txt"] = help_text()
    found[TESTS / "serve/snapshots/openapi.json"] = openapi()
    found[TESTS.parent / "js/generated/schemas.mjs"] = import_module("tools.schemas").schemas()
    found.update(import_module("tools.reference").reference())
    return found


def help_of(name: str) -> str:
    """Return the help of a command and of all commands below it."""
    from epigram import cli

    waiting: list[tuple[tuple[str, ...], Any]] = [((name,), cli.build().commands[name])]
    texts = []
    while waiting:
        words, command = waiting.pop(0)
        waiting += [((*words, inner), found) for inner, found in getattr(command, "commands", {}).items()]
        texts.append(help_text(*words))
    return "\n".join(texts)


def help_text(*words: str) -> str:
    """Return what ``epigram WORDS --help`` prints, an option a line, without borders and padding."""
    with mock.patch.dict(os.environ, {"COLUMNS": "1000", "TERM": "dumb"}):
        shown = import_module("in_process").epigram(*words, "--help").stdout.decode()
    lines = (" ".join(BORDERS.sub(" ", line).split()) for line in shown.splitlines())
    return "".join(f"{line}\n" for line in lines if line)


def openapi() -> str:
    """Return the OpenAPI document, without the version of the package."""
    from epigram.serve.app import OPERATIONS, describe_api

    described = describe_api(OPERATIONS)
    described["info"].pop("version")
    return json.dumps(described, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def main() -> None:
    """Write all snapshots, and delete those of commands that are gone."""
    sys.path += [str(TESTS), str(TESTS.parent)]
    found = snapshots()
    for folder in {path.parent for path in found}:
        folder.mkdir(exist_ok=True)
        for path in set(folder.iterdir()) - set(found):
            path.unlink()
    for path, content in found.items():
        path.write_text(content, "utf-8")


if __name__ == "__main__":
    main()
