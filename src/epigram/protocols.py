"""Protocols that losses, penalties and solvers implement.

The objective is the sum of sample losses + penalty, natural log, float64 weights.

A loss knows no penalty, a penalty no loss. A solver names the protocols it needs and checks them once, in the first
line of ``solve``, with :func:`require`; it never asks for a concrete class.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from epigram._core.arrays import Floats as Floats
from epigram._core.arrays import Ints as Ints
from epigram._core.arrays import Offsets as Offsets
from epigram.errors import DivergenceError, misfit


@runtime_checkable
class BatchLoss(Protocol):
    """A loss whose exact value and gradient over all samples come from one call."""

    n_weights: int
    n_samples: int

    def value_and_gradient(self, w: Floats, out: Floats) -> float:
        """Sum of sample losses at ``w``; its gradient is written to ``out``."""
        ...


class Steps(NamedTuple):
    """Steps of a pass: the samples in order, ``batch_size`` a step, and each step's rate.

    ``penalties[k]`` is the total u of equation 3 of Tsuruoka et al. 2009 before step k, ``penalties[-1]`` that after
    the last.
    """

    order: Ints
    rates: Floats
    penalties: Floats
    batch_size: int = 1


@runtime_checkable
class StochasticLoss(Protocol):
    """A loss that takes its own SGD steps, sample by sample, inside one kernel call."""

    n_weights: int
    n_samples: int

    def sgd_pass(self, method: str, steps: Steps, w: Floats, q: Floats) -> float:
        """Take the steps of a pass; return the sum of the sample losses met on the way.

        ``method`` is a rule of Tsuruoka et al. 2009 (``naive``, ``clipping``, ``lazy``, ``cumulative``);
        ``q`` is what each weight has received.
        """
        ...


@runtime_checkable
class Penalty(Protocol):
    """A function of the weights that is added to the loss."""

    def value(self, w: Floats) -> float:
        """The value of the penalty at ``w``."""
        ...


@runtime_checkable
class L1Penalty(Penalty, Protocol):
    """Has an l1 part: ``l1 * sum |w|``."""

    l1: float


@runtime_checkable
class L2Penalty(Penalty, Protocol):
    """Has a squared l2 part: ``l2 * sum w^2``."""

    l2: float


@runtime_checkable
class ProximalPenalty(Penalty, Protocol):
    """A penalty with a proximal operator."""

    def prox(self, w: Floats, step: float | Floats, out: Floats) -> None:
        """Write argmin_v ||v - w||^2 / (2 step) + value(v) to ``out``; steps may be a vector."""
        ...


def check_finite(what: str, numbers: npt.ArrayLike) -> None:
    """Refuse NaN and infinity, which a diverged training leaves.

    Every :class:`Iteration` and :class:`Result` makes it, and so does every model file.

    Examples
    --------
    >>> check_finite("weights", [1.0, float("nan")])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    epigram.errors.DivergenceError: training diverged: 1 of 2 weights not finite. Take smaller steps...
    """
    finite = np.isfinite(numbers)
    if not finite.all():
        amount = f"{finite.size - np.count_nonzero(finite)} of {finite.size} " if finite.ndim else ""
        raise DivergenceError(
            f"training diverged: {amount}{what} not finite. Take smaller steps (a lower eta0 of SGD; a larger "
            "lipschitz or batch_size of StochasticProximal) or scale the values of features."
        )


@dataclass(frozen=True, slots=True)
class Iteration:
    """One pass or iteration, as a solver reports it to its callback."""

    number: int
    objective: float
    nonzero: int
    seconds: float
    w: Floats = field(repr=False)
    optimality: float | None = None
    gradient_norm: float | None = None

    def __post_init__(self) -> None:
        check_finite("the objective is", self.objective)


Callback: TypeAlias = Callable[[Iteration], bool | None]
"""Called after each iteration; returning True stops the fit."""


@dataclass(frozen=True, slots=True)
class Result:
    """Result of a solver, and why it stopped: ``converged``, ``callback`` or ``limit``."""

    w: Floats = field(repr=False)
    objective: float
    iterations: int
    reason: str
    optimality: float | None = None

    def __post_init__(self) -> None:
        check_finite("weights", self.w)
        check_finite("the objective is", self.objective)


class Solver(Protocol):
    """Minimises loss + penalty from ``start`` (zeros by default)."""

    def solve(
        self,
        loss: Any,
        penalty: Any,
        start: Floats | None = None,
        callback: Callback | None = None,
    ) -> Result: ...


def require(thing: object, protocol: type, solver: object, needs: str, instead: str) -> None:
    """Raise a TypeError unless an object implements a protocol that a solver needs.

    Examples
    --------
    >>> from epigram import L2
    >>> require(L2(1.0), L1Penalty, object(), "a penalty with an l1 part", "LBFGS")
    Traceback (most recent call last):
        ...
    TypeError: object needs a penalty with an l1 part; L2 is not that. Use LBFGS.
    """
    if not isinstance(thing, protocol):
        misfit(solver, needs, thing, instead)


def is_plain(penalty: object) -> bool:
    """Whether all weights have the same strength and may have either sign.

    Examples
    --------
    >>> from epigram import L1
    >>> is_plain(L1(1.0)), is_plain(L1(1.0, nonnegative=True))
    (True, False)
    """
    return getattr(penalty, "weights", None) is None and not getattr(penalty, "nonnegative", False)
