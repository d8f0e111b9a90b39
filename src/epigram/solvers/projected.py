"""Projected SGD: the loss alone is minimised, inside the l1 ball ||w||_1 <= radius. Duchi et al. 2008, section 5.

After a step, or a pass of steps, the weights go back to the nearest point of the ball (Lee et al. 2006, in batches).
Tsuruoka et al. 2009 wish to see this compared with the l1 penalty (their section 5).
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from epigram.errors import misfit
from epigram.protocols import Callback, Estimator, Floats, Ints, Penalty, Result, is_plain, require
from epigram.resuming import State, here, restored_rng, resumable
from epigram.solvers.passes import best_rate, check_settings, falling, run_passes, step_sizes

TRIAL_SAMPLES, FIRST_TRIAL = 1000, 0.125
BOLDER = 4.0  # a whole training wants larger first steps than a single pass over a sample


@runtime_checkable
class BallPenalty(Penalty, Protocol):
    """A limit on the sum of absolute weights."""

    radius: float


@runtime_checkable
class ProjectedLoss(Protocol):
    """A loss that takes SGD steps inside an l1 ball, sample by sample, inside one kernel call."""

    n_weights: int
    n_samples: int

    def projected_pass(
        self, order: Ints, rates: Floats, radius: float, every: int, batch_size: int, w: Floats
    ) -> float:
        """Visit the samples in ``order``, ``batch_size`` a step; step k has the rate ``rates[k]``.

        ``w`` is the nearest point of the ball before the first step, after each ``every`` steps and after the last.
        Returns the sum of the sample losses met on the way.
        """
        ...


class ProjectedSGD(Estimator):
    """Stochastic gradient descent inside the l1 ball; steps touch the weights in use only.

    Parameters
    ----------
    radius : of the ball; None takes that of the ``L1Ball`` given as penalty. With a radius the penalty may also be
        ``L1(0)``: no penalty but the limit.
    eta0 : the first rate, or ``"auto"``: tried on a sample before the first pass.
    decay : of the rate, per pass.
    passes : over all samples, shuffled anew each time.
    project_every : steps from one projection to the next; None for one at the end of each pass. At 1 every step ends
        inside the ball, but a weight is cut by what single samples say, and many small ones stay: six times as many
        on 1,000 sentences of CoNLL-2000 as with one projection a pass.
    batch_size : samples a step; their gradients, taken at the same weights, are summed.
    random_state : seed of the shuffling; same seed, same bits.

    Examples
    --------
    >>> from epigram import CRFTagger
    >>> X = [[["w=the"], ["w=dog"]], [["w=a"], ["w=cat"]]]
    >>> tagger = CRFTagger(l1=0, solver=ProjectedSGD(8.0, passes=10)).fit(X, [["DT", "NN"], ["DT", "NN"]])
    >>> tagger.predict([[["w=the"], ["w=cat"]]])
    [['DT', 'NN']]
    """

    def __init__(
        self,
        radius: float | None = None,
        eta0: float | str = "auto",
        decay: float = 0.85,
        passes: int = 30,
        project_every: int | None = None,
        batch_size: int = 1,
        random_state: int | None = 0,
    ) -> None:
        self.radius = radius
        self.eta0 = eta0
        self.decay = decay
        self.passes = passes
        self.project_every = project_every
        self.batch_size = batch_size
        self.random_state = random_state

    @resumable
    def solve(
        self,
        loss: ProjectedLoss,
        penalty: Penalty,
        start: Floats | None = None,
        callback: Callback | None = None,
    ) -> Result:
        """Minimise the loss inside the ball in ``passes`` passes from ``start`` (zeros by default)."""
        radius = self._check(loss, penalty)
        rng, n = np.random.default_rng(self.random_state), loss.n_samples
        if saved := here().state:
            rng, w, eta0, seen = restored_rng(rng, saved["rng"]), saved["w"], saved["eta0"], saved["seen"]
        else:
            eta0 = self.calibrate(loss, penalty) if self.eta0 == "auto" else float(self.eta0)
            w = np.zeros(loss.n_weights) if start is None else start.astype(np.float64)
            seen = 0

        def one_pass() -> float:
            nonlocal seen
            order = rng.permutation(n).astype(np.int32)
            seen += n
            return self._descend(loss, radius, order, eta0, seen - n, w)

        def state() -> State:
            return {"rng": rng.bit_generator.state, "w": w, "eta0": eta0, "seen": seen}

        return run_passes(one_pass, loss, lambda w: 0.0, w, self.passes, callback, state)

    def calibrate(self, loss: ProjectedLoss, penalty: Penalty) -> float:
        """The first rate, from trials at rates a factor of two apart."""
        radius = self._check(loss, penalty)
        n = min(TRIAL_SAMPLES, loss.n_samples)
        sample = np.random.default_rng(self.random_state).permutation(loss.n_samples)[:n].astype(np.int32)

        def met(eta0: float) -> float:
            return self._descend(loss, radius, sample, eta0, 0, np.zeros(loss.n_weights))

        return BOLDER * best_rate(met, FIRST_TRIAL)

    def _descend(
        self, loss: ProjectedLoss, radius: float, order: Ints, eta0: float, seen: int, w: Floats
    ) -> float:
        """One pass over ``order`` after ``seen`` samples."""
        sizes = step_sizes(len(order), self.batch_size)
        rates = falling(eta0, self.decay, seen, sizes, loss.n_samples)
        return loss.projected_pass(order, rates, radius, self.project_every or len(sizes), self.batch_size, w)

    def _check(self, loss: object, penalty: Penalty) -> float:
        """The radius of the ball to stay in."""
        require(loss, ProjectedLoss, self, "a loss with projected_pass", "FISTA with L1Ball")
        free = getattr(penalty, "l1", None) == 0.0 and not getattr(penalty, "l2", 0.0)
        if not is_plain(penalty) or not (
            isinstance(penalty, BallPenalty) or (free and self.radius is not None)
        ):
            misfit(self, "a plain L1Ball, or a radius of its own and L1(0)", penalty, "SGD or OWLQN")
        radius: Any = getattr(penalty, "radius", self.radius)
        if self.radius not in (None, radius):
            raise ValueError(
                f"radius is {self.radius!r} here and {radius!r} in the penalty; give one of them."
            )
        if not 0.0 < radius < np.inf:
            raise ValueError(f"radius must be above 0 and finite, not {radius!r}.")
        if self.project_every is not None and self.project_every < 1:
            raise ValueError(f"project_every must be None or at least 1, not {self.project_every!r}.")
        check_settings(self.eta0, self.decay, self.passes, self.batch_size)
        return float(radius)
