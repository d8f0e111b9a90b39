"""LinearLoss: logistic loss of sparse rows, for batch solvers and dual coordinate ascent.

``sum_i c_i log(1 + e^(-y_i s_i))`` with s = w . x + b and y = +1 or -1. The bias is the last weight.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from epigram._core import bindings
from epigram.features.grams import Rows
from epigram.protocols import Floats, Ints


class LinearLoss:
    """The loss of rows, each of the class or not (``is_in``), with a weight each.

    Examples
    --------
    >>> rows = Rows(np.array([0, 1, 2]), np.array([0, 1], np.int32), np.ones(2, np.float32), 2)
    >>> loss = LinearLoss(rows, np.array([True, False]))
    >>> round(loss.value_and_gradient(np.zeros(3), g := np.empty(3)), 4), g.tolist()
    (1.3863, [-0.5, 0.5, 0.0])
    """

    def __init__(self, rows: Rows, is_in: npt.NDArray[np.bool_], sample_weight: Floats | None = None) -> None:
        self._rows = bindings.SparseRows(rows.ptr, rows.ids, rows.values)
        self.n_samples, self.n_weights = len(is_in), rows.n_columns + 1
        self._signs = np.where(is_in, 1.0, -1.0)
        self._costs = np.ones(len(is_in)) if sample_weight is None else sample_weight
        self._squares: Floats | None = None

    def value_and_gradient(self, w: Floats, out: Floats) -> float:
        """Sum of sample losses at ``w``; its gradient is written to ``out``."""
        s = np.empty(self.n_samples)
        bindings.linear_scores(self._rows, w, s)
        s *= self._signs
        bindings.linear_gradient(self._rows, -self._costs * self._signs * sigmoid(-s), out)
        return float(self._costs @ np.logaddexp(0.0, -s))

    def value(self, w: Floats) -> float:
        """Sum of sample losses at ``w``."""
        s = np.empty(self.n_samples)
        bindings.linear_scores(self._rows, w, s)
        return float(self._costs @ np.logaddexp(0.0, -s * self._signs))

    def begin_dual(self, duals: Floats | None = None) -> tuple[Floats, Floats]:
        """Dual numbers to start from, near 0 or those given, and v, the sum of a_i y_i x_i."""
        a = 1e-3 * self._costs if duals is None else duals.copy()
        v = np.empty(self.n_weights)
        bindings.linear_gradient(self._rows, a * self._signs, v)
        return a, v

    def dual_pass(
        self, order: Ints, l1: float, l2: float, duals: Floats, rests: npt.NDArray[np.uint8], v: Floats
    ) -> float:
        """One pass of dual coordinate ascent; returns the sum of changes, as shares of their range.

        ``rests`` is working memory, two rows of zeros in the beginning.
        """
        if self._squares is None:
            self._squares = np.empty(self.n_samples)
            bindings.linear_squares(self._rows, self._squares)
        return bindings.linear_dual_pass(
            self._rows, order, self._signs, self._costs, self._squares, l1, l2, duals, rests[0], rests[1], v
        )


def scores_of(rows: Rows, w: Floats) -> Floats:
    """Scores of rows under weights."""
    out = np.empty(len(rows.ptr) - 1)
    bindings.linear_scores(bindings.SparseRows(rows.ptr, rows.ids, rows.values), w, out)
    return out


def sigmoid(s: Floats) -> Floats:
    """1 / (1 + e^-s)."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * s)))


def softmax(s: Floats) -> Floats:
    """e^s over its sum, by rows."""
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))
