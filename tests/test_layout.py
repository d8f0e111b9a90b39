"""The size of functions and packages, and tests that mirror the source tree."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import offenders
from test_prose import SOURCE, modules, name_of

TESTS = Path(__file__).parent
LONGEST, MOST = 80, 20
ELSEWHERE = {"experiments", "torture"}
"""Folders of tests that mirror no package of the library."""
WHOLE = {
    "adapters",
    "contributing",
    "documentation",
    "docstrings",
    "door",
    "estimators",
    "how_pages",
    "layout",
    "lock",
    "prose",
    "readme",
    "snapshots",
    "startup",
    "walks",
}
"""Tests of the repository as a whole, ``tests/test_NAME.py``."""


def long_functions() -> set[str]:
    """Functions of more than 80 lines, as ``module:name``."""
    return {
        f"{name}:{node.name}"
        for name, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno + 1 > LONGEST
    }


def large_packages() -> set[str]:
    """Packages of more than 20 modules; sub-packages are counted by themselves."""
    sizes = Counter(name_of(path.parent / "__init__.py") for path in SOURCE.rglob("*.py"))
    return {package for package, n in sizes.items() if n > MOST}


def unmirrored_tests() -> set[str]:
    """Test files ``tests/X/test_Y.py`` for which there is neither ``X/Y.py`` nor, where Y is the last of X, ``X``."""
    return {
        path.relative_to(TESTS).as_posix()
        for path in TESTS.rglob("test_*.py")
        if not mirrors(path.relative_to(TESTS))
    }


def mirrors(path: Path) -> bool:
    """Whether a test file is named after a module or the package in the same place, or needs no such name."""
    tested, folder = path.stem.removeprefix("test_"), path.parent
    if not folder.parts:
        return tested in WHOLE or (SOURCE / f"{tested}.py").exists()
    if folder.parts[0] in ELSEWHERE:
        return True
    places = (SOURCE / folder / f"{tested}.py", SOURCE / folder / tested / "__init__.py")
    return any(place.exists() for place in places) or (tested == folder.name and (SOURCE / folder).is_dir())


RULES: dict[str, Callable[[], set[str]]] = {
    "long-function": long_functions,
    "large-package": large_packages,
    "test-without-module": unmirrored_tests,
}


@pytest.mark.parametrize("rule", RULES)
def test_only_listed_places_break_a_rule(rule: str) -> None:
    offenders.compare(rule, RULES[rule]())


def test_a_test_is_named_after_a_module_or_its_package() -> None:
    names = ("solvers/test_sgd.py", "lm/test_lm.py", "lm/test_loglinear.py", "lm/loglinear/test_tree.py")
    assert all(mirrors(Path(name)) for name in (*names, "test_tuning.py", "torture/test_torture.py"))
    assert not any(mirrors(Path(name)) for name in ("solvers/test_nothing.py", "test_nothing.py"))
