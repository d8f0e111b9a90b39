"""SGD with an l2 penalty and the rate 1 / (lambda t), CRFsuite's ``l2sgd``.

Shalev-Shwartz, Singer and Srebro 2007 (Pegasos), without its projection; lambda = 2 l2 / N. The decay of the weights
is one scalar factor, so that a step costs as much as its nonzero features. The first t is chosen by
trials on a sample, after Bottou's programs. Stops when the objective has not fallen by the share ``delta`` in
``period`` passes, and returns the weights of the best pass. Defaults and rules are those of CRFsuite's ``l2sgd``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np

from epigram._core.arrays import dot
from epigram.checkpoint import State, here, restored_rng, resumable
from epigram.errors import misfit
from epigram.estimator import Estimator
from epigram.protocols import Callback, Floats, Ints, L2Penalty, Result, is_plain, require
from epigram.solvers.stochastic import run_passes


@runtime_checkable
class DecayedLoss(Protocol):
    """A loss that makes passes of SGD with an l2 penalty inside one kernel call."""

    n_weights: int
    n_samples: int

    def decayed_pass(self, order: Ints, strength: float, first: float, w: Floats) -> float:
        """Make steps t = first, first + 1, ... at rates 1 / (strength t); return the losses.

        Returns NaN if first <= 1."""
        ...


@dataclass(eq=False, repr=False)
class L2SGD(Estimator):
    """Stochastic gradient descent for a loss with an ``L2`` penalty.

    Parameters
    ----------
    passes : most passes over the samples.
    period, delta : stop when the objective fell by less than the share ``delta`` in ``period`` passes.
    eta0, rate, samples, candidates, max_trials : the first rate is looked for from ``eta0`` on by factors of ``rate``,
        on so many ``samples``, until ``candidates`` rates in a row lowered the loss, in at most ``max_trials``.
    random_state : seed of the shuffling; same seed, same bits.

    Examples
    --------
    >>> from epigram import CRFTagger
    >>> X = [[["w=the"], ["w=dog"]], [["w=a"], ["w=cat"]]]
    >>> tagger = CRFTagger(l1=0, l2=0.1, solver=L2SGD(passes=20)).fit(X, [["DT", "NN"], ["DT", "NN"]])
    >>> tagger.predict([[["w=the"], ["w=cat"]]])
    [['DT', 'NN']]
    """

    passes: int = 1000
    period: int = 10
    delta: float = 1e-6
    eta0: float = 0.1
    rate: float = 2.0
    samples: int = 1000
    candidates: int = 10
    max_trials: int = 20
    random_state: int | None = 0

    @resumable
    def solve(
        self,
        loss: DecayedLoss,
        penalty: L2Penalty,
        start: Floats | None = None,
        callback: Callback | None = None,
    ) -> Result:
        """Minimise loss + penalty from ``start`` (zeros by default)."""
        self._check(loss, penalty)
        n = max(loss.n_samples, 1)
        strength, rng = 2.0 * penalty.l2 / n, np.random.default_rng(self.random_state)
        if saved := here().state:
            first, best, w, best_w = (saved[name] for name in ("first", "best", "w", "best_w"))
            reached, rng = saved["reached"], restored_rng(rng, saved["rng"])
        else:
            first = 1.0 / (strength * self.calibrate(loss, strength, rng))
            w = np.zeros(loss.n_weights) if start is None else np.array(start, dtype=np.float64)
            best, best_w, reached = np.inf, w, list[float]()

        def one_pass(number: int) -> tuple[float, Floats]:
            nonlocal best, best_w
            order = rng.permutation(loss.n_samples).astype(np.int32)
            met = loss.decayed_pass(order, strength, first + n * (number - 1), w)
            reached.append(met + penalty.value(w))
            if reached[-1] < best:
                best, best_w = reached[-1], w.copy()
            return reached[-1], w

        def is_over(number: int) -> bool:
            return number > self.period and reached[-1 - self.period] - reached[-1] < self.delta * reached[-1]

        def state() -> State:
            rest = {"reached": reached, "rng": rng.bit_generator.state}
            return {"first": first, "best": best, "best_w": best_w, **rest}

        result = run_passes(one_pass, self.passes, callback, state, is_over)
        return replace(result, w=best_w, objective=best)

    def calibrate(self, loss: DecayedLoss, strength: float, rng: np.random.Generator) -> float:
        """The rate with the lowest loss after one pass over a sample, of those that lower it at all."""
        sample = rng.permutation(loss.n_samples)[: int(self.samples)].astype(np.int32)
        still = np.zeros(loss.n_weights)
        nothing = loss.decayed_pass(sample, np.inf, 2.0, still)  # steps of no length
        eta = best_eta = self.eta0
        best, left, rising = np.inf, self.candidates, True
        for _ in range(self.max_trials):
            w = np.zeros(loss.n_weights)
            met = loss.decayed_pass(sample, strength, 1.0 / (strength * eta), w)
            met += 0.5 * strength * len(sample) * dot(w, w)
            lower = bool(np.isfinite(met) and met < nothing)
            left -= lower
            if lower and met < best:
                best, best_eta = met, eta
            if rising and lower and left > 0:
                eta *= self.rate
            elif rising:
                rising, left, eta = False, self.candidates, self.eta0 / self.rate
            elif left > 0:
                eta /= self.rate
            else:
                break
        return float(best_eta)

    def _check(self, loss: object, penalty: object) -> None:
        require(loss, DecayedLoss, self, "a loss with decayed_pass (a tagger's)", "LBFGS")
        needs, instead = "a penalty with a squared l2 part only, and above zero", "SGD for l1, OWLQN for both"
        require(penalty, L2Penalty, self, needs, instead)
        if getattr(penalty, "l1", 0.0) or not getattr(penalty, "l2", 0.0) > 0.0 or not is_plain(penalty):
            misfit(self, needs, penalty, instead)
        if self.passes < 1 or self.period < 1 or not self.eta0 > 0.0 or not self.rate > 1.0:
            raise ValueError(
                "passes and period must be at least 1, eta0 positive and rate above 1, "
                f"not {self.passes!r}, {self.period!r}, {self.eta0!r} and {self.rate!r}."
            )
