"""Any language model as one of n-grams, by approximation: for ARPA, and for programs that read it.

The n-grams are those of another model, Kneser-Ney of the same text, say. Each gets the probability that the model gives
its last word after its first ones, nothing being known of what came before; back-off weights then make every
distribution sum to one. Lost is what the model knows beyond the n-grams: contexts that are longer, or skip words.
"""

from __future__ import annotations

import numpy as np

from epigram.lm.base import LanguageModel
from epigram.lm.corpus import UNSEEN
from epigram.lm.mixture import grams_of
from epigram.lm.ngram.backoff import BackoffModel, renormalised
from epigram.protocols import Floats, Ints

AT_ONCE = 100_000  # n-grams that are scored together


def approximate(model: LanguageModel, like: BackoffModel) -> BackoffModel:
    """A back-off model of the n-grams of ``like`` (those whose words the model knows) with the model's probabilities.

    Examples
    --------
    >>> from epigram import ClassFactoredLM, KneserNeyLM
    >>> text = ["a rose is a rose", "a tulip is red"]
    >>> model = ClassFactoredLM(classes=3, order=2, budget=0).fit(text)
    >>> table = approximate(model, KneserNeyLM(2).fit(text).backoff_)
    >>> bool(abs(table.advance(table.start(), "a")[1] - model.advance(model.start(), "a")[1]) < 1e-9)
    True
    """
    vocabulary = model.vocabulary_
    grams = [np.arange(len(vocabulary), dtype=np.int32)[:, None]]
    with np.errstate(divide="ignore"):
        logps: list[Floats] = [np.log(model.distribution())]
    for n in range(2, like.order + 1):
        rows = grams_of(like, vocabulary, n)
        rows = np.unique(rows[(rows != UNSEEN).all(axis=1)], axis=0)
        grams.append(rows)
        parts = [_last(model, rows[k : k + AT_ONCE]) for k in range(0, len(rows), AT_ONCE)]
        logps.append(np.concatenate(parts) if parts else np.empty(0))
    return renormalised(BackoffModel.from_ngrams(vocabulary, grams, logps, [], []))


def _last(model: LanguageModel, rows: Ints) -> Floats:
    """Log-probability of the last word of each n-gram: a word outside the vocabulary before it cuts the context."""
    stream = np.column_stack((np.full(len(rows), UNSEEN, np.int32), rows)).ravel()
    return model.score_stream(stream)[rows.shape[1] :: rows.shape[1] + 1]
