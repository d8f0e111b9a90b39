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

:mod:`~epigram.lm.ngram.estimate` counts and smooths by sorting, in memory or on disk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike

import numpy as np

from epigram.errors import InputError, at_least
from epigram.estimator import Estimator
from epigram.lm.corpus import Corpus, Sentences
from epigram.lm.ngram.backoff import BackoffModel, FittedBackoff
from epigram.lm.ngram.estimate import Place, count, next_level, words_level
from epigram.lm.ngram.stream import trie_of
from epigram.lm.vocabulary import Vocabulary
from epigram.protocols import Floats, Offsets


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
        thresholds = check_thresholds(
            self.prune, self.order
        )  # refuses wrong settings before the text is read
        corpus = Corpus.for_training(sentences, self.vocabulary, self.min_count, self.max_words)
        vocabulary, place = corpus.vocabulary, Place()
        if self.open_vocabulary:
            vocabulary = vocabulary.opened()
        self.text_digest_ = corpus.digest
        longest = int(np.diff(corpus.sentence_ptr).max()) + 2
        order = min(self.order, longest)
        counted = count(corpus.stream(), len(vocabulary), order, thresholds, place)
        self.discounts_ = [discounts(tally, self.modified) for tally in counted.tally]
        levels = [words_level(counted.unigrams, self.discounts_[0], place)]
        for n in range(2, order + 1):
            level = next_level(counted, n, levels[-1], self.discounts_[n - 1], place)
            if level is None:
                break
            levels[-1].release()
            levels.append(level)
        levels[-1].release()
        self.backoff_ = BackoffModel(vocabulary, *trie_of(levels, place))
        return self


def discounts(tally: Offsets, modified: bool) -> Floats:
    """D(0), D(1), D(2), D(3 and more) of one order; ``tally[k]`` n-grams have the count k.

    Examples
    --------
    >>> discounts(np.array([0, 3, 2, 1, 1]), modified=True).round(3).tolist()
    [0.0, 0.429, 1.357, 1.286]
    >>> discounts(np.array([0, 0, 0, 0, 0, 2]), modified=True).tolist()
    [0.0, 0.5, 1.0, 1.5]
    """
    n1, n2, n3, n4 = tally[1:5].tolist()
    single = n1 / (n1 + 2 * n2) if n1 and n2 else 0.5
    if not modified:
        return np.array([0.0, single, single, single])
    if n1 and n2 and n3:
        d = np.array([0.0, 1 - 2 * single * n2 / n1, 2 - 3 * single * n3 / n2, 3 - 4 * single * n4 / n3])
        if (d[1:] > 0).all():
            return d
    return np.array([0.0, 0.5, 1.0, 1.5])


def check_thresholds(prune: int | Sequence[int], order: int) -> list[int]:
    """The largest count to drop of each order."""
    given = [0, 0, prune] if isinstance(prune, int | np.integer) else [int(k) for k in prune]
    thresholds = (given + given[-1:] * at_least(1, order, "order"))[:order]
    if min(given, default=-1) < 0 or given != sorted(given):
        raise InputError(f"prune must be counts >= 0 that do not fall with the order, not {prune!r}.")
    return thresholds
