"""A text made ready for training: its contexts, its loss, and other text that weights are judged on.

What stands between an estimator, which has settings, and a loss, which knows arrays only. Training, choosing the
strength of a penalty and experiments all work on it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from epigram.lm.corpus import Corpus
from epigram.lm.loglinear.loss import SuffixLoss
from epigram.lm.loglinear.penalty import Strength, build_penalty, first_weights
from epigram.lm.loglinear.to_backoff import to_backoff
from epigram.lm.loglinear.tree import ContextTree, Located, Positions
from epigram.lm.ngram.model import BackoffModel
from epigram.protocols import Callback, Floats, Result, Solver


@dataclass(frozen=True)
class Problem:
    """The loss of a text under a penalty of some kind.

    Examples
    --------
    >>> from epigram.solvers.proximal import FISTA
    >>> corpus = Corpus.of(["a rose is a rose", "a rose is red"])
    >>> problem = Problem.of(corpus, order=2, penalty="l1", held_out=corpus)
    >>> result = problem.solve(FISTA(), Strength(0.1, 1.0))
    >>> problem.model(result.w).next_words("a", 1)[0][0]
    'rose'
    >>> problem.perplexity(result.w) < 5  # even odds among five words
    True
    """

    corpus: Corpus
    loss: SuffixLoss
    penalty: str = "elastic"
    nonnegative: bool = True
    held_out: Located | None = None

    @classmethod
    def of(
        cls,
        corpus: Corpus,
        order: int,
        penalty: str = "elastic",
        *,
        nonnegative: bool = True,
        collapse: bool = False,
        held_out: Corpus | None = None,
        threads: int = 1,
    ) -> Problem:
        """Contexts up to an order (0: unbounded) of a text; ``held_out`` must be in the ids of its vocabulary."""
        positions = Positions.of(corpus)
        tree = ContextTree.grow(positions, order, collapse)
        other = None if held_out is None else Located(tree, Positions.of(held_out))
        return cls(corpus, SuffixLoss(tree, threads, positions), penalty, nonnegative, other)

    @property
    def tree(self) -> ContextTree:
        """The contexts of the text, a weight for each of its pairs."""
        return self.loss.tree

    def first_weights(self, strength: Strength) -> Floats:
        """Weights to start from: the best of the root alone, 0 elsewhere."""
        return first_weights(self.tree, strength, self.nonnegative)

    def solve(
        self,
        solver: Solver,
        strength: Strength,
        start: Floats | None = None,
        callback: Callback | None = None,
    ) -> Result:
        """Minimise loss + penalty, from given weights or from :meth:`first_weights`."""
        penalty = build_penalty(self.penalty, self.tree, strength, self.nonnegative)
        return solver.solve(
            self.loss, penalty, self.first_weights(strength) if start is None else start, callback
        )

    def perplexity(self, w: Floats) -> float:
        """Perplexity of the held-out text; NaN without any."""
        return float("nan") if self.held_out is None else self.held_out.perplexity(self.loss, w)

    def log_perplexity(self, w: Floats) -> float:
        """Its natural logarithm."""
        return float(np.log(self.perplexity(w)))

    def model(self, w: Floats) -> BackoffModel:
        """The language model that weights make."""
        return to_backoff(self.corpus.vocabulary, self.loss, w)
