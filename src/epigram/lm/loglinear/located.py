"""Perplexity of other text under weights on a context tree, without building a model first.

Each position is located in the tree once; after any sweep down its probability is exp s / Z, two look-ups.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from epigram._core.native import family
from epigram.lm.loglinear.tree import ContextTree, Positions
from epigram.protocols import Floats

if TYPE_CHECKING:
    from epigram.lm.loglinear.loss import SuffixLoss


class Located:
    """Positions of another text, located in a tree.

    Examples
    --------
    >>> from epigram.lm.corpus import Corpus
    >>> from epigram.lm.loglinear.loss import SuffixLoss
    >>> corpus = Corpus.of(["a b", "a c"])
    >>> tree = ContextTree.grow(Positions.of(corpus), order=2)
    >>> held_out = Located(tree, Positions.of(Corpus.of(["a a"], corpus.vocabulary)))
    >>> round(held_out.perplexity(SuffixLoss(tree), np.zeros(tree.n_pairs)), 6)  # uniform over 4 words
    4.0
    """

    def __init__(self, tree: ContextTree, positions: Positions) -> None:
        self.tree = tree
        n = positions.target.size
        self.context, self.matched, self.pair = np.empty((3, n), np.int32)
        at = positions.core(int(tree.level_ptr[1]), tree.order)
        family("loglinear").locate(tree.core(), at, n, self.context, self.matched, self.pair)

    def log_probabilities(self, loss: SuffixLoss, w: Floats) -> Floats:
        """Natural log-probability of each position; runs the sweep down."""
        if (loss.tree.n_contexts, loss.tree.n_pairs) != (self.tree.n_contexts, self.tree.n_pairs):
            raise ValueError("these positions were located in another tree than that of the loss.")
        loss.value(w)
        n, out = self.context.size, np.empty(self.context.size)
        family("loglinear").log_probabilities(
            loss.core, loss.sums, n, self.context, self.matched, self.pair, w.size, w, out
        )
        return out

    def perplexity(self, loss: SuffixLoss, w: Floats) -> float:
        """exp of the mean of -log P; NaN where nothing could be predicted."""
        return float(np.exp(-self.log_probabilities(loss, w).mean())) if self.context.size else float("nan")
