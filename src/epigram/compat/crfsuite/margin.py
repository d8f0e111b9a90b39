"""Averaged perceptron, passive-aggressive and AROW for structured outputs.

Each visits the samples in a new order a pass, compares the right output with the best one by the weights of the moment,
and moves the weights where they differ (``_core/chain_margin.h`` has the formulas). Collins 2002; Crammer et al. 2006;
Crammer, Kulesza and Dredze 2009. They stop when the mean loss of a pass is below
``tolerance``; as in CRFsuite, AROW stops where it equals that too.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
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


class _MarginSolver(Estimator):
    """Makes passes in new orders until the mean loss is low; the learners differ in a pass."""

    passes: int
    tolerance: float
    random_state: int | None

    @resumable
    def solve(
        self, loss: MarginLoss, penalty: object, start: Floats | None = None, callback: Callback | None = None
    ) -> Result:
        """Make passes from ``start`` (zeros by default)."""
        require(loss, MarginLoss, self, "a loss that finds best outputs (a tagger's)", "OWLQN or LBFGS")
        if getattr(penalty, "l1", 0.0) or getattr(penalty, "l2", 0.0):
            misfit(self, "no penalty (l1=0, l2=0)", penalty, "SGD, OWLQN or LBFGS")
        if self.passes < 1 or not self.tolerance >= 0.0:
            raise ValueError(
                f"passes must be at least 1 and tolerance not negative, not {self.passes!r} and {self.tolerance!r}."
            )
        w = np.zeros(loss.n_weights) if start is None else np.array(start, dtype=np.float64)
        beside, rng = np.full_like(w, self._begin()), np.random.default_rng(self.random_state)
        if saved := here().state:
            rng = restored_rng(rng, saved["rng"])
            w[:], beside[:] = saved["changed 0"], saved["changed 1"]
        met = 0.0

        def one_pass(number: int) -> tuple[float, Floats]:
            nonlocal met
            order = rng.permutation(loss.n_samples).astype(np.int32)
            met, found = self._make_pass(loss, order, 1 + (number - 1) * len(order), w, beside)
            return met, found

        def is_over(number: int) -> bool:
            mean = met / max(loss.n_samples, 1)
            return mean < self.tolerance or (mean == self.tolerance and isinstance(self, AROW))

        def state() -> State:
            return {"rng": rng.bit_generator.state, "changed 0": w, "changed 1": beside}

        return run_passes(one_pass, self.passes, callback, state, is_over)

    def _begin(self) -> float:
        """Check the own settings; first value of the number kept beside each weight."""
        return 0.0

    @abstractmethod
    def _make_pass(
        self, loss: MarginLoss, order: Ints, first: int, w: Floats, beside: Floats
    ) -> tuple[float, Floats]:
        """Make steps ``first``, ``first + 1``, ...; the losses met, and the weights so far."""


@dataclass(eq=False, repr=False)
class AveragedPerceptron(_MarginSolver):
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

    passes: int = 100
    tolerance: float = 0.0
    random_state: int | None = 0

    def _make_pass(
        self, loss: MarginLoss, order: Ints, first: int, w: Floats, beside: Floats
    ) -> tuple[float, Floats]:
        return loss.perceptron_pass(order, first, w, beside), w - beside / (first + len(order))


@dataclass(eq=False, repr=False)
class PassiveAggressive(_MarginSolver):
    """The smallest move that puts the right output ahead by a margin (Crammer et al. 2006).

    Parameters
    ----------
    kind : 1 takes steps of at most ``c`` (PA-I), 2 softens them by ``c`` (PA-II), 0 takes them whole.
    c : aggressiveness.
    by_errors : the margin is the root of the number of wrong labels; 1 if False.
    averaging : the mean of the weights after every sample, instead of the last ones.
    passes, tolerance, random_state : as for :class:`AveragedPerceptron`; the loss is the cost of the best output.
    """

    kind: int = 1
    c: float = 1.0
    by_errors: bool = True
    averaging: bool = True
    passes: int = 100
    tolerance: float = 0.0
    random_state: int | None = 0

    def _begin(self) -> float:
        if self.kind not in (0, 1, 2) or not self.c > 0.0:
            raise ValueError(f"kind is 0, 1 or 2 and c positive, not {self.kind!r} and {self.c!r}.")
        return 0.0

    def _make_pass(
        self, loss: MarginLoss, order: Ints, first: int, w: Floats, beside: Floats
    ) -> tuple[float, Floats]:
        met = loss.passive_pass(order, first, self.kind, self.c, self.by_errors, w, beside)
        return met, w - beside / (first + len(order)) if self.averaging else w.copy()


@dataclass(eq=False, repr=False)
class AROW(_MarginSolver):
    """Adaptive regularisation of weights (Crammer, Kulesza and Dredze 2009).

    Parameters
    ----------
    variance : of every weight at first.
    gamma : how much a mistake is trusted less.
    passes, tolerance, random_state : as for :class:`AveragedPerceptron`; the loss is the cost of the best output.
    """

    variance: float = 1.0
    gamma: float = 1.0
    passes: int = 100
    tolerance: float = 0.0
    random_state: int | None = 0

    def _begin(self) -> float:
        if not (self.variance > 0.0 and self.gamma > 0.0):
            raise ValueError(f"variance and gamma are positive, not {self.variance!r} and {self.gamma!r}.")
        return self.variance

    def _make_pass(
        self, loss: MarginLoss, order: Ints, first: int, w: Floats, beside: Floats
    ) -> tuple[float, Floats]:
        return loss.arow_pass(order, self.gamma, w, beside), w.copy()
