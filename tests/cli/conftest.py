"""Run a command line inside the test's process."""

from __future__ import annotations

import sys

import pytest

from epigram.cli import main


@pytest.fixture
def run(monkeypatch, capsys):
    """Run a command line; gives (exit code, standard output, standard error)."""

    def runner(*arguments):
        monkeypatch.setattr(sys, "argv", ["epigram", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as leaving:
            code = int(leaving.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return runner


@pytest.fixture
def interrupted(monkeypatch):
    """Every training is asked to stop as soon as it begins."""
    from epigram.cli import training

    class AskedAtOnce:
        asked = True

        def __init__(self, on_first):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    monkeypatch.setattr(training, "GracefulStop", AskedAtOnce)
