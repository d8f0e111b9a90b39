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
    from epigram.cli.run import GracefulStop

    def asked_at_once(self, on_first=lambda: None):
        self.asked, self._on_first = True, on_first

    # Of the class itself: a module that is first imported meanwhile would keep another class for good.
    monkeypatch.setattr(GracefulStop, "__init__", asked_at_once)
