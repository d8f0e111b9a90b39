"""The README does what it says: its commands and its Python run, and print what it shows."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text("utf-8")
SHELL = "set -euo pipefail; exec 2>/dev/null\n"


def blocks(language: str) -> list[str]:
    """The fenced blocks of one language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.M | re.S)


def commands(block: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with the output shown below it."""
    found = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M)
    return [(command, shown) for command, shown in found]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("readme")


def test_commands_print_what_is_shown(folder: Path) -> None:
    every = [pair for block in blocks("console") for pair in commands(block)]
    assert len(every) >= 5
    mark = "=== end of command ==="
    script = SHELL + "".join(f"{command}\necho '{mark}'\n" for command, _ in every)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    run = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=os.environ | {"PATH": path}, capture_output=True, text=True
    )
    printed = run.stdout.split(mark + "\n")
    check = doctest.OutputChecker()
    for (command, shown), got in zip(every, printed, strict=False):
        assert check.check_output(shown, got, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE), (
            command,
            shown,
            got,
        )
    assert run.returncode == 0
    assert len(printed) == len(every) + 1


def test_python_prints_what_is_shown(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for k, block in enumerate(blocks("python")):
        runner.run(doctest.DocTestParser().get_doctest(block, {}, f"README {k}", "README.md", 0))
    assert runner.tries >= 4
    assert runner.failures == 0


def test_make_targets_and_links_exist() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    named = re.findall(r"\bmake ([a-z-]+)", TEXT)
    assert {"demo", "test"} <= set(named)
    assert [
        name for name in named if not re.search(rf"^(?:[a-z -]* )?{name}(?: [a-z -]*)?:", makefile, re.M)
    ] == []
    links = re.findall(r"\]\((?!https?:)([^)#]+)", TEXT)
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_it_is_short() -> None:
    assert TEXT.count("\n") <= 130
