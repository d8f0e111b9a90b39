"""Perplexity of other text under weights on a context tree, without building a model first.

Each position is located in the tree once; after any sweep down its probability is exp s / Z, two look-ups.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

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
        from epigram.lm.loglinear.tree_kernels import locate

        self.tree = tree
        n = positions.target.size
        root = np.zeros(n, np.int32) if positions.root is None else positions.root
        limit = np.int32(np.iinfo(np.int32).max if tree.order == 0 else tree.order - 1)
        self.context, self.matched, self.pair = np.empty((3, n), np.int32)
        locate(
            tree.child_ptr,
            tree.symbol,
            tree.depth,
            tree.example,
            tree.history,
            tree.pair_ptr,
            tree.word,
            positions.history,
            positions.end,
            np.minimum(positions.length, limit),
            positions.target,
            root,
            self.context,
            self.matched,
            self.pair,
        )

    def log_probabilities(self, loss: SuffixLoss, w: Floats) -> Floats:
        """Natural log-probability of each position; runs the sweep down."""
        from epigram.lm.loglinear.loss_kernels import log_probabilities

        loss.value(w)
        out = np.empty(self.context.size)
        tree = self.tree
        log_probabilities(
            self.context,
            self.matched,
            self.pair,
            tree.depth,
            tree.parent,
            tree.pair_ptr,
            tree.pair_parent,
            w,
            loss.e,
            loss.z,
            out,
        )
        return out

    def perplexity(self, loss: SuffixLoss, w: Floats) -> float:
        """exp of the mean of -log P; NaN where nothing could be predicted."""
        return float(np.exp(-self.log_probabilities(loss, w).mean())) if self.context.size else float("nan")
