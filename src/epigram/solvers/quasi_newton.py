"""L-BFGS, and OWL-QN for an l1 penalty (Andrew and Gao 2007).

Both minimise loss(w) + l2 sum w^2 + l1 sum |w|; L-BFGS is OWL-QN with l1 = 0. The direction uses the
"vector-free" form of the two-loop recursion: the recursion runs on inner products, so the history is read
twice an iteration instead of 4 m times, in float32. Stops when the pseudo-gradient has shrunk to ``tolerance`` times
what it was at w = 0.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from epigram._core import bindings
from epigram._core.arrays import dot
from epigram._core.threads import Parts
from epigram.checkpoint import State, here, resumable
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
MAX_HALVINGS = 30
LOOKS_BACK = 10  # iterations that ``settled`` is about
MAX_STALLED = 5  # iterations that lower the objective by no more than its rounding


class _History:
    """The last ``memory`` pairs s = w' - w, y = g' - g, and the direction -H g they imply.

    Pairs are kept as float32, which is exact enough for a direction: what is found is decided by the search along
    it. Both vectors of a pair may be scaled by the same number, as H does not change with it; they are scaled such
    that s . y is about 1, which keeps them far from where float32 ends.
    """

    def __init__(self, memory: int, n_weights: int, parts: Parts | None = None) -> None:
        self.memory = memory
        self.parts = parts or Parts(n_weights)
        self.pairs = np.empty((2 * memory, n_weights), dtype=np.float32)
        self.products = np.zeros((2 * memory, 2 * memory))
        self.slots: list[int] = []  # oldest first; slot k holds s in row 2 k and y in row 2 k + 1
        self._d = np.empty(n_weights)

    def push(self, w_next: Floats, w: Floats, g_next: Floats, g: Floats) -> None:
        """Remember a pair of positive curvature; others are left out."""

        def vectors(part: slice) -> tuple[Floats, Floats, Floats, Floats]:
            return w_next[part], w[part], g_next[part], g[part]

        sy, yy = self.parts.sums(
            2, lambda part, out: bindings.solvers_curvature(*vectors(part), out)
        ).tolist()
        if not sy > 1e-12 * yy:
            return
        slot = self.slots.pop(0) if len(self.slots) == self.memory else len(self.slots)
        self.slots.append(slot)
        scale = 2.0 ** -(math.frexp(sy)[1] // 2)
        s, y = self.pairs[2 * slot : 2 * slot + 2]
        self.parts.each(lambda part: bindings.solvers_keep_pair(*vectors(part), scale, s[part], y[part]))

    def state(self) -> State:
        """The pairs and their inner products, to go on with another time."""
        return {"slots": self.slots, "pairs": self.pairs[: 2 * len(self.slots)], "products": self.products}

    def restore(self, slots: list[int], pairs: npt.NDArray[np.float32], products: Floats) -> None:
        """Be as the history was that had this state."""
        self.slots, self.products = slots, products
        self.pairs[: len(pairs)] = pairs

    def direction(self, g: Floats) -> Floats:
        """Compute -H g by the two-loop recursion (Nocedal 1980) over the rows of ``pairs``.

        The next call overwrites what this one returns.
        """
        if not self.slots:
            return -g / max(1.0, math.sqrt(dot(g, g)))
        n, last = 2 * len(self.slots), 2 * self.slots[-1]
        rows, products = self.pairs[:n], self.products[:n, :n]
        s, y = self.pairs[last : last + 2]
        fresh = self.parts.sums(
            3 * n, lambda part, out: bindings.solvers_row_products(rows, part.start, part.stop, s, y, g, out)
        )
        of_s, of_y, of_g = fresh.reshape(n, 3).T
        products[:, last] = products[last] = of_s
        products[:, last + 1] = products[last + 1] = of_y
        c = np.zeros(n)  # the running vector is g * g_weight + c @ pairs
        a = np.zeros(n)
        for k in (2 * slot for slot in reversed(self.slots)):
            a[k] = (c @ products[k] + of_g[k]) / products[k, k + 1]
            c[k + 1] -= a[k]
        g_weight = products[last, last + 1] / products[last + 1, last + 1]
        c *= g_weight
        for k in (2 * slot for slot in self.slots):
            b = (c @ products[k + 1] + g_weight * of_g[k + 1]) / products[k, k + 1]
            c[k] += a[k] - b
        self.parts.each(
            lambda part: bindings.solvers_combine_rows(rows, c, g_weight, part.start, part.stop, g, self._d)
        )
        return self._d


@dataclass(eq=False, repr=False)
class LBFGS(Estimator):
    """Limited-memory BFGS for a smooth objective: any batch loss with an ``L2`` penalty.

    Parameters
    ----------
    memory : number of pairs that the direction is computed from.
    tolerance : gradient norm, as a share of that at w = 0, at which training stops.
    max_iterations : most iterations; the reason is then ``limit``.
    threads : number of threads for the solver's vectors. The loss has its own. Same count, same bits.
    settled : share of the objective; training also stops when ten iterations lower it by less. 0 for never.

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

    _needs = "a penalty with a squared l2 part only, and one strength for all weights"
    _instead = "L2, OWLQN for an l1 part, or FISTA"

    memory: int = 10
    tolerance: float = 1e-4
    max_iterations: int = 2000
    threads: int = 1
    settled: float = 0.0

    def _check(self, penalty: object) -> tuple[float, float]:
        """The l1 and l2 strengths, or a misfit."""
        require(penalty, L2Penalty, self, self._needs, self._instead)
        if getattr(penalty, "l1", 0.0) or not is_plain(penalty):
            misfit(self, self._needs, penalty, self._instead)
        return 0.0, float(getattr(penalty, "l2", 0.0))

    @resumable
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
        with Parts(loss.n_weights, self.threads) as parts:
            began, kept = time.perf_counter(), here()
            history = _History(self.memory, loss.n_weights, parts)
            reason, number, stalled = "limit", 0, 0
            met: list[float] = []
            if saved := kept.state:
                w, g, objective, scale = (saved[name] for name in ("w", "g", "objective", "scale"))
                number, stalled, met = (saved[name] for name in ("number", "stalled", "met"))
                history.restore(saved["slots"], saved["pairs"], saved["products"])
            else:
                w = np.zeros(loss.n_weights) if start is None else np.array(start, dtype=np.float64)
                g = np.empty_like(w)
                objective = _smooth(loss, l2, w, g) + l1 * float(np.abs(w).sum())
                scale = self._scale(loss, l1, l2, w, g)
            g_next, pseudo = np.empty_like(w), np.empty_like(w)
            norm = _pseudo_gradient(w, g, l1, pseudo, parts)
            while number < self.max_iterations:
                if norm / scale <= self.tolerance or stalled == MAX_STALLED:
                    reason = "converged"
                    break
                step = _search(loss, l1, l2, w, objective, pseudo, history.direction(pseudo), g_next, parts)
                if step is None:
                    if not history.slots:
                        reason = "converged"  # not even steepest descent lowers the objective any more
                        break
                    history.slots.clear()
                    continue
                w_next, reached, nonzero = step
                stalled = stalled + 1 if objective - reached <= np.spacing(abs(objective)) else 0
                objective = reached
                history.push(w_next, w, g_next, g)
                w, (g, g_next) = w_next, (g_next, g)
                number += 1
                norm = _pseudo_gradient(w, g, l1, pseudo, parts)
                seconds = time.perf_counter() - began
                stop = callback is not None and bool(
                    callback(Iteration(number, objective, nonzero, seconds, w, norm / scale, norm))
                )
                met.append(objective)
                settled = number > LOOKS_BACK and met[-1 - LOOKS_BACK] - objective < self.settled * abs(
                    objective
                )
                kept.save(
                    {
                        "w": w,
                        "g": g,
                        "objective": objective,
                        "scale": scale,
                        "number": number,
                        "stalled": stalled,
                        "met": met,
                        **history.state(),
                    },
                    over=settled,
                    stop=stop,
                )
                if stop or settled:
                    reason = "callback" if stop else "settled"
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
            float(bindings.solvers_pseudo_gradient(w, g, l1, np.empty_like(w))), float(np.finfo(float).tiny)
        )


class OWLQN(LBFGS):
    """Orthant-wise limited-memory quasi-Newton for an ``L1`` or ``ElasticNet`` penalty.

    Parameters are those of :class:`LBFGS`; the gradient is replaced by the pseudo-gradient.
    """

    _needs = "a penalty with an l1 part, at most a squared l2 part, and one strength for all weights"
    _instead = "L1 or ElasticNet, LBFGS for L2, or FISTA"

    def _check(self, penalty: object) -> tuple[float, float]:
        require(penalty, L1Penalty, self, self._needs, self._instead)
        if not is_plain(penalty):
            misfit(self, self._needs, penalty, self._instead)
        return float(getattr(penalty, "l1", 0.0)), float(getattr(penalty, "l2", 0.0))


def _pseudo_gradient(w: Floats, g: Floats, l1: float, out: Floats, parts: Parts) -> float:
    """The subgradient of least norm to ``out``, and its norm."""
    norms = parts.each(lambda p: float(bindings.solvers_pseudo_gradient(w[p], g[p], l1, out[p])))
    return math.hypot(*norms)


def _smooth(loss: BatchLoss, l2: float, w: Floats, out: Floats) -> float:
    """Loss plus l2 sum w^2, gradient to ``out``."""
    value = loss.value_and_gradient(w, out)
    if l2:
        out += 2.0 * l2 * w
        value += l2 * dot(w, w)
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
    parts: Parts,
) -> tuple[Floats, float, int] | None:
    """Backtrack along d on the orthant of w (Andrew and Gao, 3.2); None if nothing helps.

    Where it ends, the objective there, and how many weights are not 0.
    """
    step = 1.0
    w_next = np.empty_like(w)

    def walk(part: slice, out: Floats) -> None:
        at = w[part], pseudo[part], d[part]
        bindings.solvers_step_in_orthant(*at, step, l1, w_next[part], out)

    for _ in range(MAX_HALVINGS):
        size, slope, nonzero = parts.sums(3, walk).tolist()
        reached = _smooth(loss, l2, w_next, g_next) + l1 * size
        if reached <= objective + ARMIJO * slope:
            return w_next, reached, int(nonzero)
        step *= 0.5
    return None
