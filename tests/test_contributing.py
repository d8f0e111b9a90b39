"""The examples in CONTRIBUTING.md run as printed."""

from __future__ import annotations

import doctest
from pathlib import Path


def test_examples_run() -> None:
    guide = Path(__file__).parents[1] / "CONTRIBUTING.md"
    outcome = doctest.testfile(str(guide), module_relative=False)
    assert outcome.attempted > 8
    assert outcome.failed == 0
