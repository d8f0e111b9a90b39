"""Factorised columns: the same from Python rows and from bytes, and errors that say where."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epigram.errors import InputError
from epigram.features.columns import Columns
from epigram.features.formats import parse_columns

CELLS = st.text(
    st.characters(exclude_characters=" \t\r\n\ufeff\0", exclude_categories=["Cs"]), min_size=1, max_size=5
)
ROWS = st.integers(1, 3).flatmap(
    lambda width: st.lists(
        st.lists(st.tuples(*[CELLS] * width), min_size=1, max_size=4), min_size=1, max_size=5
    )
)


@given(ROWS, st.sampled_from([" ", "\t", " \t "]), st.sampled_from(["\n", "\r\n"]), st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_bytes_and_rows_agree(rows: list[list[tuple[str, ...]]], between: str, end: str, blank: int) -> None:
    sentences = (end.join(between.join(row) for row in sentence) for sentence in rows)
    from_bytes = parse_columns((end * (blank + 1)).join(sentences).encode(), "x")
    from_rows = Columns.from_rows(rows)
    assert list(from_bytes.rows()) == list(from_rows.rows()) == rows
    for one, other in zip(from_bytes.columns, from_rows.columns, strict=True):
        assert one.strings == other.strings
        np.testing.assert_array_equal(one.ids, other.ids)


def test_many_distinct_strings_make_the_table_grow() -> None:
    words = [f"w{k % 5000}" for k in range(12000)]
    corpus = parse_columns("\n".join(words).encode(), "x")
    assert corpus.columns[0].strings == words[:5000]
    np.testing.assert_array_equal(corpus.columns[0].ids, np.arange(12000) % 5000)


def test_rows_are_streamed_from_generators_and_plain_strings_are_one_column() -> None:
    corpus = Columns.from_rows((word for word in line.split()) for line in ("a b", "", "a"))
    assert list(corpus.rows()) == [[("a",), ("b",)], [], [("a",)]]
    assert corpus.columns[0].ids.dtype == np.int32
    assert corpus.sentence_ptr.dtype == np.int64


def test_split_and_take() -> None:
    corpus = Columns.from_rows([[("a", "X"), ("b", "Y")], [("c", "X")]])
    observations, labels = corpus.split(-1)
    assert labels.strings == ["X", "Y"]
    assert list(observations.take([1, 0]).rows()) == [[("c",)], [("a",), ("b",)]]
    assert corpus.sentence_of(1) == (0, 2)
    with pytest.raises(InputError, match="there is no column 2: the input has 2"):
        corpus.split(2)


def test_sentence_of_skips_empty_sentences() -> None:
    corpus = Columns.from_rows([[], [("a",)], [], [("b",), ("c",)]])
    assert corpus.sentence_of(0) == (0, 1)
    assert corpus.sentence_of(2) == (1, 3)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[("a", "X")], [("b", "Y"), ("c",)]], "sentence 1, token 1: expected 2 columns, found 1"),
        ([[("a", 3)]], "sentence 0, token 0: a cell is a string, not 3"),
    ],
)
def test_bad_rows(rows: list[list[tuple[object, ...]]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Columns.from_rows(rows)  # type: ignore[arg-type]
