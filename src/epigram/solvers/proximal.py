"""Proximal gradient solvers: FISTA on exact gradients, and the paper's stochastic accelerated method.

FISTA (Beck and Teboulle 2009) with backtracking, restart by the gradient test of O'Donoghue and Candes
2015, and a diagonal metric: step 1 / (L d) per weight, d the loss's ``curvature()`` and L one scalar found
by line search. A penalty whose prox cannot take any d raises it to one that it can (``level``).
"""

from __future__ import annotations

import time
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from epigram.protocols import (
    BatchLoss,
    Callback,
    Floats,
    Ints,
    Iteration,
    ProximalPenalty,
    Result,
    require,
)


@runtime_checkable
class CurvedLoss(BatchLoss, Protocol):
    """A batch loss that knows roughly how curved it is along each weight."""

    def curvature(self, gradient: Floats) -> Floats:
        """A positive diagonal d near the weights of this gradient; steps are measured in sum d (v - w)^2."""
        ...


@runtime_checkable
class LevelPenalty(ProximalPenalty, Protocol):
    """A penalty whose prox cannot take any steps: weights that it prices together must share theirs."""

    def level(self, d: Floats) -> Floats:
        """The least diagonal of at least ``d`` with which the prox can be taken."""
        ...


@runtime_checkable
class MiniBatchLoss(BatchLoss, Protocol):
    """A batch loss that can also be had for some samples."""

    def batch_value_and_gradient(
        self, samples: npt.NDArray[np.int64], scale: float, w: Floats, out: Floats, touched: Ints
    ) -> tuple[float, Ints]:
        """``scale`` times the loss of ``samples``; ``out`` is zero but where the call before ``touched``.

        Returns the value and what this call touched.
        """
        ...


class FISTA:
    """Accelerated proximal gradient on the exact loss.

    Parameters
    ----------
    tolerance : stop when a proximal step promises to lower the objective by less than this share of it
    max_iterations : stop in any case

    Examples
    --------
    >>> from epigram import L1
    >>> class Square:
    ...     n_weights, n_samples = 2, 1
    ...     def value_and_gradient(self, w, out):
    ...         out[:] = w - [3.0, 0.5]
    ...         return float(out @ out) / 2
    >>> FISTA().solve(Square(), L1(1.0)).w.round(6).tolist()
    [2.0, 0.0]
    """

    def __init__(self, tolerance: float = 1e-7, max_iterations: int = 1000) -> None:
        if not 0 < tolerance < 1:
            raise ValueError(f"tolerance must be between 0 and 1, not {tolerance!r}.")
        if max_iterations < 1:
            raise ValueError(f"max_iterations must be at least 1, not {max_iterations!r}.")
        self.tolerance = tolerance
        self.max_iterations = max_iterations

    def solve(
        self,
        loss: BatchLoss,
        penalty: ProximalPenalty,
        start: Floats | None = None,
        callback: Callback | None = None,
    ) -> Result:
        """Minimise loss + penalty."""
        require(loss, BatchLoss, self, "a loss with value_and_gradient", "SGD")
        require(penalty, ProximalPenalty, self, "a penalty with prox", "LBFGS")
        from epigram.solvers.proximal_kernels import extrapolate, forward_step, measure

        began = time.perf_counter()
        x = np.zeros(loss.n_weights) if start is None else start.astype(np.float64)
        y, gradient, new, point, step = x.copy(), *np.empty((4, x.size))
        scale, momentum, objective, optimality, reason = 1.0, 1.0, np.inf, np.inf, "limit"
        turned, number = True, 0
        for number in range(1, self.max_iterations + 1):
            at_y = loss.value_and_gradient(y, gradient)
            if turned:
                d = metric(loss, penalty, gradient)
            while True:
                forward_step(y, gradient, d, scale, step, point)
                penalty.prox(point, step, new)
                size, slope, along = measure(y, new, x, gradient, d)
                at_new = _value(loss, new, point)
                if at_new <= at_y + slope + 0.5 * scale * size + 1e-12 * abs(at_y) or scale > 1e18:
                    break
                scale *= 1.5
            objective = at_new + penalty.value(new)
            optimality = 0.5 * scale * size / max(abs(objective), 1e-300)
            turned = along < 0
            momentum_new = 1.0 if turned else 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum))
            extrapolate(new, x, 0.0 if turned else (momentum - 1.0) / momentum_new, y)
            x, new, momentum = new, x, momentum_new
            scale *= 0.98
            if callback is not None:
                nonzero = int(np.count_nonzero(x))
                seconds = time.perf_counter() - began
                if callback(Iteration(number, objective, nonzero, seconds, x, optimality)):
                    reason = "callback"
                    break
            if optimality <= self.tolerance:
                reason = "converged"
                break
        return Result(x, objective, number, reason, optimality)


class StochasticProximal:
    """The paper's Algorithm 1: accelerated proximal steps on mini-batches (SAGE, Hu et al. 2009).

    Gradients of a batch stand for the whole sum, so L and mu are in units of the metric of
    :class:`FISTA`. Every pass visits all samples in a new random order.

    Parameters
    ----------
    batch_size : samples a step; 400 in the paper
    max_passes : passes over the samples
    lipschitz : L, curvature of the loss against the metric
    strong_convexity : mu; larger values shrink the steps sooner
    tolerance : stop when a pass changes the objective by less than this share of it
    """

    def __init__(
        self,
        batch_size: int = 400,
        max_passes: int = 30,
        lipschitz: float = 5.0,
        strong_convexity: float = 0.01,
        tolerance: float = 1e-6,
        seed: int = 0,
    ) -> None:
        if batch_size < 1 or max_passes < 1:
            raise ValueError(f"batch_size and max_passes must be at least 1: {batch_size}, {max_passes}.")
        if not (lipschitz > 0 and strong_convexity > 0):
            raise ValueError(f"L and mu must be positive, not {lipschitz!r} and {strong_convexity!r}.")
        self.batch_size = batch_size
        self.max_passes = max_passes
        self.lipschitz = lipschitz
        self.strong_convexity = strong_convexity
        self.tolerance = tolerance
        self.seed = seed

    def solve(
        self,
        loss: MiniBatchLoss,
        penalty: ProximalPenalty,
        start: Floats | None = None,
        callback: Callback | None = None,
        samples: npt.NDArray[np.int64] | None = None,
    ) -> Result:
        """Minimise loss + penalty; ``samples`` limits the passes to some samples (new text, say)."""
        from epigram.solvers.proximal_kernels import average, forward_step, sage_average

        require(loss, MiniBatchLoss, self, "a loss with batch_value_and_gradient", "SGD")
        require(penalty, ProximalPenalty, self, "a penalty with prox", "SGD")
        began = time.perf_counter()
        rng = np.random.default_rng(self.seed)
        samples = np.arange(loss.n_samples) if samples is None else samples
        w = np.zeros(loss.n_weights) if start is None else start.astype(np.float64)
        z, point, gradient, step, moved = w.copy(), *np.zeros((4, w.size))
        objective = loss.value_and_gradient(w, gradient) + penalty.value(w)
        # One sample moves a rare weight by n / batch at once: below that curvature a step would overshoot.
        d = metric(loss, penalty, gradient, loss.n_samples / self.batch_size / self.lipschitz)
        gradient[:] = 0.0
        touched = np.empty(0, np.int32)
        L, mu = self.lipschitz, self.strong_convexity
        tau, delta, rho = 1.0, 1.0, self.lipschitz + self.strong_convexity
        number, reason = 0, "limit"
        for number in range(1, self.max_passes + 1):
            order = rng.permutation(samples)
            for first in range(0, order.size, self.batch_size):
                batch = order[first : first + self.batch_size]
                average(w, z, tau, point)  # line 4
                scale = loss.n_samples / batch.size
                _, touched = loss.batch_value_and_gradient(batch, scale, point, gradient, touched)
                forward_step(point, gradient, d, rho, step, moved)  # ParamUpdate, line 1
                penalty.prox(moved, step, w)  # lines 2 and 3
                sage_average(point, w, rho, tau, mu, z)  # line 6
                tau = 0.5 * (np.sqrt(4.0 * delta + delta * delta) - delta)
                rho = L + mu / delta
                delta *= 1.0 - tau
            before, objective = objective, _value(loss, w, moved) + penalty.value(w)
            if callback is not None:
                seconds = time.perf_counter() - began
                if callback(Iteration(number, objective, int(np.count_nonzero(w)), seconds, w)):
                    reason = "callback"
                    break
            if abs(before - objective) <= self.tolerance * abs(objective):
                reason = "converged"
                break
        return Result(w, objective, number, reason)


def metric(loss: BatchLoss, penalty: ProximalPenalty, gradient: Floats, least: float = 0.0) -> Floats:
    """The diagonal to measure steps by: the loss's curvature, at least ``least``, levelled for the penalty."""
    d = loss.curvature(gradient) if isinstance(loss, CurvedLoss) else np.ones(loss.n_weights)
    d = np.maximum(d, least)
    return penalty.level(d) if isinstance(penalty, LevelPenalty) else d


def _value(loss: BatchLoss, w: Floats, spare: Floats) -> float:
    """The loss alone, where it has a cheaper way than the gradient."""
    value = getattr(loss, "value", None)
    return float(loss.value_and_gradient(w, spare) if value is None else value(w))
