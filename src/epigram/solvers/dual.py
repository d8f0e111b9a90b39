"""Prox-SDCA: dual coordinate ascent with an elastic net (Shalev-Shwartz & Zhang 2014).

Each sample has a dual number; v is the sum of the samples weighted by them, and w = (v - clamp(v, -l1, l1)) / (2 l2):
an l1 part costs nothing. A step maximises the bound of the dual in one number (Yu, Huang and Lin 2011 for l1 = 0). We
differ in that samples that hardly move rest for up to seven passes. Problems with the same samples are solved together:
columns of a and v, which are left alone as soon as they have converged.
"""

from __future__ import annotations

import time
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from epigram.checkpoint import State, demand, piece, restored_rng
from epigram.errors import misfit
from epigram.estimator import Estimator
from epigram.protocols import (
    Callback,
    Floats,
    Ints,
    Iteration,
    L2Penalty,
    Result,
    is_plain,
    require,
)


@runtime_checkable
class DualLoss(Protocol):
    """A loss of linear scores that takes dual steps, sample by sample, inside one C call."""

    n_weights: int
    n_samples: int
    n_lanes: int

    def value(self, w: Floats) -> float:
        """Sum of sample losses at ``w``."""
        ...

    def begin_dual(self, duals: Floats | None = None) -> tuple[Floats, Floats]:
        """Dual numbers to start from, and v; a column for each lane if there are several."""
        ...

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
        """Visit the samples in ``order``; return the sum of changes of each lane."""
        ...


class DualAscent(Estimator):
    """Stochastic dual coordinate ascent for an ``L2`` or ``ElasticNet`` penalty with l2 above 0.

    Parameters
    ----------
    passes : the most passes.
    tolerance : stop when a pass changes the dual numbers by less than this share of their sum.
    random_state : seed of the order of samples.

    Attributes
    ----------
    duals_ : dual numbers of the last solution; ``solve(duals=...)`` starts from them.
    """

    def __init__(self, passes: int = 30, tolerance: float = 0.01, random_state: int = 0) -> None:
        self.passes, self.tolerance, self.random_state = passes, tolerance, random_state

    def solve(
        self,
        loss: DualLoss,
        penalty: L2Penalty,
        start: Floats | None = None,
        callback: Callback | None = None,
        duals: Floats | None = None,
    ) -> Result:
        """Minimise loss + penalty; starts from dual numbers, so ``start`` is not used."""
        require(loss, DualLoss, self, "a loss with dual steps (dual_pass)", "OWLQN")
        require(penalty, L2Penalty, self, "a penalty with a squared l2 part", "OWLQN")
        l1, l2 = float(getattr(penalty, "l1", 0.0)), float(penalty.l2)
        if not l2 > 0.0 or not is_plain(penalty):
            misfit(self, "an l2 part above 0, one strength for all weights", penalty, "OWLQN")
        began, rng = time.perf_counter(), np.random.default_rng(self.random_state)
        self.duals_, v = loss.begin_dual(duals)
        shape = (loss.n_samples, 1 if v.ndim == 1 else v.shape[1])
        rests = np.zeros((2, *shape), dtype=np.uint8)
        active = (np.arange(shape[1]) < loss.n_lanes).astype(np.uint8)
        number, reason, last = 0, "limit", np.zeros(shape[1])

        def state() -> State:
            arrays = {"duals": self.duals_, "v": v, "rests": rests, "active": active, "last": last}
            return {**arrays, "number": number, "rng": rng.bit_generator.state}

        with piece(f"DualAscent of {loss.n_weights} weights") as kept:
            if saved := kept.result or kept.state:
                own = {name: x for name, x in state().items() if isinstance(x, np.ndarray)}
                demand(all(saved[name].shape == x.shape for name, x in own.items()))
                self.duals_, v, rests, active, last = (
                    saved[name] for name in ("duals", "v", "rests", "active", "last")
                )
                number, rng = int(saved["number"]), restored_rng(rng, saved["rng"])
            while active.any() and number < self.passes:
                rested = rests[0].any(axis=0)
                order = rng.permutation(loss.n_samples).astype(np.int32)
                moved = loss.dual_pass(order, active, l1, l2, self.duals_, rests, v)
                moved /= np.maximum(self.duals_.reshape(shape).sum(axis=0), 1e-300)
                last = np.where(active, moved, last)
                number += 1
                still = moved < self.tolerance
                active[still & ~rested] = 0
                rests[:, :, still & rested] = 0  # whoever rested may have to move by now
                stop = False
                if callback is not None:
                    w = weights_of(v, l1, l2)
                    seconds = time.perf_counter() - began
                    objective = loss.value(w) + penalty.value(w.ravel())
                    stop = bool(callback(Iteration(number, objective, int(np.count_nonzero(w)), seconds, w)))
                kept.save(state(), over=not active.any(), stop=stop)
                if stop:
                    reason = "callback"
                    break
            if not active.any():
                reason = "converged"
            kept.finish(state(), reason == "callback")
        w = weights_of(v, l1, l2)
        return Result(w, loss.value(w) + penalty.value(w.ravel()), number, reason, float(last.max()))


def weights_of(v: Floats, l1: float, l2: float) -> Floats:
    """The weights that belong to v."""
    return np.asarray((v - np.clip(v, -l1, l1)) / (2.0 * l2))
