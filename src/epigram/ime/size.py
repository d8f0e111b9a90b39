"""Chooses the limits of a converter whose file must not exceed a number of bytes.

What limits leave of a text is counted without building anything, and a file has about so many bytes of each word,
n-gram and pair (``BYTES``). Candidates divide the size between lexicon, n-grams and rescorer in several ways. Each is
built without the held-out sentences; the one that converts most of them right is built from the whole text. Where its
file is larger than the estimate, the limits are tightened until it fits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from epigram.errors import InputError
from epigram.ime.build import SizeLimits, assemble, learn_rescorer, most_frequent
from epigram.ime.converter import KanaKanjiConverter
from epigram.ime.evaluate import split_sentence
from epigram.ime.lexicon.wordlist import WordList
from epigram.ime.rescoring import ORDER, Cooccurrence, Rescorer, by_character, surfaces_of, thresholds
from epigram.ime.storage import to_model_file
from epigram.lm.corpus import Corpus
from epigram.lm.ngram.counts import count_ngrams
from epigram.protocols import Offsets
from epigram.storage.compress import SMALLEST

SHARES = ((0.18, 0.3), (0.18, 0.45), (0.28, 0.3), (0.28, 0.45))
"""Shares of the size that candidates give to the lexicon and to the rescorer."""
SCALES = tuple(1.25**k for k in range(40))
PRUNES = (
    (0, 0),
    (0, 1),
    (1, 1),
    (1, 2),
    (1, 3),
    (2, 4),
    (2, 6),
    (3, 9),
    (4, 12),
    (6, 18),
    (9, 27),
    (14, 40),
    (20, 60),
)
"""Counts of bigrams and trigrams that are dropped."""
BYTES = {"words": 7.3, "ngrams": 2.4, "characters": 2.2, "pairs": 1.2}
"""Bytes of a compressed file per word, n-gram of words, n-gram of characters, and pair."""
BASE = 20_000
HELD_OUT = 1000
"""Most sentences that are held out, of which the text has at least ten times as many."""
MOST = 0xFFFF
TRIES = 8


@dataclass(frozen=True)
class Counts:
    """Histograms of the counts of words, n-grams and pairs of a text."""

    words: int
    grams: list[Offsets]
    characters: list[Offsets]
    pairs: Offsets

    @classmethod
    def of(cls, text: Corpus, n_words: int, rescore: bool) -> Counts:
        """Count a text."""
        grams = [_histogram(level.count) for level in count_ngrams(text, 3)[1:]]
        none = np.zeros(MOST + 1, np.int64)
        if not rescore:
            return cls(n_words, grams, [none], none)
        surfaces = surfaces_of(text)
        levels = count_ngrams(by_character(text, surfaces), ORDER)
        pairs = Cooccurrence.learn(text, surfaces, 0.0)
        return cls(n_words, grams, [_histogram(level.count) for level in levels], _histogram(pairs.counts))

    @cached_property
    def n_characters(self) -> int:
        """Length of the text in characters."""
        return int(self.characters[0] @ np.arange(MOST + 1))

    def size_of_rescorer(self, scale: float) -> float:
        """Estimate the bytes of the rescorer."""
        grams = sum(
            _above(counts, least)
            for counts, least in zip(self.characters, thresholds(self.n_characters, scale), strict=False)
        )
        return BYTES["characters"] * grams + BYTES["pairs"] * _above(self.pairs, Cooccurrence.least(scale))

    def size_of_ngrams(self, prune: tuple[int, int]) -> float:
        """Estimate the bytes of bigrams and trigrams."""
        return BYTES["ngrams"] * sum(
            _above(counts, least) for counts, least in zip(self.grams, prune, strict=False)
        )

    def limits(self, size: float, lexicon: float, rescorer: float) -> SizeLimits | None:
        """Limits of a file that gives these shares to lexicon and rescorer; None if nothing fits."""
        room = size - BASE
        scale = next((s for s in SCALES if self.size_of_rescorer(s) <= rescorer * room), None)
        if scale is None or room <= 0:
            return None
        room -= self.size_of_rescorer(scale)
        words = min(self.words * BYTES["words"], lexicon * (size - BASE))
        prune = next((p for p in PRUNES if self.size_of_ngrams(p) <= room - words), None)
        if prune is None:
            return None
        most = int((room - self.size_of_ngrams(prune)) / BYTES["words"])
        return SizeLimits(prune[1], prune[0], min(most, self.words), scale)


def _histogram(counts: np.ndarray) -> Offsets:
    return np.bincount(np.minimum(counts, MOST), minlength=MOST + 1)


def _above(histogram: Offsets, least: int) -> int:
    return int(histogram[least + 1 :].sum())


def build_within(
    size: int,
    texts: Corpus,
    words: WordList,
    held_out: Sequence[Sequence[str]] = (),
    *,
    rescore: bool = True,
    card: dict[str, str] | None = None,
    callback: Callable[[str], object] | None = None,
) -> tuple[KanaKanjiConverter, bytes]:
    """Build the converter of at most ``size`` bytes that is best on held-out text, and its file.

    Without ``held_out``, every so many sentences of the text are held out. ``callback`` is told each candidate.
    """
    rest = texts
    if not held_out:
        every = max(texts.n_sentences // HELD_OUT, 10)
        rest, held_out = _parted(texts, every)
    pairs = [split_sentence(tokens) for tokens in held_out]
    builder = _Builder(texts, words, rescore, card)
    trial = _Builder(rest, words, rescore, card)
    best, share, ratio = -1.0, SHARES[0], 1.0
    tried: set[SizeLimits] = set()
    for shares in SHARES if rescore else sorted({(lexicon, 0.0) for lexicon, _ in SHARES}):
        for _ in range(2):  # the first estimate may be far off
            limits = trial.counts.limits(size / ratio, *shares)
            if limits is None or limits in tried:
                break
            tried.add(limits)
            converter = trial.build(limits)
            found = len(to_model_file(converter, quantise=True).to_bytes())
            off, ratio = found / size, ratio * found / size
            if off > 1.03 or (off < 0.9 and limits.max_words != trial.counts.words):
                continue
            exact = _exact(converter, pairs)
            if callback is not None:
                callback(f"{limits}: {found:,} bytes, {100 * exact:.2f} % of {len(pairs):,} sentences exact")
            if exact > best:
                best, share = exact, shares
            break
    return builder.fit(size, ratio, share)


@dataclass(frozen=True)
class _Builder:
    """Builds converters of one text with different limits."""

    text: Corpus
    words: WordList
    rescore: bool
    card: dict[str, str] | None

    @cached_property
    def ranked(self) -> list[str]:
        """All tokens, the most frequent first."""
        return most_frequent(self.text, self.words)

    @cached_property
    def counts(self) -> Counts:
        """Counts of the text."""
        return Counts.of(self.text, len(self.ranked), self.rescore)

    @cached_property
    def rescorers(self) -> dict[float, Rescorer]:
        """Rescorers built so far, by scale."""
        return {}

    def build(self, limits: SizeLimits) -> KanaKanjiConverter:
        """Build a converter."""
        made = assemble(self.text, self.ranked[: limits.max_words], self.words, limits)
        if self.rescore:
            if limits.rescorer not in self.rescorers:
                self.rescorers[limits.rescorer] = learn_rescorer(self.text, limits.rescorer)
            made = replace(made, rescorer=self.rescorers[limits.rescorer])
        converter = KanaKanjiConverter.of_background(made, limits)
        converter.card_ = self.card or {}
        return converter

    def fit(self, size: int, ratio: float, shares: tuple[float, float]) -> tuple[KanaKanjiConverter, bytes]:
        """Build with limits that are tightened until the file fits."""
        found = 0
        for _ in range(TRIES):
            limits = self.counts.limits(size / ratio, *shares)
            if limits is None:
                break
            converter = self.build(limits)
            content = to_model_file(converter, quantise=True).to_bytes(level=SMALLEST)
            found = len(content)
            if found <= size:
                return converter, content
            ratio *= 1.002 * found / size
        raise InputError(
            f"no converter of this text fits {size:,} bytes"
            + (f"; the last one tried has {found:,}" if found else "")
            + ". Allow a larger --max-size, or give --no-rescore."
        )


def _exact(converter: KanaKanjiConverter, pairs: Sequence[tuple[str, str]]) -> float:
    """Share of sentences that are converted exactly."""
    texts = converter.convert_many([reading for reading, _ in pairs])
    return sum(text == want for text, (_, want) in zip(texts, pairs, strict=True)) / len(pairs)


def _parted(text: Corpus, every: int) -> tuple[Corpus, list[list[str]]]:
    """A text without every so many sentences, and these."""
    starts = np.arange(text.n_sentences) % every == every - 1
    sizes = np.diff(text.sentence_ptr)
    inside = np.repeat(~starts, sizes)
    words = text.vocabulary.words
    held_out = [
        [words[id] for id in text.ids[text.sentence_ptr[k] : text.sentence_ptr[k + 1]].tolist()]
        for k in np.flatnonzero(starts).tolist()
    ]
    ptr = np.concatenate(([0], np.cumsum(sizes[~starts])))
    return Corpus(text.ids[inside], ptr, text.vocabulary), held_out
