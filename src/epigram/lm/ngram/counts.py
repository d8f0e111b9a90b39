"""Count all n-grams of a text up to an order, in time linear in tokens times order.

An n-gram is its first n-1 words (``prefix``, numbered one level down), its last word, and its last n-1
words (``suffix``). Two stable counting sorts, by word once and by prefix at each level, number the n-grams
in the order of the forward trie of backoff.py, so nothing is sorted again when the model is laid out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from epigram._core.native import family
from epigram.errors import InputError
from epigram.lm.corpus import Corpus
from epigram.protocols import Ints


@dataclass(frozen=True, slots=True)
class Level:
    """The n-grams of one order; prefix and suffix number (n-1)-grams, words being the 1-grams."""

    prefix: Ints
    word: Ints
    suffix: Ints
    count: Ints


def count_ngrams(corpus: Corpus, order: int) -> list[Level]:
    """Levels 1 .. order, fewer where no sentence is that long. Level 1 holds every word of the vocabulary.

    Examples
    --------
    >>> levels = count_ngrams(Corpus.of(["a b a b"]), 3)
    >>> [level.word.size for level in levels], levels[1].count.tolist()
    ([3, 4, 4], [1, 2, 1, 1])
    """
    if order < 1:
        raise InputError(f"the order must be at least 1, not {order}.")
    stream, n_words = corpus.stream(), len(corpus.vocabulary)
    core, by_word = family("ngram"), np.empty(stream.size, dtype=np.int32)
    ends = np.empty(n_words + 1, dtype=np.int64)
    by_word = by_word[: core.positions_by_word(stream.size, stream, n_words, ends, by_word)]
    words = np.arange(n_words, dtype=np.int32)
    zeros = np.zeros(n_words, dtype=np.int32)
    count = np.bincount(stream[by_word], minlength=n_words).astype(np.int32)
    levels = [Level(zeros, words, zeros, count)]
    grams, longer, ordered = stream.copy(), np.empty_like(stream), np.empty_like(by_word)
    out = [np.empty(by_word.size, dtype=np.int32) for _ in range(4)]
    found = np.empty(2, dtype=np.int64)
    for n in range(2, order + 1):
        n_shorter = levels[-1].word.size
        ends = np.empty(n_shorter + 1, dtype=np.int64)
        core.extend_grams(
            stream.size,
            stream,
            by_word.size,
            by_word,
            n,
            grams,
            n_shorter,
            ends,
            ordered,
            longer,
            *out,
            found,
        )
        n_grams, n_left = found.tolist()
        if n_grams == 0:
            break
        by_word = by_word[:n_left]
        prefix, word, suffix, count = (column[:n_grams].copy() for column in out)
        levels.append(Level(prefix, word, suffix, count))
        grams, longer = longer, grams
    return levels
