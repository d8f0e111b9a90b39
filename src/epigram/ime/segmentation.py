"""Segments of a conversion, whose alternatives are found when they are asked for.

A segment is a word, or a phrase: a content word with its function words. An editor shows the alternatives of one
segment at a time, so that a key costs the search for one of them, however long the reading.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from epigram.ime.decoder import Conversion, Decoder, Word
from epigram.ime.kana import to_katakana
from epigram.ime.signs import signs_of

if TYPE_CHECKING:
    from epigram.ime.converter import KanaKanjiConverter

FOLLOWING = 2
"""Words after a phrase that its alternatives are scored with."""


class Segment(NamedTuple):
    """Segment of a conversion with its alternatives, the chosen one first."""

    reading: str
    surface: str
    alternatives: list[str]


@dataclass(frozen=True)
class Segmentation:
    """Best conversion of a reading, and the first and last word of each of its segments.

    Examples
    --------
    >>> from epigram import KanaKanjiConverter
    >>> converter = KanaKanjiConverter.build(["橋/はし を 渡る/わたる", "箸/はし"])
    >>> found = segment(converter, "はしをわたる", phrases=True)
    >>> [one.surface for one in found.bare()], found.segment(0, 4).alternatives
    (['橋を', '渡る'], ['橋を', '箸を', 'はしを', 'ハシヲ'])
    """

    converter: KanaKanjiConverter
    best: Conversion
    ranges: tuple[tuple[int, int], ...]

    def bare(self) -> list[Segment]:
        """Segments with their surface as the only alternative."""
        out = []
        for first, last in self.ranges:
            words = self.best.words[first : last + 1]
            surface = "".join(word.surface for word in words)
            out.append(Segment(self.best.reading[words[0].start : words[-1].end], surface, [surface]))
        return out

    def segment(self, place: int, k: int) -> Segment:
        """One segment with up to ``k`` alternatives."""
        first, last = self.ranges[place]
        reading, surface, _ = self.bare()[place]
        if first == last:
            ways = self._of_word(first, k)
        else:
            decoder = self.converter.after(self.best.tokens[:first]).decoder
            found = self._before_next(decoder, decoder.k_best(reading, k), last + 1)
            ways = _with_kana([surface, *(way.text for way in found)], reading, k)
        return Segment(reading, surface, ways)

    def _before_next(self, decoder: Decoder, ways: list[Conversion], place: int) -> list[Conversion]:
        """Sort ways to write a phrase by their probability before the words that follow it."""
        following = self.best.words[place : place + FOLLOWING]
        if not following or not ways:
            return ways
        start = following[0].start - len(ways[0].reading)
        shifted = [word._replace(start=word.start - start, end=word.end - start) for word in following]
        reading = self.best.reading[start : following[-1].end]
        return sorted(ways, key=lambda way: -decoder.score(reading, (*way.words, *shifted)))

    def _of_word(self, place: int, k: int) -> list[str]:
        """Alternatives of one word, by the probability of the whole conversion; then kana."""
        best, decoder = self.best, self.converter.decoder
        word = best.words[place]
        reading = best.reading[word.start : word.end]
        scored = []
        for id in decoder.lexicon.words_of(reading):
            other = Word(word.start, word.end, decoder.lexicon.surface(id), id)
            words = (*best.words[:place], other, *best.words[place + 1 :])
            scored.append((decoder.score(best.reading, words), other))
        scored.sort(key=lambda pair: -pair[0])
        texts = [word.surface, *(other.surface for _, other in scored)]
        texts += [way.surface for way in decoder.user_words.words.get(reading, ())]
        signs = signs_of(reading)[: k // 2]
        return _with_kana([*list(dict.fromkeys(texts))[: k - 2 - len(signs)], *signs], reading, k)


def segment(
    converter: KanaKanjiConverter, kana: str, ends: Sequence[int] = (), *, phrases: bool = False
) -> Segmentation:
    """Segment the best conversion of a reading; ``ends`` are the ends of the first segments."""
    best = converter.decoder.best(kana, ends) if ends else converter.best(kana)
    return Segmentation(converter, best, tuple(_ranges(converter, best.words, ends, phrases)))


def _ranges(
    converter: KanaKanjiConverter, words: Sequence[Word], ends: Sequence[int], phrases: bool
) -> Iterator[tuple[int, int]]:
    """First and last word of each segment: up to each of ``ends``, then words or phrases."""
    cut = sum(word.end <= ends[-1] for word in words) if ends else 0
    limits = [k for k in range(1, cut + 1) if words[k - 1].end in ends]
    if phrases:
        from epigram.ime.typing.phrases import phrase_ends

        limits += [cut + k for k in phrase_ends(converter.decoder, words[cut:])]
    else:
        limits += range(cut + 1, len(words) + 1)
    first = 0
    for limit in limits:
        yield first, limit - 1
        first = limit


def _with_kana(texts: Sequence[str], reading: str, k: int) -> list[str]:
    """Distinct texts in their order, and the reading in both kana at the end."""
    return list(dict.fromkeys([*list(dict.fromkeys(texts))[: k - 2], reading, to_katakana(reading)]))[:k]
