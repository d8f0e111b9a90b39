"""Columns of characters against plain slices, for any Unicode."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from epigram.pipeline.characters import Characters
from reference.characters import rows

TEXT = st.text(
    st.one_of(st.sampled_from("aB9.  \n\t\u00a0é漢あก😀\u0301\u200b\x00"), st.characters(codec="utf-8"))
)


@given(TEXT)
def test_columns_are_the_slices_of_the_reference(text: str) -> None:
    characters = Characters.of(text)
    n = len(text)
    columns = characters.columns(np.array([0]), np.array([n]))
    found = [row for sentence in columns.rows() for row in sentence]
    assert found == rows(text)


@given(TEXT, TEXT, TEXT)
def test_sequences_may_overlap(before: str, own: str, after: str) -> None:
    text = before + own + after
    a, b, n = len(before), len(before) + len(own), len(text)
    columns = Characters.of(text).columns(np.array([0, a]), np.array([n, b]))
    assert [list(sentence) for sentence in columns.rows()] == [rows(text), rows(own)]


@given(TEXT)
def test_positions_are_those_of_characters_that_are_not_blank(text: str) -> None:
    assert Characters.of(text).positions.tolist() == [k for k, c in enumerate(text) if not c.isspace()]


def test_blank_lines_end_paragraphs_whatever_the_line_ends() -> None:
    for blank in ("\n\n", "\r\n\r\n", "\n \t\n", "\r\r", "\f", "\u2029", "\n\n\n"):
        assert Characters.of(f"ab{blank}cd").paragraph_ptr.tolist() == [0, 2, 4], repr(blank)
    for blank in ("\n", "\r\n", " ", "\u2028"):
        assert Characters.of(f"ab{blank}cd").paragraph_ptr.tolist() == [0, 4], repr(blank)


def test_lone_surrogates_have_cells_too() -> None:
    columns = Characters.of("a\ud800b").columns(np.array([0]), np.array([3]))
    assert columns.columns[0].strings == ["a", "\ufffd", "b"]
