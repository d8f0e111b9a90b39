"""Phrases apply where their context is, and nowhere else."""

from __future__ import annotations

import pytest

from epigram.ime.user.words import Phrase, UserWord, UserWords

WORDS = (("端", "はし"),)


@pytest.mark.parametrize(
    ("phrase", "reading", "left", "starts"),
    [
        (Phrase(WORDS, 0.0), "はしとはし", "", [0, 3]),
        (Phrase(WORDS, 0.0, at_start=True), "はしとはし", "", [0]),
        (Phrase(WORDS, 0.0, at_end=True), "はしとはし", "", [3]),
        (Phrase(WORDS, 0.0, True, True), "はしと", "", []),
        (Phrase(WORDS, 0.0, True, False, "石の"), "はしと", "この石の", [0]),
        (Phrase(WORDS, 0.0, True, False, "石の"), "はしと", "この木の", []),
        (Phrase(WORDS, 0.0, True, False, ""), "はしと", "", [0]),
        (Phrase(WORDS, 0.0, True, False, ""), "はしと", "木", []),
    ],
)
def test_anchors(phrase: Phrase, reading: str, left: str, starts: list[int]) -> None:
    words = UserWords()
    words.set([], [phrase])
    assert [edge.start for edge in words.edges(reading, left)] == starts


def test_words_of_all_lengths_are_found() -> None:
    words = UserWords()
    assert not words
    words.set(
        [UserWord("は", "葉", -1.0), UserWord("はし", "端", -2.0), UserWord("はしはし", "HH", -3.0)], []
    )
    found = [(edge.start, edge.end, edge.text) for edge in words.edges("はしはし", "")]
    assert found == [(0, 1, "葉"), (0, 2, "端"), (0, 4, "HH"), (2, 3, "葉"), (2, 4, "端")]
