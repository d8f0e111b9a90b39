"""Starting up is cheap: heavy libraries are loaded by the commands that need them, never before."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from in_process import epigram

HEAVY = ("numba", "scipy", "sklearn", "matplotlib", "pooch", "requests", "dask", "distributed")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=600)


def loaded_after(statement: str) -> set[str]:
    """The heavy libraries that are loaded once ``statement`` has run in a fresh interpreter."""
    code = f"import sys\ntry:\n    {statement}\nexcept SystemExit:\n    pass\n"
    code += f"print('loaded:', *(name for name in {HEAVY} if name in sys.modules))"
    done = run("-c", code)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].removeprefix("loaded:").split())


@pytest.mark.parametrize(
    "statement",
    [
        "import epigram",
        "import epigram.protocols, epigram.penalties, epigram.storage, epigram.text",
        "import epigram.datasets, epigram.datasets.sample",
        "import epigram; epigram.L1(1.0); dir(epigram)",
        "import epigram.cli; epigram.cli.main()",
    ],
)
def test_importing_loads_nothing_heavy(statement: str) -> None:
    assert loaded_after(statement) == set()


@pytest.mark.parametrize(
    "words",
    ["--help", "--version", "data --help", "data list", "data path sample", "inspect --help", "nonsense"],
)
def test_light_commands_load_nothing_heavy(words: str) -> None:
    argv = ["epigram", *words.split()]
    assert loaded_after(f"import epigram.cli; sys.argv = {argv}; epigram.cli.main()") == set()


def test_help_names_every_command() -> None:
    from epigram.cli import COMMANDS

    done = run("-m", "epigram", "--help")
    assert done.returncode == 0
    for name in COMMANDS:
        assert name in done.stdout
    assert done.stderr == ""


def test_every_command_has_a_module_with_help() -> None:
    from epigram.cli import COMMANDS

    for name in COMMANDS:
        done = epigram(name, "--help")
        assert done.returncode == 0, done.stderr
        assert b"Usage" in done.stdout


def test_version() -> None:
    import epigram

    assert run("-m", "epigram", "--version").stdout == f"epigram {epigram.__version__}\n"


def test_unknown_command_and_option_are_bad_use() -> None:
    for words in (["nonsense"], ["data", "nonsense"], ["inspect", "--nonsense"]):
        done = epigram(*words)
        assert done.returncode == 2
        assert done.stdout == b""
        assert b"nonsense" in done.stderr


def test_public_names_resolve_and_unknown_ones_do_not() -> None:
    import epigram

    for name in epigram.__all__:
        assert getattr(epigram, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'CRFTager'"):
        epigram.CRFTager  # noqa: B018


@pytest.mark.parametrize(
    ("typed", "expected"),
    [("epigram ", ["lm", "tag", "rerank", "ime"]), ("epigram lm ", ["train", "eval", "next"])],
)
def test_shells_complete_commands(typed: str, expected: list[str]) -> None:
    asked = {"_EPIGRAM_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    done = subprocess.run(
        [sys.executable, "-c", "import sys; sys.argv = ['epigram']; from epigram.cli import main; main()"],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, **asked},
    )
    assert set(expected) <= set(done.stdout.split()), done.stderr


def test_names_load_numpy_and_leave_the_environment_as_it_was() -> None:
    code = "import os; before = dict(os.environ); import sys, epigram; epigram.CRFTagger\n"
    code += "assert 'numpy' in sys.modules and 'concurrent.futures' not in sys.modules\n"
    code += "assert dict(os.environ) == before"
    done = run("-c", code)
    assert done.returncode == 0, done.stderr
