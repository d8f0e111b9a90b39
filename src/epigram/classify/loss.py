"""LinearLoss: logistic loss of sparse rows, for batch solvers and dual coordinate ascent.

``sum_i c_i log(1 + e^(-y_i s_i))`` with s = o + w . x + b and y = +1 or -1. The bias is the last weight. Offsets o are
the scores of a model that is being updated.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from epigram._core import bindings
from epigram.features.grams import Rows
from epigram.protocols import Floats, Ints

LANES = 8
"""Problems with the same rows that dual coordinate ascent solves together, side by side."""


class LinearLoss:
    """The loss of rows, each of the class or not (``is_in``), with a weight each.

    ``is_in`` with up to ``LANES`` columns stands for as many problems, for dual coordinate ascent alone.

    Examples
    --------
    >>> rows = Rows(np.array([0, 1, 2]), np.array([0, 1], np.int32), np.ones(2, np.float32), 2)
    >>> loss = LinearLoss(rows, np.array([True, False]))
    >>> round(loss.value_and_gradient(np.zeros(3), g := np.empty(3)), 4), g.tolist()
    (1.3863, [-0.5, 0.5, 0.0])
    """

    def __init__(
        self,
        rows: Rows,
        is_in: npt.NDArray[np.bool_],
        sample_weight: Floats | None = None,
        offsets: Floats | None = None,
    ) -> None:
        self._rows = bindings.SparseRows(rows.ptr, rows.ids, rows.values)
        self.n_samples, self.n_weights = len(is_in), rows.n_columns + 1
        self.n_lanes = 1 if is_in.ndim == 1 else is_in.shape[1]
        self._signs = np.where(is_in, 1.0, -1.0)
        self._costs = np.ones(len(is_in)) if sample_weight is None else sample_weight
        self._offsets = np.zeros_like(self._signs) if offsets is None else np.array(offsets, dtype=np.float64)
        self._padded = self._signs, self._offsets
        if is_in.ndim > 1:
            margin = ((0, 0), (0, LANES - self.n_lanes))
            self._padded = (
                np.pad(self._signs, margin, constant_values=1.0), np.pad(self._offsets, margin)
            )  # fmt: skip
        self._squares: Floats | None = None

    def value_and_gradient(self, w: Floats, out: Floats) -> float:
        """Sum of sample losses at ``w``; its gradient is written to ``out``."""
        s = np.empty(self.n_samples)
        bindings.linear_scores(self._rows, 1, w, s)
        s = (s + self._offsets) * self._signs
        bindings.linear_gradient(self._rows, -self._costs * self._signs * sigmoid(-s), out)
        return float(self._costs @ np.logaddexp(0.0, -s))

    def value(self, w: Floats) -> float:
        """Sum of sample losses at ``w``, of all lanes."""
        s = _scores(self._rows, w, self.n_samples)
        s = s[:, : self.n_lanes] if w.ndim > 1 else s
        return float((self._costs @ np.logaddexp(0.0, -(s + self._offsets) * self._signs)).sum())

    def begin_dual(self, duals: Floats | None = None) -> tuple[Floats, Floats]:
        """Dual numbers to start from, near 0 or those given, and v, the sum of a_i y_i x_i."""
        if self._signs.ndim == 1:
            a = 1e-3 * self._costs if duals is None else duals.copy()
            v = np.empty(self.n_weights)
            bindings.linear_gradient(self._rows, a * self._signs, v)
            return a, v
        a, v = np.zeros((self.n_samples, LANES)), np.zeros((self.n_weights, LANES))
        a[:, : self.n_lanes] = 1e-3 * self._costs[:, None] if duals is None else duals[:, : self.n_lanes]
        column = np.empty(self.n_weights)
        for k in range(self.n_lanes):
            bindings.linear_gradient(self._rows, a[:, k] * self._signs[:, k], column)
            v[:, k] = column
        return a, v

    def dual_pass(
        self,
        order: Ints,
        active: npt.NDArray[np.uint8],
        l1: float,
        l2: float,
        duals: Floats,
        rests: npt.NDArray[np.uint8],
        v: Floats,
    ) -> Floats:
        """One pass of dual coordinate ascent; return the sum of changes of each lane.

        Changes are shares of their range. ``rests`` is working memory, two rows of zeros in the beginning.
        """
        if self._squares is None:
            self._squares = np.empty(self.n_samples)
            bindings.linear_squares(self._rows, self._squares)
        moved = np.empty(len(active))
        bindings.linear_dual_pass(
            self._rows, order, active, *self._padded, self._costs, self._squares, l1, l2, duals, rests[0], rests[1],
            v, moved,
        )  # fmt: skip
        return moved


def scores_of(rows: Rows, w: Floats) -> Floats:
    """Scores of rows under weights, or under each column of weights."""
    packed = bindings.SparseRows(rows.ptr, rows.ids, rows.values)
    return _scores(packed, w, len(rows.ptr) - 1)


def _scores(rows: Any, w: Floats, n: int) -> Floats:
    if w.ndim == 1:
        out = np.empty(n)
        bindings.linear_scores(rows, 1, w, out)
        return out
    found = []
    for begin in range(0, w.shape[1], LANES):
        part = np.zeros((len(w), LANES))
        part[:, : w.shape[1] - begin] = w[:, begin : begin + LANES]
        out = np.empty((n, LANES))
        bindings.linear_scores(rows, LANES, part, out)
        found.append(out)
    return np.concatenate(found, axis=1)[:, : w.shape[1]]


def sigmoid(s: Floats) -> Floats:
    """1 / (1 + e^-s)."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * s)))


def softmax(s: Floats) -> Floats:
    """e^s over its sum, by rows."""
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))
