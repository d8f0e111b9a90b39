"""L-BFGS, and OWL-QN for an l1 part (Andrew & Gao 2007, "Scalable training of L1-regularized log-linear models").

Both minimise loss(w) + l2 sum w^2 + l1 sum |w|; L-BFGS is OWL-QN with l1 = 0. The direction uses the
"vector-free" form of the two-loop recursion: the recursion runs on inner products, so the history is read
twice an iteration instead of 4 m times. Stops when the pseudo-gradient has shrunk to ``tolerance`` times
what it was at w = 0.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

import numpy as np

from epigram._core.native import family
from epigram.errors import misfit
from epigram.estimator import Estimator
from epigram.protocols import (
    BatchLoss,
    Callback,
    Floats,
    Iteration,
    L1Penalty,
    L2Penalty,
    Result,
    is_plain,
    require,
)

ARMIJO = 1e-4
core = family("solvers")
MAX_HALVINGS = 30
T = TypeVar("T")
LOOKS_BACK = 10  # iterations that ``settled`` is about
MAX_STALLED = 5  # iterations that lower the objective by no more than its rounding


class _History:
    """The last ``memory`` pairs s = w' - w, y = g' - g, and the direction -H g they imply."""

    def __init__(self, memory: int, n_weights: int, threads: int = 1) -> None:
        self.memory = memory
        bounds = np.linspace(0, n_weights, threads + 1).astype(int).tolist()
        self.parts = [slice(a, b) for a, b in pairwise(bounds)]  # a thread each
        self.pairs = np.empty((2 * memory, n_weights))
        self.products = np.zeros((2 * memory, 2 * memory))
        self.slots: list[int] = []  # oldest first; slot k holds s in row k and y in row memory + k
        self._new = 0  # the slot whose inner products are not known yet

    def push(self, w_next: Floats, w: Floats, g_next: Floats, g: Floats) -> None:
        """Remember a pair of positive curvature; others are left out. ``g`` is overwritten."""
        s, y, sums = np.empty_like(w), g, np.empty(2)
        core.differences(w.size, w_next, w, g_next, g, s, y, sums)
        sy, yy = sums
        if sy <= 1e-12 * yy:
            return
        slot = self.slots.pop(0) if len(self.slots) == self.memory else len(self.slots)
        self.slots.append(slot)
        self.pairs[slot], self.pairs[self.memory + slot] = s, y
        self._new = slot

    def direction(self, g: Floats) -> Floats:
        """-H g by the two-loop recursion (Nocedal 1980) on coefficients over the rows of ``pairs`` and g."""
        if not self.slots:
            return -g / max(1.0, float(np.linalg.norm(g)))
        m, products = self.memory, self.products
        n, new = len(self.slots), self._new
        news = (self.pairs[new], self.pairs[m + new], g)

        def multiply(part: slice) -> Floats:
            out = np.zeros((2 * m, 3))
            for first in (0, m):
                rows = self.pairs[first : first + n]
                for k, vector in enumerate(news):
                    products = np.empty(n)
                    core.row_products(n, rows.shape[1], rows, part.start, part.stop, vector, products)
                    out[first : first + n, k] = products
            return out

        fresh = np.sum(self._in_threads(multiply), axis=0)
        products[:, new] = products[new] = fresh[:, 0]
        products[:, m + new] = products[m + new] = fresh[:, 1]
        g_products = fresh[:, 2]
        c = np.zeros(2 * m)  # the running vector is g * g_weight + c @ pairs
        a = np.zeros(m)
        for k in reversed(self.slots):
            a[k] = (c @ products[k] + g_products[k]) / products[k, m + k]
            c[m + k] -= a[k]
        last = self.slots[-1]
        g_weight = products[last, m + last] / products[m + last, m + last]
        c *= g_weight
        for k in self.slots:
            b = (c @ products[m + k] + g_weight * g_products[m + k]) / products[k, m + k]
            c[k] += a[k] - b
        d: Floats = -g_weight * g

        def combine(part: slice) -> None:
            for first in (0, m):
                rows = self.pairs[first : first + n]
                core.subtract_rows(n, rows.shape[1], rows, c[first : first + n], part.start, part.stop, d)

        self._in_threads(combine)
        return d

    def _in_threads(self, work: Callable[[slice], T]) -> list[T]:
        """Results of the work on each part; C lets go of the interpreter meanwhile."""
        if len(self.parts) == 1:
            return [work(self.parts[0])]
        with ThreadPoolExecutor(len(self.parts)) as pool:
            return list(pool.map(work, self.parts))


class LBFGS(Estimator):
    """Limited-memory BFGS for a smooth objective: any batch loss with an ``L2`` penalty.

    Parameters
    ----------
    memory : pairs kept for the direction.
    tolerance : stop when the gradient's l2 norm is this fraction of that at w = 0.
    max_iterations : give up (reason ``limit``) after so many.
    threads : of the solver's own vectors; the loss has its own. Same count, same bits.
    settled : stop, too, when ten iterations together lower the objective by less than this share; 0 for never.

    Examples
    --------
    >>> import numpy as np
    >>> from epigram import L2
    >>> class Bowl:
    ...     n_weights, n_samples = 2, 1
    ...     def value_and_gradient(self, w, out):
    ...         out[:] = w - 1
    ...         return 0.5 * float((w - 1) @ (w - 1))
    >>> LBFGS().solve(Bowl(), L2(0.5)).w.round(3).tolist()
    [0.5, 0.5]
    """

    _needs = "a penalty with a squared l2 part only, and one price for all weights"
    _instead = "L2, OWLQN for an l1 part, or FISTA"

    def __init__(
        self,
        memory: int = 10,
        tolerance: float = 1e-4,
        max_iterations: int = 2000,
        threads: int = 1,
        settled: float = 0.0,
    ) -> None:
        self.memory = memory
        self.tolerance = tolerance
        self.max_iterations = max_iterations
        self.threads = threads
        self.settled = settled

    def _check(self, penalty: object) -> tuple[float, float]:
        """The l1 and l2 strengths, or a misfit."""
        require(penalty, L2Penalty, self, self._needs, self._instead)
        if getattr(penalty, "l1", 0.0) or not is_plain(penalty):
            misfit(self, self._needs, penalty, self._instead)
        return 0.0, float(getattr(penalty, "l2", 0.0))

    def solve(
        self,
        loss: BatchLoss,
        penalty: L1Penalty | L2Penalty,
        start: Floats | None = None,
        callback: Callback | None = None,
    ) -> Result:
        """Minimise loss + penalty from ``start`` (zeros by default)."""
        require(loss, BatchLoss, self, "a batch loss (value_and_gradient)", "SGD")
        l1, l2 = self._check(penalty)
        if min(self.memory, self.max_iterations, self.threads) < 1 or not self.tolerance > 0.0:
            raise ValueError(
                "memory, max_iterations and threads must be at least 1 and tolerance positive, "
                f"not {self.memory!r}, {self.max_iterations!r}, {self.threads!r} and {self.tolerance!r}."
            )
        return self._minimise(loss, l1, l2, start, callback)

    def _minimise(
        self, loss: BatchLoss, l1: float, l2: float, start: Floats | None, callback: Callback | None
    ) -> Result:
        began = time.perf_counter()
        w = np.zeros(loss.n_weights) if start is None else np.array(start, dtype=np.float64)
        g = np.empty_like(w)
        g_next = np.empty_like(w)
        history = _History(self.memory, w.size, self.threads)
        value = _smooth(loss, l2, w, g)
        objective = value + l1 * float(np.abs(w).sum())
        pseudo = np.empty_like(w)
        scale = self._scale(loss, l1, l2, w, g)
        reason, number, stalled = "limit", 0, 0
        norm = core.pseudo_gradient(w.size, w, g, l1, pseudo)
        met: list[float] = []
        while number < self.max_iterations:
            if norm / scale <= self.tolerance or stalled == MAX_STALLED:
                reason = "converged"
                break
            step = _search(loss, l1, l2, w, objective, pseudo, history.direction(pseudo), g_next)
            if step is None:
                if not history.slots:
                    reason = "converged"  # not even steepest descent lowers the objective any more
                    break
                history.slots.clear()
                continue
            w_next, reached = step
            stalled = stalled + 1 if objective - reached <= np.spacing(abs(objective)) else 0
            objective = reached
            history.push(w_next, w, g_next, g)
            w, (g, g_next) = w_next, (g_next, g)
            number += 1
            norm = core.pseudo_gradient(w.size, w, g, l1, pseudo)
            seconds, nonzero = time.perf_counter() - began, int(np.count_nonzero(w))
            if callback is not None and callback(
                Iteration(number, objective, nonzero, seconds, w, norm / scale, norm)
            ):
                reason = "callback"
                break
            met.append(objective)
            if number > LOOKS_BACK and met[-1 - LOOKS_BACK] - objective < self.settled * abs(objective):
                reason = "settled"
                break
        return Result(w, objective, number, reason, norm / scale)

    @staticmethod
    def _scale(loss: BatchLoss, l1: float, l2: float, w: Floats, g: Floats) -> float:
        """The pseudo-gradient's norm at zero, which optimality is relative to."""
        if w.any():
            zero = np.zeros_like(w)
            g = np.empty_like(w)
            _smooth(loss, l2, zero, g)
            w = zero
        return max(
            float(core.pseudo_gradient(w.size, w, g, l1, np.empty_like(w))), float(np.finfo(float).tiny)
        )


class OWLQN(LBFGS):
    """Orthant-wise limited-memory quasi-Newton: any batch loss with an ``L1`` or ``ElasticNet`` penalty.

    Parameters are those of :class:`LBFGS`; the gradient is replaced by the pseudo-gradient.
    """

    _needs = "a penalty with an l1 part, at most a squared l2 part, and one price for all weights"
    _instead = "L1 or ElasticNet, LBFGS for L2, or FISTA"

    def _check(self, penalty: object) -> tuple[float, float]:
        require(penalty, L1Penalty, self, self._needs, self._instead)
        if not is_plain(penalty):
            misfit(self, self._needs, penalty, self._instead)
        return float(getattr(penalty, "l1", 0.0)), float(getattr(penalty, "l2", 0.0))


def _smooth(loss: BatchLoss, l2: float, w: Floats, out: Floats) -> float:
    """Loss plus l2 sum w^2, gradient to ``out``."""
    value = loss.value_and_gradient(w, out)
    if l2:
        out += 2.0 * l2 * w
        value += l2 * float(w @ w)
    return value


def _search(
    loss: BatchLoss,
    l1: float,
    l2: float,
    w: Floats,
    objective: float,
    pseudo: Floats,
    d: Floats,
    g_next: Floats,
) -> tuple[Floats, float] | None:
    """Backtrack along d, projected on the orthant of w (Andrew & Gao, section 3.2); None if nothing helps."""
    step = 1.0
    w_next, sums = np.empty_like(w), np.empty(2)
    for _ in range(MAX_HALVINGS):
        core.step_in_orthant(w.size, w, pseudo, d, step, l1, w_next, sums)
        size, slope = sums.tolist()
        reached = _smooth(loss, l2, w_next, g_next) + l1 * size
        if reached <= objective + ARMIJO * slope:
            return w_next, reached
        step *= 0.5
    return None
