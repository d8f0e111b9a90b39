"""Counts the n-grams of a text in memory, numbered by their prefixes and suffixes.

Time is linear in tokens times order. An n-gram is its first n-1 words (``prefix``, numbered one level down), its last
word, and its last n-1 words (``suffix``). Two stable counting sorts, by word once and by prefix at each level, number
the n-grams in the order of the forward trie of :mod:`~epigram.lm.ngram.backoff`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from epigram._core import bindings
from epigram.errors import at_least
from epigram.lm.corpus import Corpus
from epigram.protocols import Ints


@dataclass(frozen=True, slots=True)
class GramLevel:
    """The n-grams of one order; prefix and suffix number (n-1)-grams, words being the 1-grams."""

    prefix: Ints
    word: Ints
    suffix: Ints
    count: Ints


def count_ngrams(corpus: Corpus, order: int) -> list[GramLevel]:
    """Levels 1 .. order, or fewer; level 1 holds every word of the vocabulary.

    Examples
    --------
    >>> levels = count_ngrams(Corpus.of(["a b a b"]), 3)
    >>> [level.word.size for level in levels], levels[1].count.tolist()
    ([3, 4, 4], [1, 2, 1, 1])
    """
    at_least(1, order, "order")
    stream, n_words = corpus.stream(), len(corpus.vocabulary)
    by_word = np.empty(stream.size, dtype=np.int32)
    ends = np.empty(n_words + 1, dtype=np.int64)
    by_word = by_word[: bindings.ngram_positions_by_word(stream, ends, by_word)]
    words = np.arange(n_words, dtype=np.int32)
    zeros = np.zeros(n_words, dtype=np.int32)
    count = np.bincount(stream[by_word], minlength=n_words).astype(np.int32)
    levels = [GramLevel(zeros, words, zeros, count)]
    grams, longer, found = stream.copy(), np.empty_like(stream), np.empty(2, dtype=np.int64)
    rows = np.empty((5, by_word.size), dtype=np.int32)
    for n in range(2, order + 1):
        n_shorter = levels[-1].word.size
        ends = np.empty(n_shorter + 1, dtype=np.int64)
        ordered, prefix, word, suffix, count = (row[: by_word.size] for row in rows)
        bindings.ngram_extend_grams(
            stream, by_word, n, grams, ends, ordered, longer, prefix, word, suffix, count, found
        )
        n_grams, n_left = found.tolist()
        if n_grams == 0:
            break
        by_word = by_word[:n_left]
        levels.append(GramLevel(*(column[:n_grams].copy() for column in (prefix, word, suffix, count))))
        grams, longer = longer, grams
    return levels
