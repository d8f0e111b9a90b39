"""Every example in a docstring runs as printed."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import epigram

PACKAGE = Path(epigram.__file__).parent
MODULES = sorted(
    ".".join(("epigram", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
    for path in PACKAGE.rglob("*.py")
    if ">>>" in path.read_text("utf-8")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = doctest.testmod(import_module(name))
    assert outcome.attempted > 0
    assert outcome.failed == 0
