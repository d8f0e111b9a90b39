"""The mechanical part of the style rules: first lines of docstrings, class names, and words that are not used."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

import epigram
import offenders

SOURCE = Path(epigram.__file__).parent
LONGEST = 90
OPENING = re.compile(r"(what|who|where|how)\b", re.IGNORECASE)
PHRASES = re.compile(
    r"\b(second looks?|shel(f|ves)|gathering|guards?|surroundings|jack-knifed|twins?|houses?|doors?|where it stands"
    r"|who may ask what|of its own|made anew|for nothing)\b",
    re.IGNORECASE,
)
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@cache
def modules() -> dict[str, ast.Module]:
    """The syntax trees of the package by dotted name, without the generated bindings."""
    paths = [path for path in sorted(SOURCE.rglob("*.py")) if path.name != "bindings.py"]
    return {name_of(path): ast.parse(path.read_text("utf-8")) for path in paths}


def name_of(path: Path) -> str:
    """Dotted name of a source file."""
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def first_lines(tree: ast.AST) -> Iterator[str]:
    """First lines of all docstrings."""
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and (text := ast.get_docstring(node)):
            yield text.splitlines()[0]


def sentences(tree: ast.AST) -> Iterator[str]:
    """All strings that hold more than one word: docstrings, help and messages."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            yield " ".join(node.value.split())


def public_classes(tree: ast.AST) -> set[str]:
    """Names of the classes that a module defines, but private ones."""
    found = (node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    return {name for name in found if not name.startswith("_")}


def breaking(broken: Callable[[ast.AST], bool]) -> set[str]:
    """Names of modules that break a rule."""
    return {name for name, tree in modules().items() if broken(tree)}


def long_first_lines() -> set[str]:
    return breaking(lambda tree: any(len(line) > LONGEST for line in first_lines(tree)))


def question_openings() -> set[str]:
    return breaking(lambda tree: any(OPENING.match(line) for line in first_lines(tree)))


def banned_phrases() -> set[str]:
    return breaking(lambda tree: any(PHRASES.search(text) for text in sentences(tree)))


def repeated_class_names() -> set[str]:
    times = Counter(name for tree in modules().values() for name in public_classes(tree))
    return {name for name, n in times.items() if n > 1}


RULES: dict[str, Callable[[], set[str]]] = {
    "long-first-line": long_first_lines,
    "question-opening": question_openings,
    "banned-phrase": banned_phrases,
    "repeated-class-name": repeated_class_names,
}


@pytest.mark.parametrize("rule", RULES)
def test_only_listed_places_break_a_rule(rule: str) -> None:
    offenders.compare(rule, RULES[rule]())


def test_the_rules_find_what_they_look_for() -> None:
    tree = ast.parse(f'"""How a twin is made."""\nclass A: pass\nclass _B:\n    """{"x" * 91}"""\n')
    assert [len(line) > LONGEST for line in first_lines(tree)] == [False, True]
    assert [bool(OPENING.match(line)) for line in first_lines(tree)] == [True, False]
    assert [text for text in sentences(tree) if PHRASES.search(text)] == ["How a twin is made."]
    assert public_classes(tree) == {"A"}
