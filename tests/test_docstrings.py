"""Every example in a docstring runs as printed."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import epigram
import experiments

MODULES = sorted(
    ".".join(path.relative_to(home.parent).with_suffix("").parts).removesuffix(".__init__")
    for home in (Path(package.__file__ or "").parent for package in (epigram, experiments))
    for path in home.rglob("*.py")
    if ">>>" in path.read_text("utf-8")
)
NEEDS = {"epigram.compat.nltk": "nltk", "epigram.compat.spacy": "spacy"}


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    outcome = doctest.testmod(import_module(name))
    assert outcome.attempted > 0
    assert outcome.failed == 0
