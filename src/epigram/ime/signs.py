"""Lattice edges for signs and spelled-out letters: ``やじるし`` as →, ``えーぴーあい`` as API.

Signs (signs.tsv) have low probabilities: they are seldom the best conversion and always offered. Two and more letters
that are spelled out (letters.tsv) are written in capitals. The probabilities of words of the lexicon do not change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files

from epigram.ime.numbers import SpecialEdge
from epigram.ime.word_classes import ANY


def _table(name: str) -> dict[str, str]:
    """Pairs of a file of tab-separated values of this package."""
    lines = files("epigram.ime").joinpath(name).read_text("utf-8").splitlines()
    return dict(line.split("\t") for line in lines)


SIGNS, LETTERS = _table("signs.tsv"), _table("letters.tsv")
SIGN, NEXT_SIGN = -15.0, -0.4
"""Log-probability of the first sign of a reading, and the difference for each further one."""
SPELLED, LETTER = -9.0, -2.6
"""Log-probability of a word that is spelled out, and of each of its letters."""
_LETTER = re.compile("|".join(sorted(LETTERS, key=len, reverse=True)))
_FIRST_OF_SIGN = {
    first: [name for name in SIGNS if name[0] == first] for first in {name[0] for name in SIGNS}
}
_FIRST_OF_LETTER = frozenset(name[0] for name in LETTERS)


def signs_of(reading: str) -> list[str]:
    """Signs of a reading, and the abbreviation that it spells out.

    Examples
    --------
    >>> signs_of("すらっしゅ"), signs_of("しーぴーゆー"), signs_of("はし")
    (['/', '／'], ['CPU'], [])
    """
    return [edge.text for edge in sign_edges(reading) if edge.start == 0 and edge.end == len(reading)]


def sign_edges(reading: str) -> list[SpecialEdge]:
    """Edges of every sign and abbreviation of a reading."""
    found = []
    for start, first in enumerate(reading):
        for name in _FIRST_OF_SIGN.get(first, ()):
            if reading.startswith(name, start):
                for rank, sign in enumerate(SIGNS[name]):
                    logp = SIGN + rank * NEXT_SIGN
                    found.append(SpecialEdge(start, start + len(name), sign, logp, ANY))
        if first in _FIRST_OF_LETTER:
            for end, letters in _spelled(reading, start):
                found.append(SpecialEdge(start, end, letters, SPELLED + LETTER * len(letters), ANY))
    return found


def _spelled(reading: str, start: int) -> Iterator[tuple[int, str]]:
    """Ends and letters of abbreviations of two and more letters, one with a long vowel."""
    letters, at = "", start
    while match := _LETTER.match(reading, at):
        letters, at = letters + LETTERS[match[0]], match.end()
        if len(letters) > 1 and "ー" in reading[start:at]:
            yield at, letters
