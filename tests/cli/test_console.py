"""What commands share: JSON that any program reads, numbers that people read, tables that pipes do not fold."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

from epigram import cli
from epigram.cli import console
from epigram.errors import DataWarning


def test_json_of_numpy_and_of_what_json_has_no_word_for(capsys: pytest.CaptureFixture[str]) -> None:
    console.print_json(
        {
            "nan": float("nan"),
            "inf": np.float32("inf"),
            "count": np.int64(3),
            "flag": np.bool_(True),
            "vector": np.array([1.0, np.nan]),
            "nested": [{"x": (1, -np.inf)}],
            "text": "日本 [bold]",
        }
    )
    assert json.loads(capsys.readouterr().out) == {
        "nan": None,
        "inf": None,
        "count": 3,
        "flag": True,
        "vector": [1.0, None],
        "nested": [{"x": [1, None]}],
        "text": "日本 [bold]",
    }


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1234567, "1,234,567"),
        (0.0, "0"),
        (0.93662, "0.9366"),
        (1234.56, "1,234.6"),
        (1.5e-7, "1.500e-07"),
        (2.5e9, "2.500e+09"),
        (True, "yes"),
        (None, "-"),
        ("U00:[x]", "U00:[x]"),
    ],
)
def test_numbers_for_people(value: object, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    console.table("title", ("column",), [(value,)])
    assert shown in capsys.readouterr().out.split()


def test_a_piped_table_does_not_fold_at_80(capsys: pytest.CaptureFixture[str]) -> None:
    console.table("title", ("a", "b"), [("x" * 60, "y" * 60)])
    assert any("x" * 60 in line and "y" * 60 in line for line in capsys.readouterr().out.splitlines())


def test_facts_are_lines_without_an_empty_head(capsys: pytest.CaptureFixture[str]) -> None:
    console.facts("fit", {"active_features": 1234, "solver": {"name": "SGD", "passes": 30}})
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert lines == ["fit", "active features  1,234", "solver           name SGD, passes 30", ""]


def test_progress_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    with console.progress() as bars:
        task = bars.add_task("training", total=2, status="")
        bars.update(task, completed=2, status="objective 7")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "2/2 objective 7" in captured.err


def test_stopwatch_goes_forward() -> None:
    watch = console.Stopwatch()
    sum(range(100_000))
    assert watch.cpu_seconds > 0
    assert 0 < watch.seconds <= watch.seconds


@pytest.mark.parametrize(
    ("flags", "code", "err"),
    [
        ([], 0, "epigram: warning: all labels are 'O'\n"),
        (["--quiet"], 0, ""),
        (["--strict"], 2, "epigram: all labels are 'O'\n"),
    ],
)
def test_warnings_are_printed_dropped_or_errors(flags, code, err, monkeypatch, run) -> None:
    def warn() -> None:
        warnings.warn("all labels are 'O'", DataWarning, stacklevel=2)

    run_app = cli.run_app
    monkeypatch.setattr(cli, "run_app", lambda _: run_app(warn))
    assert run("data", "list", *flags) == (code, "", err)
