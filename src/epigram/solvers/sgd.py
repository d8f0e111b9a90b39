"""SGD with l1: naive, clipping, lazy, cumulative. Tsuruoka et al. 2009.

Rates: inverse eta_k = eta_0 / (1 + k/N) (5), exponential eta_k = eta_0 decay^(k/N) (6, whose rate must
fall: the printed sign of the exponent is a slip). Penalty totals: u_k = C/N sum eta_t (3). The steps
themselves are the loss's, in one kernel call a pass. Differs: ``eta0="auto"`` calibrates eta_0 on a sample; rates that
nobody chose fall in a straight line to zero at the end of P passes, eta_k = eta_0 (1 - k/NP), which gets nearer the
minimum than the best of (5) and (6) (Defazio et al. 2023 say why); ``passes="auto"`` lets the objective choose P.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Literal, Protocol, get_args, runtime_checkable

import numpy as np

from epigram.checkpoint import State, here, restored_rng, resumable
from epigram.errors import DivergenceError, InputError
from epigram.estimator import Estimator
from epigram.protocols import (
    BatchLoss,
    Callback,
    Floats,
    Ints,
    L1Penalty,
    Result,
    Steps,
    StochasticLoss,
    check_finite,
    require,
)
from epigram.solvers.stochastic import (
    LEARNED,
    best_exponent,
    check_descent,
    run_passes,
    with_exact_objective,
)

Method = Literal["cumulative", "lazy", "clipping", "naive"]
Schedule = Literal["auto", "linear", "exponential", "inverse"]
METHODS, SCHEDULES = get_args(Method), get_args(Schedule)
CALIBRATION_SAMPLE, TRIAL_PASSES = 1000, 30
USUAL_PASSES, MOST_PASSES = 30, 100
LOOKS_BACK = 3
SETTLED = 0.01  # passes="auto" ends where so many passes lower the objective by less than this share,
SLOWED = 0.04  # and a straight line begins where they do by less than this one
START, REACH = -3, 40  # calibration starts at 2^START and goes at most REACH factors of two away
WIDE = (-14, 15, 4)  # exponents of the rates to begin with where one pass over the sample says too little
TRAVEL, BOLDEST = 38.0, 4.0  # measured on chunking, named entities and parts of speech
BOLD, HURRY = 3.3, 3.0  # the same for a straight line: few passes want smaller steps


@runtime_checkable
class FileBackedLoss(StochasticLoss, Protocol):
    """A stochastic loss whose samples are read from files, in an order that suits reading."""

    def visiting_order(self, rng: np.random.Generator) -> Ints:
        """All samples, shuffled as far as reading permits."""
        ...

    def sampled(self, samples: Ints) -> StochasticLoss:
        """The loss of some samples, in their order or any other, with the same weights."""
        ...


@dataclass(slots=True)
class SGDState:
    """State of a pass: weights, penalties received (q), total penalty (u), samples seen (k)."""

    w: Floats = field(repr=False)
    q: Floats = field(repr=False)
    u: float = 0.0
    k: int = 0
    eta0: float = 0.0
    turn: float = np.inf  # the pass from which rates fall to zero where passes="auto"

    @classmethod
    def fresh(cls, n_weights: int) -> SGDState:
        """Nothing learned yet."""
        return cls(np.zeros(n_weights), np.zeros(n_weights))


@dataclass(eq=False, repr=False)
class SGD(Estimator):
    """Stochastic gradient descent, one sample a step, with an ``L1`` penalty.

    Parameters
    ----------
    method : how the l1 penalty is applied; ``"cumulative"`` is the paper's. ``"clipping"`` gives the weights of
        ``"lazy"``, slower.
    schedule : how the learning rate falls; ``"auto"``: linearly, unless eta0 or decay is given. ``"linear"`` reaches
        zero at the end of the last pass. With ``eta0`` or ``decay`` given, ``"auto"`` is ``"exponential"``.
    eta0 : first learning rate; ``"auto"`` chooses it by trials on a sample.
    decay : factor of the learning rate per pass, for the exponential schedule. ``"auto"`` divides the rate by P in P
        passes (0.89 for 30).
    passes : number of passes over the samples; ``"auto"`` stops by the objective. The order of the samples is new in
        each pass. ``"auto"`` makes twice as many passes as it takes until three together lower the objective by less
        than 4 %, at most 100. With the other schedules: until they lower it by less than 1 %, with the rates of 30.
    batch_size : number of samples per step. Their gradients, taken at the same weights, are summed.
    random_state : seed of the shuffling; same seed, same bits.
    """

    method: Method = "cumulative"
    schedule: Schedule = "auto"
    eta0: float | Literal["auto"] = "auto"
    decay: float | Literal["auto"] = "auto"
    passes: int | Literal["auto"] = 30
    batch_size: int = 1
    random_state: int | None = 0

    @resumable
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
        objectives: list[float] = []
        if saved := here().state:
            objectives, rng = saved["objectives"], restored_rng(rng, saved["rng"])
            state = SGDState(**{name: saved[name] for name in state.__slots__})
        last = MOST_PASSES if self.passes == "auto" else self.expected_passes
        turning = self.passes == "auto" and self.course == "linear"

        def one_pass(number: int) -> tuple[float, Floats]:
            objectives.append(self.run_pass(loss, penalty, state, rng) + penalty.value(state.w))
            return objectives[-1], state.w

        def is_over(number: int) -> bool:
            if turning and state.turn == np.inf and (2 * number >= last or settled(objectives, SLOWED)):
                state.turn = float(number)
            return number >= 2 * state.turn if turning else self.passes == "auto" and settled(objectives)

        def values() -> State:
            own = {name: getattr(state, name) for name in state.__slots__}
            return {**own, "objectives": objectives, "rng": rng.bit_generator.state}

        return with_exact_objective(run_passes(one_pass, last, callback, values, is_over), loss, penalty)

    def run_pass(
        self,
        loss: StochasticLoss,
        penalty: L1Penalty,
        state: SGDState,
        rng: np.random.Generator,
    ) -> float:
        """One more pass from ``state``; returns the sum of the sample losses met on the way."""
        self._check(loss, penalty)
        if state.eta0 == 0.0:
            state.eta0 = self.calibrate(loss, penalty) if self.eta0 == "auto" else float(self.eta0)
        if isinstance(loss, FileBackedLoss):
            order = loss.visiting_order(rng)
        else:
            order = rng.permutation(loss.n_samples).astype(np.int32)
        met = self._descend(loss, penalty, state, order, loss.n_samples)
        check_finite("weights", state.w)
        check_finite("the loss is", met)
        return met

    def calibrate(self, loss: StochasticLoss, penalty: L1Penalty) -> float:
        """The first rate, from trials at rates a factor of two apart.

        A small training set is simply trained on, each trial in full. Of a large one, a sample is passed over once:
        the loss met on the way is least at some rate, and a whole training does best when its rates, a pass each,
        sum to about ``TRAVEL`` times that, and start at no more than ``BOLDEST`` times that. A straight line does best
        from about ``BOLD`` times that, whatever the number of passes, if there are not very few. Where one pass over
        the sample lowers its loss by less than the share ``LEARNED`` at every rate (rows of few, rare features), each
        trial is a whole training on the sample.
        """
        n = min(CALIBRATION_SAMPLE, loss.n_samples)
        total = loss.n_samples
        sample = np.random.default_rng(self.random_state).permutation(total)[:n].astype(np.int32)
        tried = loss
        if isinstance(loss, FileBackedLoss) and n < total:
            tried, sample = loss.sampled(sample), np.arange(n, dtype=np.int32)

        def met(eta0: float) -> float:
            state = SGDState.fresh(loss.n_weights)
            state.eta0 = eta0
            return self._descend(tried, penalty, state, sample, n, n / total)

        def reached(eta0: float) -> float:
            trial = copy(self)
            trial.schedule, trial.eta0 = self.course, eta0
            trial.passes = min(self.expected_passes, TRIAL_PASSES)
            try:
                return trial.solve(loss, penalty).objective
            except DivergenceError:
                return np.inf

        def learned(eta0: float) -> float:
            state, rng, last = SGDState.fresh(loss.n_weights), np.random.default_rng(self.random_state), 0.0
            state.eta0 = eta0
            for _ in range(min(self.expected_passes, TRIAL_PASSES)):
                last = self._descend(tried, penalty, state, rng.permutation(sample), n, n / total)
            return last + n / total * penalty.value(state.w)

        if n == loss.n_samples and isinstance(loss, BatchLoss):
            return _lowest(reached, ceiling=np.inf, checked=self.course == "linear")[0]
        untrained = met(0.0)
        eta0, least = _lowest(met, untrained)
        if least > (1.0 - LEARNED) * untrained:
            first = min(range(*WIDE), key=lambda k: np.nan_to_num(learned(2.0**k), nan=np.inf))
            return _lowest(learned, untrained, start=first)[0]
        if self.course == "linear":
            return BOLD * self.expected_passes / (self.expected_passes + HURRY) * eta0
        travel = float(self._rates(np.arange(float(self.expected_passes))).sum())
        return min(BOLDEST, TRAVEL / travel) * eta0

    @property
    def expected_passes(self) -> int:
        """The number of passes that rates are made for."""
        return USUAL_PASSES if self.passes == "auto" else int(self.passes)

    @property
    def decay_per_pass(self) -> float:
        """The decay as a number: what ``decay="auto"`` stands for."""
        passes = self.expected_passes
        return float(passes ** (-1.0 / passes)) if self.decay == "auto" else float(self.decay)

    @property
    def course(self) -> Schedule:
        """The schedule by name: what ``schedule="auto"`` stands for."""
        if self.schedule != "auto":
            return self.schedule
        return "linear" if self.eta0 == self.decay == "auto" else "exponential"

    def _rates(self, passes: Floats, turn: float = np.inf) -> Floats:
        """Rates as multiples of eta_0 after so many passes."""
        if self.course == "exponential":
            return np.asarray(self.decay_per_pass**passes)  # (6)
        if self.course == "inverse":
            return 1.0 / (1.0 + passes)  # (5)
        if self.passes != "auto":
            return np.maximum(1.0 - passes / self.expected_passes, 0.0)
        # Where a line to zero is half way down, this is too: turning there, both have much the same rates.
        begun = 1.0 / (1.0 + np.minimum(passes, turn) / (USUAL_PASSES / 2))
        return np.asarray(begun * np.clip(2.0 - passes / turn, 0.0, 1.0))

    def _descend(
        self,
        loss: StochasticLoss,
        penalty: L1Penalty,
        state: SGDState,
        order: Ints,
        n: int,
        share: float = 1.0,
    ) -> float:
        """Make the steps of ``order``, part of ``n`` samples, with this ``share`` of the penalty."""
        sizes = np.full(-(-len(order) // self.batch_size), self.batch_size)
        sizes[-1] -= len(sizes) * self.batch_size - len(order)
        seen = (state.k + np.cumsum(sizes) - sizes) / n
        with np.errstate(over="ignore"):  # rates beyond reason diverge, and are told so
            rates = state.eta0 * self._rates(seen, state.turn)
            penalties = state.u + share * penalty.l1 / n * np.concatenate(
                [[0.0], np.cumsum(rates * sizes)]
            )  # (3)
        met = loss.sgd_pass(self.method, Steps(order, rates, penalties, self.batch_size), state.w, state.q)
        state.u = float(penalties[-1])
        state.k += len(order)
        return met

    def _check(self, loss: object, penalty: object) -> None:
        require(loss, StochasticLoss, self, "a stochastic loss (sgd_pass)", "OWLQN or LBFGS")
        for name, value, choices in (
            ("method", self.method, METHODS),
            ("schedule", self.schedule, SCHEDULES),
        ):
            if value not in choices:
                raise InputError(f"{name} must be one of {', '.join(choices)}, not {value!r}.")
        check_descent(self, penalty)


def settled(objectives: Sequence[float], share: float = SETTLED) -> bool:
    """Whether the last passes lowered the objective by less than a share.

    Examples
    --------
    >>> settled([100.0, 50.0, 49.9, 49.8]), settled([50.0, 49.9, 49.8, 49.7])
    (False, True)
    """
    if len(objectives) <= LOOKS_BACK:
        return False
    before, now = objectives[-1 - LOOKS_BACK], objectives[-1]
    return before - now < share * abs(before)


def _lowest(
    value: Callable[[float], float], ceiling: float, checked: bool = False, start: int = START
) -> tuple[float, float]:
    """Minimise a unimodal function of the rate by factors of two, then a parabola.

    Returns the rate, and the value at the power of two next to it.

    What is not below ``ceiling`` is no part of the valley: the rate was so large that nothing was learned. Where it is
    ``checked``, the parabola's rate is tried too, and taken only if it is better.
    """
    best, at = best_exponent(lambda k: value(2.0**k), start, REACH, ceiling)
    before, least, after = at(best - 1), at(best), at(best + 1)
    curvature = before - 2.0 * least + after
    shift = 0.5 * (before - after) / curvature if 0.0 < curvature < np.inf else 0.0
    if checked and shift and not value(2.0 ** (best + shift)) < least:
        shift = 0.0
    return float(2.0 ** (best + shift)), least
