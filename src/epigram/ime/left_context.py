"""Segments the text before the caret to find the state of the language model.

The open sentence is segmented into words of the lexicon by the trigram model, with a small beam
(``_core/ime_before.c``): an error far back does not matter. Its last words are the context of the next reading. Words
of the three preceding sentences get a bonus, because words tend to recur; each closed sentence is segmented once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from epigram._core import bindings
from epigram.errors import InputError
from epigram.ime.kana import is_content, to_hiragana
from epigram.ime.lexicon.dictionary_formats import has_kanji
from epigram.ime.lexicon.lexicon import Lexicon
from epigram.ime.scorer import Scorer
from epigram.ime.word_classes import ANY
from epigram.lm.vocabulary import BOUNDARY

ENDS = "。！？!?\n"
LONGEST_WORD = 12
OPEN = 24
"""Characters of the open sentence that are cut into words."""
SENTENCES = 3
"""Closed sentences whose words are remembered."""
REMEMBERED, FARTHEST = 160, 400
"""Characters before the caret that pairs of words and sentences are looked for in."""
KEPT = 256
"""Closed sentences whose words are kept."""
STRAY = -18.0
"""Log-probability of a character that is in no word."""


class Before(NamedTuple):
    """Node after a text, and its words that get a bonus."""

    node: int
    recent: frozenset[int]


def read_before(lexicon: Lexicon, scorer: Scorer, text: str) -> Before:
    """Segment the end of a text into words.

    Examples
    --------
    >>> from epigram.ime.build import build
    >>> decoder = build(["石/いし の 橋/はし", "箸/はし"]).decoder
    >>> before = read_before(decoder.lexicon, decoder.scorer, "箸。石の")
    >>> words = [decoder.lexicon.find("石", "いし"), decoder.lexicon.find("の", "の")]
    >>> before.node == decoder.after(words).scorer.start
    True
    >>> sorted(decoder.lexicon.token(word) for word in before.recent)
    ['石/いし', '箸/はし']
    """
    pieces = _sentences(text[-FARTHEST:])
    begun = pieces.pop() if pieces and pieces[-1][-1] not in ENDS else ""
    recent = set().union(*(_content(lexicon, scorer, piece) for piece in pieces[-SENTENCES:]))
    node = int(scorer.tables.pair_next[BOUNDARY])
    if begun:
        cut = begun[-OPEN:]
        whole = len(cut) == len(begun) and (pieces or len(text) <= FARTHEST)
        node, words, _ = _cut(lexicon, scorer, cut, node if whole else ANY)
        recent.update(word for word in words if is_content(lexicon.surface(word)))
    return Before(node, frozenset(recent))


def _content(lexicon: Lexicon, scorer: Scorer, sentence: str) -> frozenset[int]:
    """Content words of a closed sentence, kept for the next calls."""
    known = scorer.segmented
    if sentence not in known:
        start = int(scorer.tables.pair_next[BOUNDARY])
        words = _cut(lexicon, scorer, sentence, start)[1]
        if len(known) >= KEPT:
            known.clear()
        known[sentence] = frozenset(word for word in words if is_content(lexicon.surface(word)))
    return known[sentence]


def _sentences(text: str) -> list[str]:
    """Split into sentences, the last of which may be open."""
    out, first = [], 0
    for place, char in enumerate(text, 1):
        if char in ENDS:
            out.append(text[first:place])
            first = place
    return [*out, text[first:]] if first < len(text) else out


def _cut(lexicon: Lexicon, scorer: Scorer, text: str, start: int) -> tuple[int, list[int], list[int]]:
    """Node after the best segmentation of a text, its words, and the offset that each begins at."""
    raw = np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)
    words, begins, node = np.empty(raw.size, np.int32), np.empty(raw.size, np.int32), np.empty(1, np.int32)
    n = bindings.ime_before_segment(
        scorer.core, lexicon.surface_ptr, lexicon.surface_raw, *lexicon.by_surface, raw, start, STRAY, LONGEST_WORD,
        words, begins, node,
    )  # fmt: skip
    if n < 0:
        raise MemoryError(f"no room to segment {len(text)} characters")
    return int(node[0]), words[:n].tolist(), begins[:n].tolist()


def reading_of(lexicon: Lexicon, scorer: Scorer, text: str) -> str:
    """Reading of a text by its best segmentation.

    Examples
    --------
    >>> from epigram.ime.build import build
    >>> decoder = build(["石/いし の 橋/はし", "箸/はし"]).decoder
    >>> reading_of(decoder.lexicon, decoder.scorer, "石のハシ"), reading_of(decoder.lexicon, decoder.scorer, "石PC")
    ('いしのはし', 'いしPC')
    """
    out, at = [], 0
    _, words, begins = _cut(lexicon, scorer, text, scorer.start)
    for word, start in zip(words, begins, strict=True):
        out += [_own_reading(text[at:start]), lexicon.reading(word)]
        at = start + len(lexicon.surface(word))
    return "".join([*out, _own_reading(text[at:])])


def _own_reading(text: str) -> str:
    """Reading of characters that are in no word."""
    reading = to_hiragana(text)
    if has_kanji(reading):
        raise InputError(f"no reading known for {text[:20]!r}")
    return reading
