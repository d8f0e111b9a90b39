"""Averaged perceptron, passive-aggressive and AROW for structured outputs.

Each visits the samples in a new order a pass, compares the right output with the best one by the weights of the moment,
and moves the weights where they differ (``_core/chain_margin.h`` has the formulas). Collins 2002; Crammer et al. 2006;
Crammer, Kulesza and Dredze 2009. They stop when the mean loss of a pass is below
``tolerance``; as in CRFsuite, AROW stops where it equals that too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np

from epigram.checkpoint import State, here, restored_rng, resumable
from epigram.errors import misfit
from epigram.estimator import Estimator
from epigram.protocols import Callback, Floats, Ints, Result, require
from epigram.solvers.stochastic import run_passes


@runtime_checkable
class MarginLoss(Protocol):
    """A loss that makes a pass of these learners in one kernel call and returns its losses."""

    n_weights: int
    n_samples: int

    def perceptron_pass(self, order: Ints, step: int, w: Floats, sums: Floats) -> float:
        """Perceptron pass; ``sums`` adds each move times its step number, from ``step`` on."""
        ...

    def passive_pass(
        self, order: Ints, step: int, kind: int, c: float, by_errors: bool, w: Floats, sums: Floats
    ) -> float:
        """Passive-aggressive of kind 0, I or II with the aggressiveness ``c``."""
        ...

    def arow_pass(self, order: Ints, gamma: float, w: Floats, variances: Floats) -> float:
        """AROW: each weight has a variance, which falls with what it has learnt."""
        ...


class AveragedPerceptron(Estimator):
    """The structured perceptron with averaged weights (Collins 2002).

    Parameters
    ----------
    passes : most passes over the samples.
    tolerance : stop when the mean share of wrong labels a sample is below this.
    random_state : seed of the shuffling; same seed, same bits.

    Examples
    --------
    >>> from epigram import CRFTagger
    >>> X = [[["w=the"], ["w=dog"]], [["w=a"], ["w=cat"]]]
    >>> tagger = CRFTagger(l1=0, solver=AveragedPerceptron(passes=10)).fit(X, [["DT", "NN"], ["DT", "NN"]])
    >>> tagger.predict([[["w=the"], ["w=cat"]]])
    [['DT', 'NN']]
    """

    def __init__(self, passes: int = 100, tolerance: float = 0.0, random_state: int | None = 0) -> None:
        self.passes = passes
        self.tolerance = tolerance
        self.random_state = random_state

    @resumable
    def solve(
        self, loss: MarginLoss, penalty: object, start: Floats | None = None, callback: Callback | None = None
    ) -> Result:
        """Make passes from ``start`` (zeros by default)."""
        w = _begin(self, loss, penalty, start)
        sums = np.zeros_like(w)

        def one_pass(number: int, order: Ints) -> tuple[float, Floats]:
            first = 1 + (number - 1) * len(order)
            return loss.perceptron_pass(order, first, w, sums), w - sums / (first + len(order))

        return _run(self, loss, one_pass, callback, w, sums)


class PassiveAggressive(Estimator):
    """The smallest move that puts the right output ahead by a margin (Crammer et al. 2006).

    Parameters
    ----------
    kind : 1 takes steps of at most ``c`` (PA-I), 2 softens them by ``c`` (PA-II), 0 takes them whole.
    c : aggressiveness.
    by_errors : the margin is the root of the number of wrong labels; 1 if False.
    averaging : the mean of the weights after every sample, instead of the last ones.
    passes, tolerance, random_state : as for :class:`AveragedPerceptron`; the loss is the cost of the best output.
    """

    def __init__(
        self,
        kind: int = 1,
        c: float = 1.0,
        by_errors: bool = True,
        averaging: bool = True,
        passes: int = 100,
        tolerance: float = 0.0,
        random_state: int | None = 0,
    ) -> None:
        self.kind = kind
        self.c = c
        self.by_errors = by_errors
        self.averaging = averaging
        self.passes = passes
        self.tolerance = tolerance
        self.random_state = random_state

    @resumable
    def solve(
        self, loss: MarginLoss, penalty: object, start: Floats | None = None, callback: Callback | None = None
    ) -> Result:
        """Make passes from ``start`` (zeros by default)."""
        if self.kind not in (0, 1, 2) or not self.c > 0.0:
            raise ValueError(f"kind is 0, 1 or 2 and c positive, not {self.kind!r} and {self.c!r}.")
        w = _begin(self, loss, penalty, start)
        sums = np.zeros_like(w)

        def one_pass(number: int, order: Ints) -> tuple[float, Floats]:
            first = 1 + (number - 1) * len(order)
            met = loss.passive_pass(order, first, self.kind, self.c, self.by_errors, w, sums)
            return met, w - sums / (first + len(order)) if self.averaging else w.copy()

        return _run(self, loss, one_pass, callback, w, sums)


class AROW(Estimator):
    """Adaptive regularisation of weights (Crammer, Kulesza and Dredze 2009).

    Parameters
    ----------
    variance : of every weight at first.
    gamma : how much a mistake is trusted less.
    passes, tolerance, random_state : as for :class:`AveragedPerceptron`; the loss is the cost of the best output.
    """

    def __init__(
        self,
        variance: float = 1.0,
        gamma: float = 1.0,
        passes: int = 100,
        tolerance: float = 0.0,
        random_state: int | None = 0,
    ) -> None:
        self.variance = variance
        self.gamma = gamma
        self.passes = passes
        self.tolerance = tolerance
        self.random_state = random_state

    @resumable
    def solve(
        self, loss: MarginLoss, penalty: object, start: Floats | None = None, callback: Callback | None = None
    ) -> Result:
        """Make passes from ``start`` (zeros by default)."""
        if not (self.variance > 0.0 and self.gamma > 0.0):
            raise ValueError(f"variance and gamma are positive, not {self.variance!r} and {self.gamma!r}.")
        w = _begin(self, loss, penalty, start)
        variances = np.full_like(w, self.variance)

        def one_pass(number: int, order: Ints) -> tuple[float, Floats]:
            return loss.arow_pass(order, self.gamma, w, variances), w.copy()

        return _run(self, loss, one_pass, callback, w, variances)


def _begin(
    solver: AveragedPerceptron | PassiveAggressive | AROW,
    loss: MarginLoss,
    penalty: object,
    start: Floats | None,
) -> Floats:
    """The first weights, after a look at what is given."""
    require(loss, MarginLoss, solver, "a loss that finds best outputs (a tagger's)", "OWLQN or LBFGS")
    if getattr(penalty, "l1", 0.0) or getattr(penalty, "l2", 0.0):
        misfit(solver, "no penalty (l1=0, l2=0)", penalty, "SGD, OWLQN or LBFGS")
    if solver.passes < 1 or not solver.tolerance >= 0.0:
        raise ValueError(
            f"passes must be at least 1 and tolerance not negative, not {solver.passes!r} and {solver.tolerance!r}."
        )
    return np.zeros(loss.n_weights) if start is None else np.array(start, dtype=np.float64)


def _run(
    solver: AveragedPerceptron | PassiveAggressive | AROW,
    loss: MarginLoss,
    one_pass: Callable[[int, Ints], tuple[float, Floats]],
    callback: Callback | None,
    *changed: Floats,
) -> Result:
    """Make passes until a limit is reached; ``changed`` are the arrays that they change."""
    rng = np.random.default_rng(solver.random_state)
    if saved := here().state:
        rng = restored_rng(rng, saved["rng"])
        for k, array in enumerate(changed):
            array[:] = saved[f"changed {k}"]
    met = 0.0

    def next_pass(number: int) -> tuple[float, Floats]:
        nonlocal met
        met, w = one_pass(number, rng.permutation(loss.n_samples).astype(np.int32))
        return met, w

    def is_over(number: int) -> bool:
        mean = met / max(loss.n_samples, 1)
        return mean < solver.tolerance or (mean == solver.tolerance and isinstance(solver, AROW))

    def state() -> State:
        return {"rng": rng.bit_generator.state, **{f"changed {k}": x for k, x in enumerate(changed)}}

    return run_passes(next_pass, solver.passes, callback, state, is_over)
