"""MAP adaptation: trains a model on new text near its weights (Chelba and Acero 2004).

    minimise  sum over new positions of -ln P(u | x)  +  sum over weights of k (w - w0)^2 / 2  +  penalty of new pairs

The precision k of a weight is the curvature that the old text, N0 positions, would give it if its contexts were
distributed as in the new text of N positions: k = (N0 / N) sqrt(e max(e, n)), e the expected count of the pair under w0
(k = N0 e / N is the diagonal of the Fisher information) and n its count, so that new pairs of frequent contexts rise
slowly. Pairs that have a weight are held by it alone; the others pay the penalty of training as well.

Differs: Chelba and Acero use one variance for all weights, chosen on held-out text.
"""

from __future__ import annotations

import numpy as np

from epigram._core.arrays import dot
from epigram.lm.loglinear.penalties import Strength
from epigram.lm.loglinear.problem import TreeProblem
from epigram.lm.loglinear.select import MaskedPenalty, TreeLoss, expected_counts, largest, weight_importance
from epigram.protocols import Callback, Floats, Result, Solver


class NearWeights:
    """A loss plus a quadratic penalty on the distance from given weights.

    ``n_before`` positions of text gave these weights.
    """

    def __init__(self, loss: TreeLoss, w: Floats, n_before: int) -> None:
        self.loss, self.n_weights, self.n_samples, self._centre = loss, loss.n_weights, loss.n_samples, w
        m = loss.tree.per_pair(loss.tree.multiplicity)
        expected = expected_counts(loss, w)
        counts = np.sqrt(expected * np.maximum(expected, loss.tree.count))
        precision = n_before / max(loss.n_samples, 1) * m * m * counts
        self.precision = np.where(precision > 0, precision, 1.0)  # 1: no text moves these weights

    def value(self, w: Floats) -> float:
        """The loss and the penalty on the distance."""
        away = w - self._centre
        return self.loss.value(w) + 0.5 * dot(self.precision * away, away)

    def value_and_gradient(self, w: Floats, out: Floats) -> float:
        """Value and gradient of both."""
        away = w - self._centre
        pull = self.precision * away
        value = self.loss.value_and_gradient(w, out) + 0.5 * dot(pull, away)
        out += pull
        return value

    def curvature(self, gradient: Floats) -> Floats:
        """An estimate of the diagonal of the Hessian."""
        return self.loss.curvature(gradient) + self.precision


def adapt(
    problem: TreeProblem,
    w: Floats,
    n_before: int,
    strength: Strength,
    solver: Solver,
    max_weights: int | None = None,
    callback: Callback | None = None,
) -> Result:
    """Fit the weights of new text near ``w``; ``problem`` is that of the text.

    Pairs that neither the text nor the model has stay at 0.
    With ``max_weights``, the weights that the model has stay, and new ones fill the places that are left.
    """
    loss, known = problem.loss, w != 0
    near, own = NearWeights(loss, w, n_before), problem.build_penalty(strength, (~known).astype(np.float64))
    result = solver.solve(near, MaskedPenalty(own, known | (loss.tree.count > 0)), w, callback)
    if max_weights is None or np.count_nonzero(result.w) <= max_weights:
        return result
    free = max_weights - int(np.count_nonzero(known))
    worth = np.where(known, 0.0, weight_importance(loss, result.w))
    kept = known | largest(worth, free) if free > 0 else known
    return solver.solve(near, MaskedPenalty(own, kept), np.where(kept, result.w, 0.0), callback)
