"""Sums of a language model's distributions: how far they are from 1, and after which context most."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from epigram.lm.base import LanguageModel
from epigram.lm.corpus import BOUNDARY, START
from epigram.lm.ngram.backoff import BackoffModel, FittedBackoff
from epigram.protocols import Floats


class WorstSum(NamedTuple):
    """The distribution of a back-off model whose sum differs most from 1."""

    contexts: int
    context: str
    sum: float


def worst_sums(model: LanguageModel) -> Iterator[WorstSum]:
    """One for each back-off model that a model is, keeps or mixes; other models divide by their sums when asked.

    Examples
    --------
    >>> from epigram.lm import KneserNeyLM
    >>> [worst] = worst_sums(KneserNeyLM(order=2).fit(["a b", "a a b"]))
    >>> abs(worst.sum - 1) < 1e-9
    True
    """
    if isinstance(model, FittedBackoff):
        yield from worst_sums(model.backoff_)
    elif isinstance(model, BackoffModel):
        sums = context_sums(model)
        worst = int(np.abs(sums - 1.0).argmax())
        words = model.spell(np.array([worst], np.int32))[0].tolist()
        spelled = (START if word == BOUNDARY else model.vocabulary_.words[word] for word in words)
        yield WorstSum(sums.size, " ".join(spelled), float(sums[worst]))
    else:
        for part in getattr(model, "models", None) or [getattr(model, "model", None)]:
            if isinstance(part, LanguageModel):
                yield from worst_sums(part)


def context_sums(model: BackoffModel) -> Floats:
    """The sum of the distribution after each context x: sum p[x,w] + bow(x) (sum of x' - sum p(w | x'))."""
    home, parent = model.pair_node, model.node_parent
    sums: Floats = np.bincount(home, np.exp(model.pair_logp), model.node_pair.size).astype(np.float64)
    below = home > 0
    _, logp = model.step_many(parent[home[below]], model.pair_word[below])
    lower = np.bincount(home[below], np.exp(logp), model.node_pair.size)
    for level in range(1, int(model.node_depth.max()) + 1):
        nodes = np.flatnonzero(model.node_depth == level)
        sums[nodes] += np.exp(model.node_bow[nodes]) * np.maximum(sums[parent[nodes]] - lower[nodes], 0.0)
    return sums
