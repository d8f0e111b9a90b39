"""Numbers in a reading: the ways to write them, learnt shares of each, and counters.

``せんきゅうひゃくはちじゅうよん`` is 1984, 1,984, 千九百八十四, 一九八四. Numbers below ten, and those of the
training text, are words of the lexicon; edges of the lattice (``_core/ime_special.c``) add the others. The probability
of an edge is that of numbers in the text, times the share of the form in the text, times 1/10 for each digit. Sound
changes before a counter (``じゅっ``, ``ひゃっ``) are read too. Numbers below ten with a counter, with the sound changes
between them (いっぽん 1本, さんびき 3匹), are edges in digits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

import numpy as np

from epigram._core import bindings

FORMS = ("digits", "grouped", "mixed", "kanji", "places", "wide")
"""15, 1,500, 1億2000万, 千五百, 一五〇〇, and full-width digits."""
LARGEST = 10**16
COUNTED = -2.7
"""Log-probability of a counter after a number."""
_PLAIN = ("いち", "に", "さん", "よん", "ご", "ろく", "なな", "はち", "きゅう")
_BEFORE_K = ("いっ", "に", "さん", "よん", "ご", "ろっ", "なな", "はっ", "きゅう")
_BEFORE_S = ("いっ", "に", "さん", "よん", "ご", "ろく", "なな", "はっ", "きゅう")
_HOURS = ("いち", "に", "さん", "よ", "ご", "ろく", "しち", "はち", "く")
_KINDS = {
    _PLAIN: {"枚": "まい", "円": "えん", "番": "ばん", "台": "だい", "度": "ど", "倍": "ばい", "名": "めい"},
    _BEFORE_K: {"回": "かい", "階": "かい", "個": "こ", "か月": "かげつ"},
    _BEFORE_S: {"冊": "さつ", "歳": "さい", "週間": "しゅうかん"},
    _HOURS: {"時": "じ", "時間": "じかん"},
}
_CHANGING = {"本": "ほん ぼん ぽん", "匹": "ひき びき ぴき", "杯": "はい ばい ぱい", "分": "ふん ぷん ぷん"}
"""After most numbers, after 3, and after 1, 6 and 8."""


class Number(NamedTuple):
    """Number in a reading: the offset of its end, and its value."""

    end: int
    value: int


def read_numbers(reading: str, start: int) -> list[Number]:
    """All numbers of ten and more that begin at an offset of a reading.

    Examples
    --------
    >>> [(reading[: n.end], n.value) for reading in ("にじゅうにおく",) for n in read_numbers(reading, 0)]
    [('にじゅう', 20), ('にじゅうに', 22), ('にじゅうにおく', 2200000000)]
    >>> [n.value for n in read_numbers("ごにん", 0)]
    []
    """
    chars = np.array([ord(char) for char in reading[start:]], np.int32)
    ends, values = np.empty(chars.size, np.int64), np.empty(chars.size, np.int64)
    n = bindings.ime_special_numbers(chars, ends, values)
    return [
        Number(start + end, value) for end, value in zip(ends[:n].tolist(), values[:n].tolist(), strict=True)
    ]


def ways_to_write(value: int) -> dict[str, str]:
    """Write a number in each form that differs from the others.

    Examples
    --------
    >>> ways_to_write(15)
    {'digits': '15', 'kanji': '十五', 'places': '一五', 'wide': '１５'}
    >>> ways_to_write(12_000)["mixed"], ways_to_write(1984)["kanji"], ways_to_write(1984)["places"]
    ('1万2000', '千九百八十四', '一九八四')
    """
    text, out = np.empty(128, np.uint8), {}
    for number, form in enumerate(FORMS):
        if n := bindings.ime_special_write(value, number, text):
            out[form] = text[:n].tobytes().decode()
    return out


class SpecialEdge(NamedTuple):
    """Edge of the lattice whose text is no word of the lexicon: a number, a sign, a user word."""

    start: int
    end: int
    text: str
    logp: float
    word_class: int


@dataclass(frozen=True)
class NumberForms:
    """Probability of numbers, share of each form, and word class of each form.

    Examples
    --------
    >>> NumberForms().shares["digits"], NumberForms().classes
    (0.6, {})
    """

    logp: float = -6.0
    shares: dict[str, float] = field(
        default_factory=lambda: {
            "digits": 0.6, "grouped": 0.1, "mixed": 0.05, "kanji": 0.2, "places": 0.02, "wide": 0.03
        }
    )  # fmt: skip
    classes: dict[str, int] = field(default_factory=dict)

    @classmethod
    def learn(cls, words: Iterable[tuple[str, str, int, int]]) -> NumberForms:
        """Estimate from surface, reading, count and class of the words of a text.

        Examples
        --------
        >>> forms = NumberForms.learn([("15", "じゅうご", 8, 3), ("十五", "じゅうご", 1, 4), ("本", "ほん", 1, 5)])
        >>> forms.shares["digits"] > forms.shares["kanji"] > forms.shares["wide"], forms.classes["digits"]
        (True, 3)
        """
        counts, classes, total = dict.fromkeys(FORMS, 0.5), dict[str, dict[int, int]](), 0
        for surface, reading, count, word_class in words:
            total += count
            form = form_of(surface, reading)
            if form is not None:
                counts[form] += count
                of_form = classes.setdefault(form, {})
                of_form[word_class] = of_form.get(word_class, 0) + count
        mass = sum(counts.values())
        if mass < 10:
            return cls()
        usual = {form: max(of_form, key=lambda c: of_form[c]) for form, of_form in classes.items()}
        return cls(float(np.log(mass / total)), {form: n / mass for form, n in counts.items()}, usual)


def form_of(surface: str, reading: str) -> str | None:
    """Form of a word that writes a number of ten and more; None for other words."""
    if not _LOOKS_LIKE.match(surface):
        return None
    for number in read_numbers(reading, 0):
        if number.end == len(reading):
            ways = ways_to_write(number.value)
            return next((form for form, text in ways.items() if text == surface), None)
    return None


_LOOKS_LIKE = re.compile("[0-9０-９〇一二三四五六七八九十百千万億兆,]+$")


@cache
def counted() -> dict[str, list[str]]:
    """Readings of numbers below ten with a counter, and their texts in digits.

    Examples
    --------
    >>> counted()["さんぼん"], counted()["いっかい"], counted()["よんぷん"]
    (['3本'], ['1回', '1階'], ['4分'])
    """
    out: dict[str, list[str]] = {}
    for numbers, counters in _KINDS.items():
        for value, number in enumerate(numbers, 1):
            for surface, reading in counters.items():
                out.setdefault(number + reading, []).append(f"{value}{surface}")
    for surface, readings in _CHANGING.items():
        soft, after_three, hard = readings.split()
        for value, number in enumerate(_BEFORE_K, 1):
            changed = {1: hard, 3: after_three, 6: hard, 8: hard}.get(value, soft)
            if surface == "分" and value == 4:
                changed = hard
            out.setdefault(number + changed, []).append(f"{value}{surface}")
    return out
