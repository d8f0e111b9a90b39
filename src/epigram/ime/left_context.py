"""Segments the text before the caret to find the state of the language model.

The open sentence is segmented into words of the lexicon by the trigram model, with a small beam: an error far back does
not matter. Its last words are the context of the next reading. Words of the three preceding sentences get a bonus,
because words tend to recur; each closed sentence is segmented once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from epigram.errors import InputError
from epigram.ime.kana import is_content, to_hiragana
from epigram.ime.lexicon.dictionary_formats import has_kanji
from epigram.ime.lexicon.lexicon import Lexicon, hash_surfaces
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
BEAM = 6
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
        node, words = _cut(lexicon, scorer, cut, node if whole else ANY)
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


def _cut(lexicon: Lexicon, scorer: Scorer, text: str, start: int) -> tuple[int, Sequence[int]]:
    """Node after the best segmentation of a text, and its words."""
    found = _words_in(lexicon, text)
    beams: list[dict[int, tuple[float, tuple[int, ...]]]] = [{} for _ in range(len(text) + 1)]
    beams[0][start] = (0.0, ())
    for place in range(len(text)):
        best = sorted(beams[place].items(), key=lambda item: -item[1][0])[:BEAM]
        for node, (score, words) in best:
            for end, word in found[place]:
                logp, then = scorer.step(node, word)
                _keep(beams[end], then, score + logp, (*words, word))
            _keep(beams[place + 1], ANY, score + scorer.special(node, ANY) + STRAY, words)
    node, (_, words) = max(beams[-1].items(), key=lambda item: item[1][0])
    return node, words


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
    for word in _cut(lexicon, scorer, text, scorer.start)[1]:
        start = text.index(lexicon.surface(word), at)
        out += [_own_reading(text[at:start]), lexicon.reading(word)]
        at = start + len(lexicon.surface(word))
    return "".join([*out, _own_reading(text[at:])])


def _own_reading(text: str) -> str:
    """Reading of characters that are in no word."""
    reading = to_hiragana(text)
    if has_kanji(reading):
        raise InputError(f"no reading known for {text[:20]!r}")
    return reading


def _keep(
    beam: dict[int, tuple[float, tuple[int, ...]]], node: int, score: float, words: tuple[int, ...]
) -> None:
    if node not in beam or score > beam[node][0]:
        beam[node] = score, words


def _words_in(lexicon: Lexicon, text: str) -> list[list[tuple[int, int]]]:
    """Ends and ids of the words of the lexicon in a text, by start."""
    spans = [
        (start, end)
        for start in range(len(text))
        for end in range(start + 1, min(len(text), start + LONGEST_WORD) + 1)
    ]
    raw = [text[start:end].encode("utf-8", "surrogatepass") for start, end in spans]
    ptr = np.concatenate((np.zeros(1, np.int64), np.cumsum([len(piece) for piece in raw], dtype=np.int64)))
    hashes, _ = hash_surfaces(np.frombuffer(b"".join(raw), np.uint8), ptr)
    order, sorted_hashes = lexicon.by_surface
    low, high = (np.searchsorted(sorted_hashes, hashes, side).tolist() for side in ("left", "right"))
    out: list[list[tuple[int, int]]] = [[] for _ in text]
    for (start, end), first, last in zip(spans, low, high, strict=True):
        for word in order[first:last].tolist():
            if lexicon.surface(word) == text[start:end]:
                out[start].append((end, word))
    return out
