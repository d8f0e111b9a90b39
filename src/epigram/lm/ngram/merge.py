"""Merges n-gram models into one, and approximates other models by n-grams.

The n-grams of a merged model are those of its parts. It is exact for every n-gram that a part stores; back-off weights
make every distribution sum to one, as SRILM's ``-mix-lm`` does, because the share of each part in an unseen n-gram
changes with the history.

An approximation has the n-grams of another model, Kneser-Ney of the same text, say. Each gets the probability that the
model gives its last word after its first ones, nothing being known of the words before. Lost are longer contexts, and
those that skip words.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from epigram._core.arrays import gather
from epigram.lm.base import LanguageModel
from epigram.lm.ngram.backoff import BackoffModel, renormalised
from epigram.lm.vocabulary import UNSEEN, Vocabulary
from epigram.protocols import Floats, Ints

AT_ONCE = 100_000  # n-grams that are scored together


def merge(models: Sequence[BackoffModel], weights: Sequence[float], vocabulary: Vocabulary) -> BackoffModel:
    """One back-off model with all n-grams of a mixture; ``vocabulary`` is the union."""
    tables = [np.append(model.vocabulary_.ids(vocabulary), np.int32(UNSEEN)) for model in models]
    grams, logps = [np.arange(len(vocabulary), dtype=np.int32)[:, None]], []
    for n in range(2, max(model.order for model in models) + 1):
        grams.append(np.unique(np.concatenate([grams_of(model, vocabulary, n) for model in models]), axis=0))
    for rows in grams:
        parts = []
        for model, weight, ids in zip(models, weights, tables, strict=True):
            states = np.zeros(len(rows), dtype=np.int32)
            for column in ids[rows.T]:
                states, logp = model.step_many(states, column)
            with np.errstate(divide="ignore"):
                parts.append(np.where(np.isnan(logp), -np.inf, logp) + np.log(weight))
        logps.append(reduce(np.logaddexp, parts))
    return renormalised(BackoffModel.from_ngrams(vocabulary, grams, logps, [], []))


def grams_of(model: BackoffModel, vocabulary: Vocabulary, n: int) -> Ints:
    """The n-grams of one order, in the ids of another vocabulary."""
    nodes = np.flatnonzero((model.node_depth == n - 1) & (np.diff(model.pair_ptr) > 0)).astype(np.int32)
    if not nodes.size:
        return np.empty((0, n), np.int32)
    sizes, pairs = gather(model.pair_ptr, nodes)
    contexts = np.repeat(model.spell(nodes), np.diff(sizes), axis=0)
    return vocabulary.ids(model.vocabulary_)[np.column_stack((contexts, model.pair_word[pairs]))]


def approximate(model: LanguageModel, like: BackoffModel) -> BackoffModel:
    """A back-off model of the n-grams of ``like`` with the probabilities of ``model``.

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
        parts = [_score_last(model, rows[k : k + AT_ONCE]) for k in range(0, len(rows), AT_ONCE)]
        logps.append(np.concatenate([np.empty(0), *parts]))
    return renormalised(BackoffModel.from_ngrams(vocabulary, grams, logps, [], []))


def _score_last(model: LanguageModel, rows: Ints) -> Floats:
    """Log-probability of the last word of each n-gram; -1 before it cuts the context."""
    stream = np.column_stack((np.full(len(rows), UNSEEN, np.int32), rows)).ravel()
    return model.score_stream(stream)[rows.shape[1] :: rows.shape[1] + 1]
