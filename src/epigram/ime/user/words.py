"""Words and phrases of a user as edges of the lattice.

A user word may stand anywhere. A phrase is a corrected text with its neighbours: it applies where the reading has all
of it, and if it is anchored only at the start or the end of a reading, or after a given text.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from epigram.ime.numbers import SpecialEdge
from epigram.ime.word_classes import ANY


class UserWord(NamedTuple):
    """User word: reading, surface, natural log-probability."""

    reading: str
    surface: str
    logp: float


class Phrase(NamedTuple):
    """Corrected words with their neighbours, and the context that they are bound to.

    ``words`` are pairs of surface and reading; ``left`` is the end of the text before the reading, None if any text may
    stand there.
    """

    words: tuple[tuple[str, str], ...]
    logp: float
    at_start: bool = False
    at_end: bool = False
    left: str | None = None

    @property
    def reading(self) -> str:
        """Concatenated readings."""
        return "".join(reading for _, reading in self.words)

    @property
    def surface(self) -> str:
        """Concatenated surfaces."""
        return "".join(surface for surface, _ in self.words)

    def applies(self, start: int, end: int, n: int, left: str) -> bool:
        """Whether the phrase may stand at an offset of a reading of ``n`` characters after a text."""
        if (self.at_start and start) or (self.at_end and end < n):
            return False
        return self.left is None or (left.endswith(self.left) if self.left else not left)


class UserWords:
    """User words and phrases by reading.

    Examples
    --------
    >>> words = UserWords()
    >>> words.set([UserWord("えぴ", "Epi", -5.0)], [Phrase((("石", "いし"), ("の端", "のはし")), -3.0, True)])
    >>> [(edge.start, edge.text) for edge in words.edges("いしのはしえぴ", "")]
    [(0, '石の端'), (5, 'Epi')]
    >>> words.edges("このいしのはし", "")
    []
    """

    def __init__(self) -> None:
        self.words: dict[str, list[UserWord]] = {}
        self.phrases: dict[str, list[Phrase]] = {}
        self._lengths: dict[str, list[int]] = {}
        self.version = 0

    def set(self, words: Iterable[UserWord], phrases: Iterable[Phrase]) -> None:
        """Replace all words and phrases."""
        self.words, self.phrases = {}, {}
        self.version += 1
        for word in words:
            self.words.setdefault(word.reading, []).append(word)
        for phrase in phrases:
            self.phrases.setdefault(phrase.reading, []).append(phrase)
        lengths: dict[str, set[int]] = {}
        for reading in (*self.words, *self.phrases):
            lengths.setdefault(reading[0], set()).add(len(reading))
        self._lengths = {first: sorted(own) for first, own in lengths.items()}

    def __bool__(self) -> bool:
        return bool(self._lengths)

    def edges(self, reading: str, left: str) -> list[SpecialEdge]:
        """Edges of a reading that stands after the text ``left``."""
        found, n = [], len(reading)
        for start, first in enumerate(reading):
            for length in self._lengths.get(first, ()):
                if (end := start + length) > n:
                    break
                piece = reading[start:end]
                for word in self.words.get(piece, ()):
                    found.append(SpecialEdge(start, end, word.surface, word.logp, ANY))
                for phrase in self.phrases.get(piece, ()):
                    if phrase.applies(start, end, n, left):
                        found.append(SpecialEdge(start, end, phrase.surface, phrase.logp, ANY))
        return found

    def spelled(self, reading: str, surface: str) -> tuple[tuple[str, str], ...]:
        """Surfaces and readings of the words of a phrase; none if no phrase writes ``surface``."""
        ways = self.phrases.get(reading, ())
        return next((phrase.words for phrase in ways if phrase.surface == surface), ())
