"""Kneser-Ney estimation, interpolated (1995) and modified (Chen and Goodman 1999).

    p(w | h) = (c(hw) - D(c(hw))) / c(h.) + gamma(h) p(w | h')       gamma(h) = sum_w D(c(hw)) / c(h.)

c counts occurrences at the highest order and distinct preceding words below it (occurrences after ``<s>``,
where nothing precedes); 1-grams are interpolated with the uniform distribution over the vocabulary, which has
``<unk>`` unless it is closed: so a word that was never seen has the probability that lmplz gives it. With
n_k the number of n-grams with c = k, per order: interpolated D = n1 / (n1 + 2 n2) for all c; modified
D(k) = k - (k+1) D n_{k+1} / n_k for k = 1, 2, 3 and more.

Where the counts of counts of an order cannot give its discounts (n1, n2 or n3 is 0, or a D(k) is not
positive: small or closed vocabularies, very high orders), the fit goes on with 0.5, 1, 1.5 for the modified
form, as ``lmplz --discount_fallback``, and with 0.5 for the interpolated one where n1 or n2 is 0.
:attr:`KneserNeyLM.discounts_` tells what was used.

Pruning drops n-grams of order n that occur at most ``prune[n-1]`` times and hands their counts to gamma,
discounts being estimated before, as lmplz does.

All n-grams of a text are counted in time linear in tokens times order. An n-gram is its first n-1 words (``prefix``,
numbered one level down), its last word, and its last n-1 words (``suffix``). Two stable counting sorts, by word once
and by prefix at each level, number the n-grams in the order of the forward trie of model.py, so nothing is sorted
again when the model is laid out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TypeVar

import numpy as np

from epigram._core import bindings
from epigram._core.arrays import offsets
from epigram.errors import InputError, at_least
from epigram.estimator import Estimator
from epigram.lm.corpus import Corpus, Sentences, digest_of_counts
from epigram.lm.ngram.backoff import BackoffModel, FittedBackoff
from epigram.lm.vocabulary import UNKNOWN, Vocabulary
from epigram.protocols import Floats, Ints

T = TypeVar("T")


@dataclass(eq=False, repr=False)
class KneserNeyLM(FittedBackoff, Estimator):
    """A Kneser-Ney model; scoring, distributions and sampling are those of its ``backoff_``.

    Parameters
    ----------
    order : length of the longest n-gram.
    modified : use three discounts per order, not one.
    prune : largest count of n-grams to drop, for orders 3 and up, or one number per order. Numbers per order must not
        fall with the order.
    min_count, max_words, vocabulary : limits of the vocabulary; other words are read as ``<unk>``.
    open_vocabulary : have ``<unk>`` for words that were never seen; False has it only where the text has it.

    Examples
    --------
    >>> model = KneserNeyLM(order=3).fit(["a rose is a rose", "a rose is red"])
    >>> model.next_words("a", 1)[0][0]
    'rose'
    >>> round(float(model.distribution("is a").sum()), 12)
    1.0
    """

    order: int = 5
    modified: bool = True
    prune: int | Sequence[int] = 0
    min_count: int = 1
    max_words: int | None = None
    vocabulary: Vocabulary | None = None
    open_vocabulary: bool = True

    def fit(self, sentences: Sentences | Corpus | PathLike[str], y: None = None) -> KneserNeyLM:
        """Count and smooth; a tokenised corpus keeps its vocabulary."""
        thresholds = _thresholds(self.prune, self.order)  # refuses wrong settings before the text is read
        corpus = Corpus.for_training(sentences, self.vocabulary, self.min_count, self.max_words)
        vocabulary, levels = corpus.vocabulary, count_ngrams(corpus, self.order)
        if self.open_vocabulary and UNKNOWN not in vocabulary:
            levels[0] = levels[0].with_word(len(vocabulary))
            vocabulary = vocabulary.opened()
        self.text_digest_ = digest_of_counts(levels[0].count)
        counts = adjusted_counts(levels)
        self.discounts_ = [discounts(count, self.modified) for count in counts]
        kept = [
            np.ones(level.count.size, dtype=bool) if n == 0 else level.count > thresholds[n]
            for n, level in enumerate(levels)
        ]
        self.backoff_ = _smooth(vocabulary, levels, counts, self.discounts_, kept)
        return self


def adjusted_counts(levels: list[Level]) -> list[Ints]:
    """Occurrences at the highest order, distinct preceding words below it."""
    counts = [np.empty_like(level.count) for level in levels[:-1]]
    for n, count in enumerate(counts):
        suffix = levels[n + 1].suffix
        bindings.ngram_continuation_counts(suffix, levels[n].count, count)
    return [*counts, levels[-1].count]


def discounts(counts: Ints, modified: bool) -> Floats:
    """D(0), D(1), D(2), D(3 and more) of one order.

    Examples
    --------
    >>> discounts(np.array([1, 1, 1, 2, 2, 3, 4]), modified=True).round(3).tolist()
    [0.0, 0.429, 1.357, 1.286]
    >>> discounts(np.array([5, 5]), modified=True).tolist()
    [0.0, 0.5, 1.0, 1.5]
    """
    n1, n2, n3, n4 = (int(np.count_nonzero(counts == k)) for k in range(1, 5))
    single = n1 / (n1 + 2 * n2) if n1 and n2 else 0.5
    if not modified:
        return np.array([0.0, single, single, single])
    if n1 and n2 and n3:
        d = np.array([0.0, 1 - 2 * single * n2 / n1, 2 - 3 * single * n3 / n2, 3 - 4 * single * n4 / n3])
        if (d[1:] > 0).all():
            return d
    return np.array([0.0, 0.5, 1.0, 1.5])


def _thresholds(prune: int | Sequence[int], order: int) -> list[int]:
    given = [0, 0, prune] if isinstance(prune, int | np.integer) else [int(k) for k in prune]
    thresholds = (given + given[-1:] * at_least(1, order, "order"))[:order]
    if min(given, default=-1) < 0 or given != sorted(given):
        raise InputError(f"prune must be counts >= 0 that do not fall with the order, not {prune!r}.")
    return thresholds


def _emptied(items: list[T]) -> Iterator[T]:
    """Take the items out of a list one by one, so that large ones are freed after use."""
    items.reverse()
    while items:
        yield items.pop()


def _smooth(
    vocabulary: Vocabulary,
    levels: list[Level],
    counts: list[Ints],
    discount: list[Floats],
    kept: list[np.ndarray],
) -> BackoffModel:
    """Probabilities and back-off weights level by level, laid out as a forward trie."""
    n_words = len(vocabulary)
    lower_p, n_contexts = np.array([1.0 / n_words]), 1
    node_pair, node_bow, pair_counts = [np.array([-1])], [], []
    words: list[Ints] = []
    logps: list[Floats] = []
    offset = 0
    renumbered = np.empty(0, dtype=np.int64)
    for level, count, d, keep in zip(_emptied(levels), _emptied(counts), discount, kept, strict=True):
        p, total, gamma = np.zeros(count.size), np.empty(n_contexts), np.empty(n_contexts)
        bindings.ngram_kneser_ney_level(level.prefix, level.suffix, count, keep, d, lower_p, total, gamma, p)
        # most models are not pruned, and a slice copies nothing
        taken = slice(None) if keep.all() else np.flatnonzero(keep)
        per_context = np.bincount(level.prefix[taken], minlength=n_contexts)
        is_node = per_context > 0
        node_bow.append(np.log(gamma[is_node]))
        pair_counts.append(per_context[is_node])
        if words:
            node_pair.append(renumbered[is_node])
        words.append(level.word[taken])
        logps.append(np.log(p[taken]))
        renumbered = offset + np.cumsum(keep) - 1  # a node is named by the pair that spells it
        offset += words[-1].size
        lower_p, n_contexts = p, count.size
    bow = np.concatenate(node_bow)
    bow[0] = 0.0
    return BackoffModel(
        vocabulary,
        np.concatenate(node_pair),
        offsets(np.concatenate(pair_counts)),
        np.concatenate(words),
        np.concatenate(logps),
        bow,
    )


@dataclass(frozen=True, slots=True)
class Level:
    """The n-grams of one order; prefix and suffix number (n-1)-grams, words being the 1-grams."""

    prefix: Ints
    word: Ints
    suffix: Ints
    count: Ints

    def with_word(self, word: int) -> Level:
        """The 1-grams with one more word, which was not seen."""
        columns = ((self.prefix, 0), (self.word, word), (self.suffix, 0), (self.count, 0))
        return Level(*(np.append(column, np.int32(value)) for column, value in columns))


def count_ngrams(corpus: Corpus, order: int) -> list[Level]:
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
    levels = [Level(zeros, words, zeros, count)]
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
        levels.append(Level(*(column[:n_grams].copy() for column in (prefix, word, suffix, count))))
        grams, longer = longer, grams
    return levels
