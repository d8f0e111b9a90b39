"""The front door: public names are listed once, resolve, and have their types."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import epigram
import epigram.lm
import epigram.tagging

RIGHT = """\
from epigram import CRFTagger, KneserNeyLM, LogLinearLM, load, read_arpa
tagger: CRFTagger = CRFTagger(l1=3.0)
order: int = KneserNeyLM(order=3).order
perplexity: float = read_arpa("model.arpa").perplexity([["a"]])
"""
WRONG = {
    "from epigram import CRFTagger\nCRFTagger(l11=3)\n": "l11",
    "from epigram import CRFTager\n": "CRFTager",
    "from epigram import read_arpa\nread_arpa(3)\n": "arg-type",
    "from epigram.lm import LogLinearLM\nLogLinearLM(order='five')\n": "arg-type",
}
OTHERS = {
    *("_asdict", "_fields", "_replace"),
    *("_exit", "_parser", "_constants", "_compiler", "_sre", "_EXTRA_CASES"),
    "_gather",
}
"""Private names of tuples, of the standard library and of Dask that we ask for."""


def mypy(snippet: str, folder: Path) -> str:
    path = folder / "snippet.py"
    path.write_text(snippet)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(folder / "cache"), str(path)],
        capture_output=True,
        text=True,
        cwd=folder,
    )
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mypy")


def test_right_use_passes_a_type_checker(folder: Path) -> None:
    assert mypy(RIGHT, folder).startswith("Success")


@pytest.mark.parametrize("snippet", WRONG)
def test_wrong_use_fails_a_type_checker(snippet: str, folder: Path) -> None:
    said = mypy(snippet, folder)
    assert "snippet.py" in said
    assert WRONG[snippet] in said


@pytest.mark.parametrize("package", [epigram, epigram.lm, epigram.tagging])
def test_every_listed_name_resolves(package: object) -> None:
    names = package.__all__  # type: ignore[attr-defined]
    assert len(names) > 5
    for name in names:
        assert getattr(package, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        package.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_private_names_stay_in_their_file() -> None:
    assert borrowed(ast.parse("model._online = tagger._check()")) == {"_online", "_check"}
    assert (
        borrowed(ast.parse("class A:\n    def _own(self): return self._b + other._b + other._own()")) == set()
    )
    source = Path(epigram.__file__).parent
    found = {
        path: borrowed(ast.parse(path.read_text("utf-8"))) - OTHERS
        for path in source.rglob("*.py")
        if path.name != "bindings.py"
    }
    assert len(found) > 100
    assert {str(path): names for path, names in found.items() if names} == {}


def borrowed(tree: ast.Module) -> set[str]:
    """Private attributes that a file asks for and neither defines nor has on ``self`` or ``cls``."""
    own, asked = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            own.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            own.add(node.id)
        elif isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.endswith("__"):
            is_own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            (own if is_own else asked).add(node.attr)
    return asked - own
