"""Selects the most useful weights and refits them.

A weight w of expected count a is worth a (w - 1 + exp(-w)): by how much the log-likelihood of text of the
model itself falls, to first order in the normaliser, when it is dropped (Stolcke 1998 does this for
back-off models). Expected counts are discounted, so that pairs seen once do not count for more than they
are worth.

Few weights leave much to the shorter contexts, and these expect pairs that come rarely or never ("the of"). A pair that
was seen n times and is expected m > n times is worth m - n - n ln(m / n) with a negative weight, often more
than a pair that was seen. Half an occurrence is added to n, so that what was never seen does not count for too much.
Pairs that were never seen have no place in the tree: they are added with the count 0.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from epigram._core import bindings
from epigram.errors import InputError
from epigram.lm.loglinear.loss import SuffixLoss
from epigram.lm.loglinear.tree import ContextTree
from epigram.protocols import BatchLoss, Floats, Ints, Offsets, ProximalPenalty

UNSEEN = 0.5
"""Added to how often a pair was seen that is expected more often."""


class TreeLoss(BatchLoss, Protocol):
    """A loss with a weight for each pair of a tree."""

    tree: ContextTree

    def value(self, w: Floats) -> float:
        """The loss alone."""
        ...

    def curvature(self, gradient: Floats) -> Floats:
        """An estimate of the diagonal of the Hessian."""
        ...


def weight_importance(loss: TreeLoss, w: Floats) -> Floats:
    """Log-likelihood that each weight adds over the training text, in nats; 0 for weights of 0.

    Examples
    --------
    >>> from epigram.lm.loglinear.loss import SuffixLoss
    >>> from epigram.lm.loglinear.tree import Positions
    >>> from epigram.lm.corpus import Corpus
    >>> loss = SuffixLoss(ContextTree.grow(Positions.of(Corpus.of(["a b"])), order=1))
    >>> weight_importance(loss, np.array([0.0, 0.0, 1.0])).round(3).tolist()
    [0.0, 0.0, 0.636]
    """
    m = loss.tree.per_pair(loss.tree.multiplicity)
    return np.asarray(expected_counts(loss, w) * (m * w - 1.0 + np.exp(-m * w)))


def rarity_gain(loss: TreeLoss, w: Floats) -> Floats:
    """Log-likelihood that a negative weight would add to each pair rarer than expected; else 0.

    Examples
    --------
    >>> from epigram.lm.loglinear.tree import Positions
    >>> from epigram.lm.corpus import Corpus
    >>> loss = SuffixLoss(ContextTree.grow(Positions.of(Corpus.of(["a a a a a b"])), order=1))
    >>> rarity_gain(loss, np.zeros(3)).round(3).tolist()  # of </s>, a and b, 7 / 3 of each are expected
    [0.171, 0.0, 0.171]
    """
    expected = expected_counts(loss, w)
    seen = loss.tree.count + UNSEEN
    rare = (w == 0) & (expected > seen)
    ratio = np.divide(expected, seen, out=np.ones_like(w), where=rare)
    return np.where(rare, expected - seen - seen * np.log(ratio), 0.0)


def expected_counts(loss: TreeLoss, w: Floats) -> Floats:
    """Count of each pair that weights expect in the text of a loss."""
    gradient, m = np.empty_like(w), loss.tree.per_pair(loss.tree.multiplicity)
    loss.value_and_gradient(w, gradient)
    return np.maximum(gradient / m + loss.tree.count, 0.0)


def unseen_pairs(loss: SuffixLoss, w: Floats) -> tuple[Ints, Ints]:
    """Contexts, and words never seen after them that are expected more often than ``UNSEEN``."""
    loss.value_and_gradient(w, np.empty_like(w))
    most = np.empty(loss.tree.n_contexts)
    context, word = np.empty((2, 0), np.int32)
    for _ in range(2):
        n = bindings.loglinear_unseen(loss.core, loss.sums, UNSEEN, most, context, word)
        if n > context.size:
            context, word = np.empty((2, n), np.int32)
    return context, word


def with_pairs(tree: ContextTree, context: Ints, word: Ints) -> tuple[ContextTree, Offsets]:
    """A tree of one root with more pairs of count 0, in its order; and the index of each.

    Values of the old pairs are spread over the new ones by ``np.insert(values, where, 0)``.

    Examples
    --------
    >>> from epigram.lm.loglinear.tree import Positions
    >>> from epigram.lm.corpus import Corpus
    >>> tree = ContextTree.grow(Positions.of(Corpus.of(["a b"])), order=2)
    >>> more, where = with_pairs(tree, np.array([2], np.int32), np.array([0], np.int32))
    >>> tree.n_pairs, more.n_pairs, where.tolist(), more.count.tolist()
    (6, 7, [4], [1, 1, 1, 1, 0, 1, 1])
    """
    of_pair = tree.per_pair(np.arange(tree.n_contexts, dtype=np.int32))
    own = of_pair.astype(np.int64) * tree.n_targets + tree.word
    where = np.searchsorted(own, context.astype(np.int64) * tree.n_targets + word)
    words, counts = np.insert(tree.word, where, word), np.insert(tree.count, where, 0)
    pair_ptr = tree.pair_ptr + np.searchsorted(context, np.arange(tree.n_contexts + 1))
    pair_parent = np.full(words.size, -1, np.int32)
    bindings.loglinear_link_pairs(tree.parent, pair_ptr, words, pair_parent)
    return replace(tree, pair_ptr=pair_ptr, word=words, count=counts, pair_parent=pair_parent), where


def largest(values: Floats, k: int) -> npt.NDArray[np.bool_]:
    """A mask of the ``k`` largest values above 0 (all of them where there are fewer)."""
    if k < 1:
        raise InputError(f"the number of weights to keep must be at least 1, not {k}.")
    mask = values > 0
    if int(mask.sum()) > k:
        mask[np.argsort(-values, kind="stable")[k:]] = False
    return mask


class MaskedPenalty:
    """A penalty with the constraint that weights outside a mask are 0."""

    def __init__(self, penalty: ProximalPenalty, mask: npt.NDArray[np.bool_]) -> None:
        self._penalty, self._mask = penalty, mask

    def value(self, w: Floats) -> float:
        """The penalty; infinite where the constraint is broken."""
        return float("inf") if w[~self._mask].any() else self._penalty.value(w)

    def prox(self, w: Floats, step: float | Floats, out: Floats) -> None:
        """The prox of the weights inside; exact for penalties that are sums over weights."""
        self._penalty.prox(np.where(self._mask, w, 0.0), step, out)
        out[~self._mask] = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._penalty, name)
