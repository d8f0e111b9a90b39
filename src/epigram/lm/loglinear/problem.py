"""Training problem of a log-linear model: a text's context tree and loss, and held-out text.

An estimator has settings, a loss knows arrays only; training, the search for strengths and experiments work on the
problem between them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from epigram.lm.corpus import Corpus
from epigram.lm.loglinear.loss import SuffixLoss
from epigram.lm.loglinear.penalties import Strength, build_penalty
from epigram.lm.loglinear.select import MaskedPenalty, TreeLoss
from epigram.lm.loglinear.to_backoff import to_backoff
from epigram.lm.loglinear.tree import ContextTree, Located, Positions
from epigram.lm.ngram.backoff import BackoffModel
from epigram.protocols import Callback, Floats, ProximalPenalty, Result, Solver


def first_weights(tree: ContextTree, strength: Strength, nonnegative: bool = True) -> Floats:
    """A start near the optimum: the best weights of the roots alone, zero elsewhere.

    The loss does not change when all weights of a root rise together, so from a start at zero a solver
    would crawl along that line. Given k = log(N / Z), each root weight solves
    exp(k + w) - n + strength sign(w) + 2 ridge w = 0, and k follows by bisection.
    """
    w = np.zeros(tree.n_pairs)
    n_roots = int(tree.level_ptr[1])
    sizes = np.diff(tree.pair_ptr[: n_roots + 1])
    # Words that were seen equally often after a root have equal weights.
    keys = np.repeat(np.arange(n_roots) << 32, sizes) + tree.count[: sizes.sum()]
    distinct, place, n_words = np.unique(keys, return_inverse=True, return_counts=True)
    root, counts = distinct >> 32, (distinct & 0xFFFFFFFF).astype(np.float64)
    prices = strength.strength, strength.ridge or 0.1 * strength.strength, nonnegative
    total = np.bincount(root, n_words * counts, n_roots)
    lo, hi = np.full(n_roots, -50.0), np.full(n_roots, 50.0)
    for _ in range(60):
        k = 0.5 * (lo + hi)
        found = _root_weights(counts, k[root], *prices)
        z = np.bincount(root, n_words * np.exp(found), n_roots) + tree.n_unseen[:n_roots]
        high = np.exp(k) * z > total
        lo, hi = np.where(high, lo, k), np.where(high, k, hi)
    w[: sizes.sum()] = found[place]
    return w


def _root_weights(counts: Floats, k: Floats, l1: float, l2: float, nonnegative: bool) -> Floats:
    """Newton's method, all words at once, but those whose weight is 0."""
    out, above = np.zeros(counts.size), counts - np.exp(k)
    some = above > l1 if nonnegative else np.abs(above) > l1
    counts, k = counts[some], k[some]
    w = np.clip(np.log(counts) - k, -30.0, 30.0)
    for _ in range(30):
        expected = np.exp(k + w)
        step = (expected - counts + l1 * np.sign(w) + 2 * l2 * w) / (expected + 2 * l2)
        w -= np.clip(step, -1.0, 1.0)
        if np.abs(step).max(initial=0.0) < 1e-13:
            break
    out[some] = np.maximum(w, 0.0) if nonnegative else w
    return out


@dataclass(frozen=True, kw_only=True)
class TreeProblem:
    """A loss over the pairs of a tree under a penalty of some kind."""

    loss: TreeLoss = field(repr=False)
    penalty: str = "elastic"
    nonnegative: bool = True

    @property
    def tree(self) -> ContextTree:
        """The contexts of the text, with a weight for each pair."""
        return self.loss.tree

    @property
    def is_side(self) -> npt.NDArray[np.bool_] | None:
        """Whether a context is one of a side tree; None without side trees."""
        return None

    def first_weights(self, strength: Strength) -> Floats:
        """Weights to start from: the best of the roots alone, 0 elsewhere."""
        return first_weights(self.tree, strength, self.nonnegative)

    def build_penalty(self, strength: Strength, factors: Floats | None = None) -> ProximalPenalty:
        """The penalty of this strength; ``factors`` multiply that of each pair."""
        return build_penalty(self.penalty, self.tree, strength, self.nonnegative, self.is_side, factors)

    def solve(
        self,
        solver: Solver,
        strength: Strength,
        start: Floats | None = None,
        callback: Callback | None = None,
        kept: npt.NDArray[np.bool_] | None = None,
    ) -> Result:
        """Minimise loss + penalty from ``start`` (:meth:`first_weights`), others than ``kept`` at 0."""
        penalty = self.build_penalty(strength)
        if kept is not None:
            penalty = MaskedPenalty(penalty, kept)
        start = self.first_weights(strength) if start is None else start
        return solver.solve(self.loss, penalty, start, callback)

    def n_nonzero(self, w: Floats) -> int:
        """Weights that are not 0."""
        return int(np.count_nonzero(w))


@dataclass(frozen=True, kw_only=True)
class Problem(TreeProblem):
    """The loss of a text, and held-out text.

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
        """Contexts up to an order (0: unbounded) of a text; ``held_out`` is in its vocabulary."""
        positions = Positions.of(corpus)
        tree = ContextTree.grow(positions, order, collapse)
        other = None if held_out is None else Located(tree, Positions.of(held_out))
        loss = SuffixLoss(tree, threads, positions)
        return cls(corpus=corpus, loss=loss, penalty=penalty, nonnegative=nonnegative, held_out=other)

    def over(self, tree: ContextTree) -> Problem:
        """The same texts over a tree with more or fewer pairs."""
        held_out = None if self.held_out is None else Located(tree, self.held_out.positions)
        return replace(self, loss=self.loss.over(tree), held_out=held_out)

    def log_probabilities(self, w: Floats) -> Floats:
        """Of the known words of the held-out text and its ends of sentences, natural logarithms."""
        return np.empty(0) if self.held_out is None else self.held_out.log_probabilities(self.loss, w)

    def perplexity(self, w: Floats) -> float:
        """Perplexity of the held-out text; NaN without any."""
        return float("nan") if self.held_out is None else self.held_out.perplexity(self.loss, w)

    def model(self, w: Floats) -> BackoffModel:
        """The language model that weights make."""
        return to_backoff(self.corpus.vocabulary, self.loss, w)


def most_iterations(solver: Solver) -> int | None:
    """Iterations or passes at which a progress bar ends."""
    return getattr(solver, "max_iterations", getattr(solver, "passes", None))
