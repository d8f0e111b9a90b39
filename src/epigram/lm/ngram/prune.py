"""Entropy pruning of back-off models (Stolcke 1998).

Dropping the n-gram (h, w) changes p(w | h) to bow'(h) p(w | h') and the weight of h from bow to bow', at

    D = p(h) ( p(w|h) (log p(w|h) - log p(w|h') - log bow'(h)) - (log bow'(h) - log bow(h)) (1 - sum p(.|h)) )

The score of an n-gram is its D, or that of an n-gram that begins with it if larger, so that contexts outlive
what they hold. Those with exp(score) - 1 < threshold go (a relative change of perplexity), or the smallest
until a size is reached; 1-grams stay; weights are computed again so that everything sums to one.

p(h) is the product of the model's own probabilities. Differs from Stolcke: its first factor is the stationary
distribution of the 2-grams, not the 1-grams. In a Kneser-Ney model the 1-grams count contexts, not words,
and weigh histories so badly that pruning by entropy is known to fail (Chelba et al. 2010).

Pruning by count happens where the counts are: ``KneserNeyLM(prune=...)``. For Kneser-Ney models it is the
better way (Penn Treebank, order 5, 0.42 M n-grams: test perplexity 147.4 by count, 153.0 by entropy).
"""

from __future__ import annotations

import numpy as np

from epigram._core import bindings
from epigram._core.arrays import offsets
from epigram.errors import InputError
from epigram.lm.ngram.backoff import BackoffModel, renormalised
from epigram.protocols import Floats

TOLERANCE, MAX_STEPS = 1e-9, 100  # of the stationary distribution


def prune(model: BackoffModel, threshold: float | None = None, n_ngrams: int | None = None) -> BackoffModel:
    """Prune by a threshold (1e-8 is mild, 1e-6 harsh), or to at most ``n_ngrams`` n-grams.

    Examples
    --------
    >>> from epigram.lm.ngram.kneser_ney import KneserNeyLM
    >>> model = KneserNeyLM(order=3).fit(["a rose is a rose", "a rose is red"]).backoff_
    >>> small = prune(model, n_ngrams=9)
    >>> model.n_ngrams, small.n_ngrams, round(float(small.distribution("a").sum()), 9)
    (20, 9, 1.0)
    """
    if (threshold is None) == (n_ngrams is None):
        raise InputError("give either a threshold or a number of n-grams to keep.")
    scores = entropy_scores(model)
    if threshold is not None:
        if not threshold >= 0:
            raise InputError(f"the threshold must be >= 0, not {threshold!r}.")
        return _keep(model, np.expm1(scores) >= threshold)
    assert n_ngrams is not None
    n_words = len(model.vocabulary_)
    if n_ngrams < n_words:
        raise InputError(
            f"cannot keep {n_ngrams} n-grams: the {n_words} words of the vocabulary stay; "
            f"ask for {n_words} or more, or train with a smaller vocabulary."
        )
    if n_ngrams >= model.n_ngrams:
        return model
    by_score = np.lexsort((np.arange(scores.size), -scores))
    kept = np.zeros(scores.size, dtype=bool)
    kept[by_score[:n_ngrams]] = True
    return _keep(model, kept)


def entropy_scores(model: BackoffModel) -> Floats:
    """The score of each pair, in nats per word; infinite for 1-grams."""
    scores, lower = np.empty((2, model.n_ngrams))
    log_h = np.empty(model.node_pair.size)
    bindings.ngram_relative_entropy_scores(
        model.core, stationary(model), model.node_pair, model.pair_node_of, log_h, lower, scores
    )
    return scores


def stationary(model: BackoffModel) -> Floats:
    """Relative frequency of each word in text of the model, by its 2-grams."""
    pi: Floats = np.exp(model.pair_logp[: len(model.vocabulary_)])
    out = np.empty_like(pi)
    for _ in range(MAX_STEPS):
        moved = bindings.ngram_stationary_step(model.core, model.pair_node_of, pi, out)
        pi, out = out, pi
        if moved < TOLERANCE:
            break
    return pi


def _keep(model: BackoffModel, kept: np.ndarray) -> BackoffModel:
    """The model of the pairs kept, which contain the prefixes of each."""
    sizes = np.add.reduceat(np.append(kept, False).astype(np.int64), model.pair_ptr[:-1])
    sizes[np.diff(model.pair_ptr) == 0] = 0
    is_node = sizes > 0
    number = np.cumsum(kept) - 1
    node_pair = number[model.node_pair[is_node]]
    node_pair[0] = -1
    return renormalised(
        BackoffModel(
            model.vocabulary_,
            node_pair,
            offsets(sizes[is_node]),
            model.pair_word[kept],
            model.pair_logp[kept],
            model.node_bow[is_node],
        )
    )
