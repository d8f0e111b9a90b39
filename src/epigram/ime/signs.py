"""Lattice edges for signs and spelled-out letters: ``やじるし`` as →, ``えーぴーあい`` as API.

Signs (signs.tsv) have low probabilities: they are seldom the best conversion and always offered. Two and more letters
that are spelled out (letters.tsv) are written in capitals. The probabilities of words of the lexicon do not change.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files

from epigram.ime.numbers import NumberForms, SpecialEdge, beginnings
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


def special_edges(reading: str, numbers: NumberForms) -> list[SpecialEdge]:
    """Edges of every number, sign and abbreviation of a reading.

    Examples
    --------
    >>> [(edge.start, edge.text) for edge in special_edges("はしかっこ", NumberForms())][:2]
    [(2, '（'), (2, '）')]
    """
    starts = [match.start() for match in _pattern().finditer(reading)]
    return numbers.edges(reading, starts) + sign_edges(reading, starts) if starts else []


@cache
def _pattern() -> re.Pattern[str]:
    """Pattern of the places of a reading where a number, a sign or an abbreviation may begin."""
    letters = {one + two for one in LETTERS for two in LETTERS}
    words = sorted({*SIGNS, *letters, *beginnings()})
    shortest = [word for k, word in enumerate(words) if not (k and _begins(word, words[:k]))]
    return re.compile("(?=" + _alternatives(shortest) + ")")


def _begins(word: str, others: list[str]) -> bool:
    known = set(others)
    return any(word[:n] in known for n in range(1, len(word)))


def _alternatives(words: list[str]) -> str:
    """Pattern of words of which none begins with another, by common beginnings."""
    rests: dict[str, list[str]] = {}
    for word in words:
        if word:
            rests.setdefault(word[0], []).append(word[1:])
    ways = [re.escape(first) + _alternatives(rest) for first, rest in rests.items()]
    return f"(?:{'|'.join(ways)})" if len(ways) > 1 else "".join(ways)


def sign_edges(reading: str, starts: Iterable[int] | None = None) -> list[SpecialEdge]:
    """Edges of every sign and abbreviation of a reading that begins at one of ``starts``."""
    found = []
    for start in range(len(reading)) if starts is None else starts:
        first = reading[start]
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
