"""Fewer weights: keep those that matter most, then fit them again with the others at 0.

A weight w of expected count a is worth a (w - 1 + exp(-w)): by how much the log-likelihood of text of the
model itself falls, to first order in the normaliser, when it is dropped (Stolcke 1998 does this for
back-off models). Expected counts are discounted, so that pairs seen once do not count for more than they
are worth.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from epigram.errors import InputError
from epigram.lm.loglinear.tree import ContextTree
from epigram.protocols import BatchLoss, Floats, ProximalPenalty


class TreeLoss(BatchLoss, Protocol):
    """A loss with a weight for each pair of a tree."""

    tree: ContextTree


def weight_importance(loss: TreeLoss, w: Floats) -> Floats:
    """What each weight is worth, in nats over the training text; 0 for weights of 0.

    Examples
    --------
    >>> from epigram.lm.loglinear.loss import SuffixLoss
    >>> from epigram.lm.loglinear.tree import Positions
    >>> from epigram.lm.corpus import Corpus
    >>> loss = SuffixLoss(ContextTree.grow(Positions.of(Corpus.of(["a b"])), order=1))
    >>> weight_importance(loss, np.array([0.0, 0.0, 1.0])).round(3).tolist()
    [0.0, 0.0, 0.636]
    """
    gradient = np.empty_like(w)
    loss.value_and_gradient(w, gradient)
    m = loss.tree.per_pair(loss.tree.multiplicity)
    expected = np.maximum(gradient / m + loss.tree.count, 0.0)
    return np.asarray(expected * (m * w - 1.0 + np.exp(-m * w)))


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
