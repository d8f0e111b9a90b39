"""Explains a probability as the weights of the context suffixes.

ln P(u | x) = sum over known suffixes c of x of w[c,u]  -  ln Z[x]; every term is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from epigram.errors import InputError
from epigram.lm.loglinear.loss import SuffixLoss
from epigram.lm.loglinear.tree import Located, Positions
from epigram.lm.vocabulary import BOUNDARY, START, UNKNOWN, UNSEEN, Vocabulary
from epigram.protocols import Floats


@dataclass(frozen=True, slots=True)
class SuffixTerm:
    """One suffix: its weight for the word, their count, and P(word) if it were all the context."""

    context: tuple[str, ...]
    weight: float
    count: int | None
    probability: float


@dataclass(frozen=True, slots=True)
class SuffixExplanation:
    """A probability and its terms, from the empty context to the longest one known."""

    word: str
    probability: float
    log_normaliser: float
    terms: tuple[SuffixTerm, ...]


def explain(
    loss: SuffixLoss,
    w: Floats,
    vocabulary: Vocabulary,
    context: str | Sequence[str],
    word: str,
    unknown: float = 0.0,
) -> SuffixExplanation:
    """Explain P(word | context); ``unknown`` is the probability of an added <unk>.

    Examples
    --------
    >>> from epigram.lm.loglinear.tree import ContextTree, Positions
    >>> from epigram.lm.corpus import Corpus
    >>> corpus = Corpus.of(["a b"])
    >>> tree = ContextTree.grow(Positions.of(corpus), order=2)
    >>> w = np.zeros(tree.n_pairs)
    >>> w[-2:] = np.log(2)  # after "a" and "b"
    >>> why = explain(SuffixLoss(tree), w, corpus.vocabulary, "a", "b")
    >>> why.probability, [(term.context, round(term.weight, 3)) for term in why.terms]
    (0.5, [((), 0.0), (('a',), 0.693)])
    """
    target = vocabulary.id(word)
    if target == UNSEEN:
        raise InputError(
            f"{word!r} has no weights: its probability was set after training."
            if unknown and word == UNKNOWN
            else f"{word!r} is not in the vocabulary."
        )
    tree, ids = loss.tree, vocabulary.ids(vocabulary.tokens(context))
    depth = np.arange(ids.size + 1, dtype=np.int32)
    every = np.ones_like(depth)
    positions = Positions(
        np.append(ids, np.int32(0)), ids.size * every, depth, target * every, tree.n_targets, tree.n_targets
    )
    at = Located(tree, positions)
    logp = at.log_probabilities(loss, w)
    has_pair = at.pair >= tree.pair_ptr[at.context]  # else it is that of a shorter context, or there is none
    weights = np.where(has_pair, w[at.pair], 0.0)
    counts = np.where(has_pair, tree.count[at.pair], 0)
    score = np.cumsum(weights)
    p = np.exp(score) / (np.exp(score - logp) + unknown / (1 - unknown) * loss.z[0])
    terms = []
    for d in range(int(at.matched.max()) + 1):
        words = tuple(START if k == BOUNDARY else vocabulary.words[k] for k in ids[ids.size - d :].tolist())
        count = int(counts[d]) if tree.n_positions else None
        terms.append(SuffixTerm(words, float(weights[d]), count, float(p[d])))
    found = terms[-1].probability
    return SuffixExplanation(word, found, float(score[len(terms) - 1] - np.log(found)), tuple(terms))
