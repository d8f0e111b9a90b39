"""Edges of numbers, signs and letters are those of the reference."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

import reference.ime_special as reference
from epigram.ime.numbers import NumberForms, ways_to_write
from epigram.ime.signs import LETTERS, SIGNS, special_edges, special_texts

FORMS = NumberForms(logp=-4.5, classes={"digits": 3, "kanji": 2})
TEXTS = special_texts(FORMS)
PIECES = [*reference.ONES, *reference.UNITS, *reference.LARGE, *SIGNS, *LETTERS, "さんぼん", "を", "a", "😀"]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_edges_are_those_of_the_reference(reading):
    found, expected = special_edges(TEXTS, reading), reference.special_edges(reading, FORMS)
    assert [edge[:3] + edge[4:] for edge in found] == [edge[:3] + edge[4:] for edge in expected]
    assert all(abs(one.logp - other.logp) < 1e-12 for one, other in zip(found, expected, strict=True))


def test_the_longest_number_is_read_whole():
    group = "きゅうせんきゅうひゃくきゅうじゅうきゅう"
    reading = f"{group}ちょう{group}おく{group}まん{group}"
    texts = {edge.text for edge in special_edges(TEXTS, reading) if edge.end == len(reading)}
    assert set(reference.ways_to_write(10**16 - 1).values()) <= texts


@given(st.integers(1, 10**16 - 1))
def test_numbers_are_written_as_in_the_reference(value):
    assert ways_to_write(value) == reference.ways_to_write(value)
