"""Starting up is cheap: heavy libraries are loaded by the commands that need them, never before."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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
        "import epigram.protocols, epigram.penalties, epigram.storage, epigram.files",
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


def test_help_loads_no_arrays() -> None:
    code = "import sys, epigram.cli\nsys.argv = ['epigram', '--help']\n"
    code += "try:\n    epigram.cli.main()\nexcept SystemExit:\n    pass\nassert 'numpy' not in sys.modules"
    done = run("-c", code)
    assert done.returncode == 0, done.stderr
    assert "[default: 64 MB + 100 times its size]" in " ".join(done.stdout.replace("│", " ").split())


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


def test_help_shows_every_text_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    from epigram.cli import COMMANDS, build

    monkeypatch.setenv("COLUMNS", "1000")
    n_texts = 0
    for name in COMMANDS:
        waiting = [((name,), build().commands[name])]
        while waiting:
            words, command = waiting.pop()
            waiting += [((*words, k), v) for k, v in getattr(command, "commands", {}).items()]
            texts = [d.help.replace("\\[", "[") for d in (command, *command.params) if d.help]
            shown = epigram(*words, "--help").stdout.decode().replace("│", " ").split()
            for text in texts:
                assert " ".join(text.split()) in " ".join(shown), words
            n_texts += len(texts)
    assert n_texts > 300


def test_version() -> None:
    import epigram

    assert run("-m", "epigram", "--version").stdout == f"epigram {epigram.__version__}\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "reproduce sgd-l1 --quick",
            "'reproduce' was removed; in a checkout of epigram's source run python -m",
        ),
        ("lm counts text -o file --order 3", "'lm counts' was removed; lm train reads the text itself"),
        ("lm train --counts file -o m", "--counts of 'epigram lm train' was removed; give the text that was"),
        (
            "tag run m text --cluster=local:2",
            "--cluster of 'epigram tag run' was removed; run the command on",
        ),
    ],
)
def test_removed_commands_and_options_name_their_replacement(words: str, said: str) -> None:
    done = epigram(*words.split())
    assert done.returncode == 2
    assert said in done.stderr.decode()


def test_every_removed_option_is_of_a_command_and_on_the_page_of_migration() -> None:
    from epigram.cli import build
    from epigram.cli.removed import COMMANDS, OPTIONS

    page = (Path(__file__).parents[1] / "docs" / "migration.md").read_text("utf-8")
    for path, options in OPTIONS.items():
        group, name = path.split()
        known = build().commands[group].commands[name]
        for option in options:
            assert " " in option or all(option not in parameter.opts for parameter in known.params)
            assert option in page
    assert all(command in page for command in COMMANDS)


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
