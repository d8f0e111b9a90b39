"""Regular expressions in linear time: the same answers as Python's, no way to hang."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epigram.errors import InputError
from epigram.tagging.cell_functions import CellFunction, apply_chain
from epigram.tagging.linear_regex import LinearRegex

letters = st.sampled_from(["a", "b", "[ab]", "[^a]", ".", r"\d", r"\w", "a|b", "^", "$", r"\b", "(?:ab)?"])
patterns = st.recursive(
    letters,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        inner.map(lambda p: f"(?:{p})*"),
        inner.map(lambda p: f"({p})+"),
        inner.map(lambda p: f"(?:{p}){{1,3}}"),
    ),
    max_leaves=5,
)


@given(pattern=patterns, text=st.text("abAß1 \n_", max_size=12), ignore=st.booleans())
def test_the_same_as_python(pattern: str, text: str, ignore: bool) -> None:
    pattern = (
        f"(?i){pattern.upper()}".replace(r"\D", r"\d").replace(r"\W", r"\w").replace(r"\B", r"\b")
        if ignore
        else pattern
    )
    ours = LinearRegex(pattern)
    ours._depth = None  # never by Python's engine
    assert ours.found_in(text) == (re.search(pattern, text) is not None)


@pytest.mark.parametrize("text", ["a", "A", "s", "ſ", "ß", "k", "\u212a", "İ", "é", "É"])
@pytest.mark.parametrize(
    "pattern", ["A", "[^A]", "[^a-z]", "s", "ſ", "[S]", "K", "[i-l]", "É", "[^é]", r"[^\w]"]
)
def test_cases_of_letters(pattern: str, text: str) -> None:
    for written in (pattern, f"(?i){pattern}"):
        ours = LinearRegex(written)
        ours._depth = None
        assert ours.found_in(text) == (re.search(written, text) is not None), written


@pytest.mark.parametrize("pattern", ["^(a+)+$", "(a|a)*$", "(a*)*b", "^(.*)*x", "a*a*a*a*a*a*b"])
def test_nothing_hangs(pattern: str) -> None:
    begun = time.process_time()
    assert CellFunction.parse(f"match:{pattern}")("a" * 2000 + "!") in (("0",), ("1",))
    assert time.process_time() - begun < 5


@pytest.mark.parametrize("pattern", [r"(a)\1", "(?=a)b", "(?<!a)b", "(?s)a.b", "(a{1000}){1000}"])
def test_what_cannot_be_fast_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"regular expression"):
        CellFunction.parse(f"match:{pattern}")


def test_products_are_bounded() -> None:
    twice = (CellFunction.parse("substrings:99"),) * 2
    assert len(apply_chain(twice, "abcd")) == 10
    for cell in ("".join(map(chr, range(200, 370))), "a" * 100_000):
        with pytest.raises(InputError, match=r"more than 20,000 values of the cell"):
            apply_chain(twice, cell)
