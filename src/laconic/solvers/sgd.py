"""SGD for l1-regularised log-linear models: naive, clipping, lazy, cumulative. Tsuruoka et al. 2009.

Rates: inverse eta_k = eta_0 / (1 + k/N) (5), exponential eta_k = eta_0 decay^(k/N) (6, whose rate must
fall: the printed sign of the exponent is a slip). Penalty totals: u_k = C/N sum eta_t (3). The steps
themselves are the loss's, in one kernel call a pass. Differs: ``eta0="auto"`` calibrates eta_0 on a sample.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from laconic.errors import misfit
from laconic.protocols import (
    BatchLoss,
    Callback,
    Floats,
    Ints,
    Iteration,
    L1Penalty,
    Result,
    StochasticLoss,
    is_plain,
    require,
)

METHODS = ("cumulative", "lazy", "clipping", "naive")
SCHEDULES = ("exponential", "inverse")


@dataclass(slots=True)
class SGDState:
    """Everything a pass changes: weights, penalties received (q), total penalty (u), samples seen (k)."""

    w: Floats = field(repr=False)
    q: Floats = field(repr=False)
    u: float = 0.0
    k: int = 0
    eta0: float = 0.0

    @classmethod
    def fresh(cls, n_weights: int) -> SGDState:
        """Nothing learned yet."""
        return cls(np.zeros(n_weights), np.zeros(n_weights))


class SGD:
    """Stochastic gradient descent, one sample a step, with an ``L1`` penalty.

    Parameters
    ----------
    method : ``"cumulative"`` (the paper's), ``"lazy"``, ``"clipping"`` (the same weights as lazy, slower) or
        ``"naive"``.
    schedule : ``"exponential"`` or ``"inverse"``.
    eta0 : the first rate, or ``"auto"``: tried on a sample before the first pass.
    decay : of the exponential schedule, per pass.
    passes : over all samples, shuffled anew each time.
    batch_size : samples a step; their gradients, taken at the same weights, are summed.
    random_state : seed of the shuffling; same seed, same bits.
    """

    def __init__(
        self,
        method: str = "cumulative",
        schedule: str = "exponential",
        eta0: float | str = "auto",
        decay: float = 0.85,
        passes: int = 30,
        batch_size: int = 1,
        random_state: int | None = 0,
    ) -> None:
        self.method = method
        self.schedule = schedule
        self.eta0 = eta0
        self.decay = decay
        self.passes = passes
        self.batch_size = batch_size
        self.random_state = random_state

    def solve(
        self,
        loss: StochasticLoss,
        penalty: L1Penalty,
        start: Floats | None = None,
        callback: Callback | None = None,
    ) -> Result:
        """Minimise loss + penalty in ``passes`` passes from ``start`` (zeros by default)."""
        self._check(loss, penalty)
        state = SGDState.fresh(loss.n_weights)
        if start is not None:
            state.w[:] = start
        rng = np.random.default_rng(self.random_state)
        began = time.perf_counter()
        reason = "limit"
        objective = float("nan")
        number = 0
        for number in range(1, self.passes + 1):
            met = self.run_pass(loss, penalty, state, rng)
            objective = met + penalty.value(state.w)
            if callback is not None and callback(
                Iteration(
                    number,
                    objective,
                    int(np.count_nonzero(state.w)),
                    time.perf_counter() - began,
                    state.w,
                )
            ):
                reason = "callback"
                break
        if isinstance(loss, BatchLoss):
            objective = loss.value_and_gradient(state.w, np.empty_like(state.w)) + penalty.value(state.w)
        return Result(state.w, objective, number, reason)

    def run_pass(
        self,
        loss: StochasticLoss,
        penalty: L1Penalty,
        state: SGDState,
        rng: np.random.Generator,
        n: int | None = None,
    ) -> float:
        """One more pass from ``state``; returns the sum of the sample losses met on the way.

        ``n`` is how many samples the whole training set has, where ``loss`` has only some of them.
        """
        self._check(loss, penalty)
        if state.eta0 == 0.0:
            state.eta0 = self.calibrate(loss, penalty, state) if self.eta0 == "auto" else float(self.eta0)
        order = rng.permutation(loss.n_samples).astype(np.int32)
        return self._descend(loss, penalty, state, order, n or loss.n_samples)

    def settle(self, state: SGDState) -> None:
        """Let every weight pay what it owes and count penalties anew, so that new weights owe no more than old."""
        if self.method == "cumulative":
            w, u, q = state.w, state.u, state.q
            w[:] = np.where(w > 0.0, np.maximum(0.0, w - (u + q)), np.minimum(0.0, w + (u - q)))
        state.q[:] = 0.0  # by the other methods nothing is owed between passes
        state.u = 0.0

    def calibrate(self, loss: StochasticLoss, penalty: L1Penalty, state: SGDState) -> float:
        """The first rate."""
        return 0.5

    def _descend(
        self, loss: StochasticLoss, penalty: L1Penalty, state: SGDState, order: Ints, n: int
    ) -> float:
        """Steps over ``order``, as part of a training set of ``n`` samples."""
        sizes = np.full(-(-len(order) // self.batch_size), self.batch_size)
        sizes[-1] -= len(sizes) * self.batch_size - len(order)
        seen = (state.k + np.cumsum(sizes) - sizes) / n
        if self.schedule == "exponential":
            rates = state.eta0 * self.decay**seen  # (6)
        else:
            rates = state.eta0 / (1.0 + seen)  # (5)
        penalties = state.u + penalty.l1 / n * np.concatenate([[0.0], np.cumsum(rates * sizes)])  # (3)
        met = loss.sgd_pass(self.method, order, rates, penalties, self.batch_size, state.w, state.q)
        state.u = float(penalties[-1])
        state.k += len(order)
        return met

    def _check(self, loss: object, penalty: object) -> None:
        require(loss, StochasticLoss, self, "a stochastic loss (sgd_pass)", "OWLQN or LBFGS")
        require(penalty, L1Penalty, self, "a penalty with an l1 part only", "LBFGS for l2, OWLQN for both")
        if getattr(penalty, "l2", 0.0) or not is_plain(penalty):
            misfit(
                self, "a penalty with a plain l1 part only", penalty, "LBFGS for l2, OWLQN for both, FISTA"
            )
        for name, value, choices in (
            ("method", self.method, METHODS),
            ("schedule", self.schedule, SCHEDULES),
        ):
            if value not in choices:
                raise ValueError(f"{name} must be one of {', '.join(choices)}, not {value!r}.")
        if self.eta0 != "auto" and not (isinstance(self.eta0, int | float) and self.eta0 > 0):
            raise ValueError(f"eta0 must be 'auto' or a positive number, not {self.eta0!r}.")
        if not 0.0 < self.decay <= 1.0:
            raise ValueError(f"decay must be in (0, 1], not {self.decay!r}.")
        if self.passes < 1 or self.batch_size < 1:
            raise ValueError(
                f"passes and batch_size must be at least 1, not {self.passes!r} and {self.batch_size!r}."
            )
