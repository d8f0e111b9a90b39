"""Regular expressions of templates: Python's answers, and no pattern that takes long."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epigram import CRFTagger
from epigram.errors import InputError
from epigram.features.cell_functions import CellFunction, apply_chain
from epigram.features.regex import compile_search
from epigram.storage.file import ModelFile

letters = st.sampled_from(["a", "b", "[ab]", "[^a]", ".", r"\d", r"\w", "a|b", "^", "$", r"\b", "(?:ab)?"])
patterns = st.recursive(
    letters,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        inner.map(lambda p: f"(?:{p})*"),
        inner.map(lambda p: f"({p})+?"),
        inner.map(lambda p: f"(?:{p}){{1,3}}"),
    ),
    max_leaves=5,
)


@given(pattern=patterns, text=st.text("abAß1 \n_", max_size=12), flags=st.sampled_from(["", "(?i)", "(?s)"]))
def test_the_same_as_python_or_refused(pattern: str, text: str, flags: str) -> None:
    try:
        search = compile_search(flags + pattern)
    except ValueError:
        assert re.search("[*+}].*[*+}?|]|[|?].*[*+}]", pattern)  # two of them, which may be nested
        return
    assert search(text) == (re.search(flags + pattern, text) is not None)


@pytest.mark.parametrize(
    "pattern",
    ["a*a*a*a*a*a*b", "a*a*b", ".*.*.*x", "(?:a?){1}a?a?a?a?a?a?a?b", "(?:a+)?(?:a+|.+)?b", ".*a.*?a.*x"],
)
def test_accepted_patterns_are_fast(pattern: str) -> None:
    begun = time.process_time()
    assert CellFunction.parse(f"match:{pattern}")("a" * 20_000 + "!") == ("0",)
    assert time.process_time() - begun < 2


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("^(a+)+$", "a repeat or alternatives inside a repeat"),
        ("(?:ab|a.)*c", "a repeat or alternatives inside a repeat"),
        ("(?:(?:a?b)*)?", "a repeat or alternatives inside a repeat"),
        (r"(a)\1", "a back reference, look-around"),
        ("(?=a)b", "a back reference, look-around"),
        ("(?<!a)b", "a back reference, look-around"),
        ("(a)?(?(1)b|c)", "a back reference, look-around"),
        ("(?:a|.)" * 30, "too many repeats and alternatives"),
        ("a*" * 30, "too many repeats and alternatives"),
        ("(?:^){5000}", "more than 1,000 times"),
        ("a(", "bad regular expression 'a\\('"),
    ],
)
def test_slow_patterns_are_refused(pattern: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        CellFunction.parse(f"match:{pattern}")


def test_the_first_thousand_characters_are_searched() -> None:
    search = compile_search("b+")
    assert search("a" * 999 + "b")
    assert not search("a" * 1000 + "b")


def test_a_model_file_with_a_refused_pattern(tmp_path: Path) -> None:
    path = tmp_path / "model.epigram"
    CRFTagger("U0:%x[0,0|match:a+$]", l1=0.1).fit([["a", "b"]], [["A", "B"]]).save(path)
    file = ModelFile.load(path)
    file.header["template"] = "U0:%x[0,0|match:(a+)+$]"
    file.save(path)
    with pytest.raises(InputError) as told:
        CRFTagger.load(path)
    assert str(told.value) == (
        f"{path}: its template cannot be used: template:1: the regular expression '(a+)+$' has a repeat or "
        "alternatives inside a repeat, which can take exponential time; use a pattern without them"
    )


def test_products_are_bounded() -> None:
    twice = (CellFunction.parse("substrings:99"),) * 2
    assert len(apply_chain(twice, "abcd")) == 10
    for cell in ("".join(map(chr, range(200, 370))), "a" * 100_000):
        with pytest.raises(InputError, match=r"more than 20,000 values of the cell"):
            apply_chain(twice, cell)
