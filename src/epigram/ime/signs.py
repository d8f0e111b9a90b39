"""Lattice edges for signs and spelled-out letters: ``やじるし`` as →, ``えーぴーあい`` as API.

Signs (signs.tsv) have low probabilities: they are seldom the best conversion and always offered. Two and more letters
that are spelled out (letters.tsv) are written in capitals. The probabilities of words of the lexicon do not change.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

import numpy as np

from epigram._core import bindings
from epigram.ime.kana import characters
from epigram.ime.numbers import COUNTED, FORMS, NumberForms, SpecialEdge, counted
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


def special_texts(numbers: NumberForms | None) -> Any:
    """Make the C structure of texts of edges: signs, abbreviations and, if given, numbers."""
    rows = [
        (reading, sign, SIGN + k * NEXT_SIGN)
        for reading, signs in SIGNS.items()
        for k, sign in enumerate(signs)
    ]
    logps, classes = [0.0] * len(FORMS), [ANY] * len(FORMS)
    if numbers is not None:
        one = numbers.logp + COUNTED + math.log(numbers.shares["digits"] / 10)
        rows = [*((*row, one) for row in counted_rows()), *rows]
        logps = [math.log(numbers.shares[form]) for form in FORMS]
        classes = [numbers.classes.get(form, ANY) for form in FORMS]
    letters = sorted(LETTERS.items(), key=lambda row: -len(row[0]))
    rows = [*((*row, 0.0) for row in letters), *sorted(rows, key=lambda row: row[0][0])]
    readings, texts, row_logps = zip(*rows, strict=True)
    raw = [text.encode() for text in texts]
    return bindings.SpecialTexts(
        len(letters), -math.inf if numbers is None else numbers.logp, SPELLED, LETTER, np.array(logps),
        np.array(classes, np.uint16), np.cumsum([0, *map(len, readings)]), characters("".join(readings)),
        np.array(row_logps), np.cumsum([0, *map(len, raw)]), np.frombuffer(b"".join(raw), np.uint8),
    )  # fmt: skip


def counted_rows() -> list[tuple[str, str]]:
    """Readings and texts of numbers with a counter, the shortest readings first."""
    rows = sorted(counted().items(), key=lambda row: len(row[0]))
    return [(reading, text) for reading, texts in rows for text in texts]


def own_edges(texts: Any, readings: Sequence[str]) -> tuple[Any, ...]:
    """Find the edges of readings, as the arrays of ``OwnEdges`` of ``_core/ime_engine.h``."""
    chars, ptr = characters("".join(readings)), np.cumsum([0, *map(len, readings)])
    edge_ptr, room = np.empty(ptr.size, np.int64), 4 * chars.size + 64
    while True:
        starts, ends = np.empty(room, np.int32), np.empty(room, np.int32)
        logps, classes = np.empty(room), np.empty(room, np.uint16)
        text_ptr, text = np.empty(room + 1, np.int64), np.empty(16 * room, np.uint8)
        n = bindings.ime_special_edges(
            texts, ptr, chars, edge_ptr, starts, ends, logps, classes, text_ptr, text
        )
        if n >= 0:
            used = text[: int(text_ptr[n])]
            return edge_ptr, starts[:n], ends[:n], logps[:n], classes[:n], text_ptr[: n + 1], used
        room *= 4


def special_edges(texts: Any, reading: str) -> list[SpecialEdge]:
    """Edges of every number, sign and abbreviation of a reading.

    Examples
    --------
    >>> [(edge.start, edge.text) for edge in special_edges(special_texts(NumberForms()), "はしかっこ")][:2]
    [(2, '（'), (2, '）')]
    """
    _, starts, ends, logps, classes, text_ptr, raw = own_edges(texts, [reading])
    texts_of = [raw[first:last].tobytes().decode() for first, last in pairwise(text_ptr.tolist())]
    rows = zip(starts.tolist(), ends.tolist(), texts_of, logps.tolist(), classes.tolist(), strict=True)
    return [SpecialEdge(*row) for row in rows]


def signs_of(reading: str) -> list[str]:
    """Signs of a reading, and the abbreviation that it spells out.

    Examples
    --------
    >>> signs_of("すらっしゅ"), signs_of("しーぴーゆー"), signs_of("はし")
    (['/', '／'], ['CPU'], [])
    """
    found = special_edges(_without_numbers(), reading)
    return [edge.text for edge in found if edge.start == 0 and edge.end == len(reading)]


@cache
def _without_numbers() -> Any:
    return special_texts(None)
