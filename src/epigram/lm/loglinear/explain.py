"""Explains a probability as the weights of the context suffixes.

ln P(u | x) = sum over known suffixes c of x of w[c,u]  -  ln Z[x]; every term is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from epigram.errors import InputError
from epigram.lm.loglinear.loss import SuffixLoss
from epigram.lm.vocabulary import BOUNDARY, START, UNKNOWN, UNSEEN, Vocabulary
from epigram.protocols import Floats


@dataclass(frozen=True, slots=True)
class Term:
    """One suffix: its weight for the word, their count, and P(word) if it were all the context."""

    context: tuple[str, ...]
    weight: float
    count: int | None
    probability: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """A probability and its terms, from the empty context to the longest one known."""

    word: str
    probability: float
    log_normaliser: float
    terms: tuple[Term, ...]


def explain(
    loss: SuffixLoss,
    w: Floats,
    vocabulary: Vocabulary,
    context: str | Sequence[str],
    word: str,
    unknown: float = 0.0,
) -> Explanation:
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
    ids = [vocabulary.id(token) for token in vocabulary.tokens(context)]
    loss.value(w)
    tree, child_ptr = loss.tree, loss.tree.child_ptr
    terms: list[Term] = []
    node, z, score = 0, float(loss.z[0]) / (1.0 - unknown), 0.0
    depth = 0
    while True:
        pairs = slice(int(tree.pair_ptr[node]), int(tree.pair_ptr[node + 1]))
        found = int(np.searchsorted(tree.word[pairs], target)) + pairs.start
        seen = found < pairs.stop and tree.word[found] == target
        before = loss.e[tree.pair_parent[pairs]] if node else np.zeros(pairs.stop - pairs.start)
        above = 0 if node == 0 else int(tree.depth[tree.parent[node]])
        z_above, score_above = z, score
        symbols = tree.context(node)[::-1]
        for d in range(above + 1 if node else 0, int(tree.depth[node]) + 1):
            if d and (d > len(ids) or ids[-d] != symbols[d - 1]):
                return _explanation(word, terms)
            if node:
                part = d - above
                z = z_above + float((before * np.expm1(part * w[pairs])).sum())
                score = score_above + (part * float(w[found]) if seen else 0.0)
            else:
                score = float(w[found]) if seen else 0.0
            words = tuple(_name(vocabulary, k) for k in ids[len(ids) - d :])
            count = (int(tree.count[found]) if seen else 0) if tree.n_positions else None
            terms.append(Term(words, float(w[found]) if seen else 0.0, count, float(np.exp(score) / z)))
        depth = int(tree.depth[node])
        if depth >= len(ids) or ids[-depth - 1] == UNSEEN:
            return _explanation(word, terms)
        children = slice(int(child_ptr[node]), int(child_ptr[node + 1]))
        node = int(np.searchsorted(tree.symbol[children], ids[-depth - 1])) + children.start
        if node >= children.stop or tree.symbol[node] != ids[-depth - 1]:
            return _explanation(word, terms)


def _explanation(word: str, terms: list[Term]) -> Explanation:
    score = sum(term.weight for term in terms)
    probability = terms[-1].probability
    return Explanation(word, probability, score - float(np.log(probability)), tuple(terms))


def _name(vocabulary: Vocabulary, symbol: int) -> str:
    return START if symbol == BOUNDARY else vocabulary.words[symbol]
