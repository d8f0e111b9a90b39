"""Probability of words that the lexicon lacks.

Words outside the lexicon are kana as typed, kana as katakana, digits, Latin letters, or anything else as typed:
p(word) = p(class) p(characters | class). The mass of a class is NEWS times the Good-Turing estimate: tokens of the
class that the text has once, by all tokens; NEWS is 2 because other texts have more new words. Kana are spelled by a
character bigram (Witten-Bell, over the distinct words of the class), others by a uniform distribution over characters
and over going on. After such a word the context is empty, or for a katakana word that of its class, which is the class
of most rare katakana words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from epigram._core import bindings
from epigram.ime.kana import (
    KANA_ROWS,
    is_hiragana,
    is_katakana,
    to_hiragana,
)
from epigram.protocols import Floats, Ints

CLASSES = ("katakana", "kana", "digits", "latin", "typed katakana", "other")
LONGEST_UNKNOWN = 20
NEWS = 2.0
_ALPHABET = {"digits": 10, "latin": 52, "typed katakana": 90, "other": 10_000}


@dataclass(frozen=True)
class UnknownWords:
    """Natural log-probabilities of the classes of unknown words and of their characters."""

    class_logp: Floats
    hiragana: Floats = field(repr=False)
    katakana: Floats = field(repr=False)
    katakana_class: int = 0
    """Class of unknown katakana words in class-based back-off; 0: any."""

    @classmethod
    def estimate(cls, counts: Mapping[str, int], words: Iterable[str] = ()) -> UnknownWords:
        """Estimate from counts of surfaces in a text; ``words`` are more surfaces for the spelling.

        Examples
        --------
        >>> model = UnknownWords.estimate({"は": 8, "ペン": 1, "すし": 1})
        >>> np.exp(model.class_logp[:2]).round(2).tolist()
        [0.2, 0.2]
        """
        total = max(sum(counts.values()), 1)
        once = dict.fromkeys(CLASSES, 0)
        for surface, count in counts.items():
            if count == 1:
                once[class_of(surface)] += 1
        masses = NEWS * np.maximum([once[name] for name in CLASSES], 0.5) / total
        surfaces = {*counts, *words}
        return cls(
            np.log(masses),
            spelling(surface for surface in surfaces if is_hiragana(surface)),
            spelling(to_hiragana(surface) for surface in surfaces if is_katakana(surface)),
        )

    @property
    def char_logp(self) -> Floats:
        """Log-probability of one more character by kind; 0 for kana, which have bigram models."""
        out: Floats = np.log(np.array([1.0, *(0.5 / _ALPHABET[name] for name in CLASSES[2:])]))
        return out

    @property
    def mass(self) -> float:
        """Probability of all classes together."""
        return float(np.exp(self.class_logp).sum())

    def log_probability(self, surface: str, reading: str) -> float:
        """Log-probability of a word as unknown; kanji are spelled by their reading in kana.

        Examples
        --------
        >>> model = UnknownWords.estimate({"は": 8, "ペン": 1, "すし": 1})
        >>> model.log_probability("ペン", "ぺん") > model.log_probability("ペソ", "ぺそ")
        True
        """
        name = class_of(surface)
        rows = kana_rows(reading)
        if name == "katakana" or (name == "typed katakana" and is_hiragana(reading)):
            return float(self.class_logp[0]) + _spelled(self.katakana, rows)
        if is_hiragana(reading):
            return float(self.class_logp[1]) + _spelled(self.hiragana, rows)
        k = CLASSES.index(name)
        return float(self.class_logp[k] + len(reading) * self.char_logp[max(k - 1, 0)])


def class_of(surface: str) -> str:
    """Class of a word by its characters."""
    if is_katakana(surface):
        return "katakana"
    if is_hiragana(surface):
        return "kana"
    if surface.isascii() and surface.isdigit():
        return "digits"
    return "latin" if surface.isascii() and surface.isalpha() else "other"


def classify(chars: Ints) -> tuple[Ints, Ints]:
    """Kinds of characters and their rows in the character models.

    Kinds are 0 kana, 1 digits, 2 Latin letters, 3 katakana as typed, 4 other. Rows are hiragana, the long mark, any
    other sign.

    Examples
    --------
    >>> kind, row = classify(np.array([ord(c) for c in "ぁー1aァ。"], np.int32))
    >>> kind.tolist(), row.tolist()
    ([0, 0, 1, 2, 3, 4], [0, 86, 87, 87, 87, 87])
    """
    kind, row = np.empty(chars.size, np.int32), np.empty(chars.size, np.int32)
    bindings.ime_classify(chars, kind, row)
    return kind, row


def kana_rows(word: str) -> Ints:
    """Rows of the characters of a word in the character models."""
    return classify(np.array([ord(c) for c in word], np.int32))[1]


def spelling(words: Iterable[str]) -> Floats:
    """log p(next | this) over kana and the edge of the word, Witten-Bell down to uniform."""
    edge = KANA_ROWS
    counts = np.zeros((edge + 1, edge + 1))
    for word in sorted(words):
        rows = kana_rows(word)
        np.add.at(counts, (np.append(edge, rows), np.append(rows, edge)), 1)
    uniform = np.full(edge + 1, 1.0 / (edge + 1))
    single = _witten_bell(counts.sum(axis=0), uniform)
    out: Floats = np.log(np.array([_witten_bell(row, single) for row in counts]))
    return out


def _witten_bell(counts: Floats, lower: Floats) -> Floats:
    n_kinds = max(int(np.count_nonzero(counts)), 1)
    out: Floats = (counts + n_kinds * lower) / (counts.sum() + n_kinds)
    return out


def _spelled(model: Floats, rows: Ints) -> float:
    edge = model.shape[0] - 1
    return float(model[np.append(edge, rows), np.append(rows, edge)].sum())
