"""AdaGrad with a cumulative l1 penalty (FTRL-proximal form).

The rate of a weight is eta / sqrt(sum of its squared gradients) (Duchi, Hazan and Singer 2011). The penalty has the
form of McMahan 2011 ("follow the regularised leader, proximal"): cumulative, k C/N |w| after k samples, as in Tsuruoka
et al. 2009, who wish for rates with second-order information in their section 5. Differs: eta itself falls, by
``decay`` a pass; sums of squares start at 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np

from epigram.checkpoint import State, here, restored_rng, resumable
from epigram.estimator import Estimator
from epigram.protocols import Callback, Floats, Ints, L1Penalty, Result, Steps, require
from epigram.solvers.stochastic import (
    best_rate,
    check_descent,
    falling,
    run_passes,
    step_sizes,
    with_exact_objective,
)

FIRST_SQUARES = 1.0
TRIAL_SAMPLES, TRIAL_PASSES, FIRST_TRIAL = 500, 5, 1.0
BOLDER = 2.0  # a whole training wants larger first steps than a few passes over a sample


@runtime_checkable
class AdaptiveLoss(Protocol):
    """A loss that takes steps with a rate per weight, sample by sample, inside one kernel call."""

    n_weights: int
    n_samples: int

    def adaptive_pass(self, steps: Steps, w: Floats, z: Floats, h: Floats, r: Floats) -> float:
        """Take the steps of a pass; return the sum of the sample losses met on the way.

        Step k has eta = ``rates[k]`` and the penalty ``penalties[k]`` before it, ``penalties[-1]`` after the last.
        With g the gradient of a step, for the weights it uses: h += g^2, then r = sqrt(h) / eta and
        z += g - (r - r before) w; each weight is what minimises z w + penalty |w| + r/2 w^2.
        """
        ...


@dataclass(slots=True)
class _State:
    """State of a training; ``seen`` counts samples."""

    w: Floats
    z: Floats
    h: Floats
    r: Floats
    eta0: float
    seen: int = 0

    @classmethod
    def at(cls, w: Floats, eta0: float) -> _State:
        """Nothing learned yet but the weights."""
        h = np.full(w.size, FIRST_SQUARES)
        r = np.sqrt(h) / eta0
        return cls(w, -w * r, h, r, eta0)


@dataclass(eq=False, repr=False)
class AdaGrad(Estimator):
    """Stochastic gradient descent with a learning rate per weight and an ``L1`` penalty.

    Parameters
    ----------
    eta0 : first learning rate; ``"auto"`` chooses it by trials on a sample. A factor of two matters little.
    decay : factor of the learning rate per pass. With 1 the rates fall by the gradients alone.
    passes : number of passes over the samples. Their order is new in each pass.
    batch_size : number of samples per step. Their gradients, taken at the same weights, are summed.
    random_state : seed of the shuffling; same seed, same bits.

    Examples
    --------
    >>> from epigram import CRFTagger
    >>> X = [[["w=the"], ["w=dog"]], [["w=a"], ["w=cat"]]]
    >>> tagger = CRFTagger(l1=0.01, solver=AdaGrad(passes=10)).fit(X, [["DT", "NN"], ["DT", "NN"]])
    >>> tagger.predict([[["w=the"], ["w=cat"]]])
    [['DT', 'NN']]
    """

    eta0: float | Literal["auto"] = "auto"
    decay: float = 0.95
    passes: int = 30
    batch_size: int = 1
    random_state: int | None = 0

    @resumable
    def solve(
        self,
        loss: AdaptiveLoss,
        penalty: L1Penalty,
        start: Floats | None = None,
        callback: Callback | None = None,
    ) -> Result:
        """Minimise loss + penalty in ``passes`` passes from ``start`` (zeros by default)."""
        self._check(loss, penalty)
        saved, rng = here().state, np.random.default_rng(self.random_state)
        if saved:
            run = _State(**{name: saved[name] for name in _State.__slots__})
            rng = restored_rng(rng, saved["rng"])
        else:
            eta0 = self.calibrate(loss, penalty) if self.eta0 == "auto" else float(self.eta0)
            run = _State.at(np.zeros(loss.n_weights) if start is None else start.astype(np.float64), eta0)

        def one_pass(number: int) -> tuple[float, Floats]:
            order = rng.permutation(loss.n_samples).astype(np.int32)
            return self._visit(loss, penalty, run, order, loss.n_samples) + penalty.value(run.w), run.w

        def state() -> State:
            return {"rng": rng.bit_generator.state, **{name: getattr(run, name) for name in run.__slots__}}

        return with_exact_objective(run_passes(one_pass, self.passes, callback, state), loss, penalty)

    def calibrate(self, loss: AdaptiveLoss, penalty: L1Penalty) -> float:
        """Choose the first rate by trials a factor of two apart on a sample."""
        self._check(loss, penalty)
        n = min(TRIAL_SAMPLES, loss.n_samples)
        sample = np.random.default_rng(self.random_state).permutation(loss.n_samples)[:n].astype(np.int32)

        def reached(eta0: float) -> float:
            run = _State.at(np.zeros(loss.n_weights), eta0)
            for _ in range(TRIAL_PASSES):
                met = self._visit(loss, penalty, run, sample, n)
            return met + n / loss.n_samples * penalty.value(run.w)

        return BOLDER * best_rate(reached, FIRST_TRIAL)

    def _visit(self, loss: AdaptiveLoss, penalty: L1Penalty, run: _State, order: Ints, n: int) -> float:
        """Make steps over some samples, ``n`` of them a pass; returns the losses met."""
        sizes, strength = step_sizes(len(order), self.batch_size), penalty.l1 / max(loss.n_samples, 1)
        rates = falling(run.eta0, self.decay, run.seen, sizes, n)
        penalties = strength * (run.seen + np.concatenate([[0.0], np.cumsum(sizes)]))
        run.seen += len(order)
        steps = Steps(order, rates, penalties, self.batch_size)
        return loss.adaptive_pass(steps, run.w, run.z, run.h, run.r)

    def _check(self, loss: object, penalty: object) -> None:
        require(loss, AdaptiveLoss, self, "a loss with adaptive_pass", "OWLQN or LBFGS")
        check_descent(self, penalty)
