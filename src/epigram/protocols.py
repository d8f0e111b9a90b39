"""The contracts: what a loss, a penalty, a solver, a learner and an estimator must offer.

The objective is the sum of sample losses + penalty, natural log, float64 weights.

A loss knows no penalty, a penalty no loss. A solver names the protocols it needs, checks them once at its
door with :func:`require`, and never asks for a concrete class. An :class:`Estimator` works with ``clone``,
``GridSearchCV`` and ``cross_val_score`` where scikit-learn is installed, and never imports it otherwise.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from operator import index
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from epigram.errors import DivergenceError, EpigramError, InputError, misfit

if TYPE_CHECKING:
    from epigram.rerank.stagewise import WeightPath

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int32]
Offsets: TypeAlias = npt.NDArray[np.int64]


@runtime_checkable
class BatchLoss(Protocol):
    """A loss whose exact value and gradient over all samples come from one call."""

    n_weights: int
    n_samples: int

    def value_and_gradient(self, w: Floats, out: Floats) -> float:
        """Sum of sample losses at ``w``; its gradient is written to ``out``."""
        ...


@runtime_checkable
class StochasticLoss(Protocol):
    """A loss that takes its own SGD steps, sample by sample, inside one kernel call."""

    n_weights: int
    n_samples: int

    def sgd_pass(
        self,
        method: str,
        order: Ints,
        rates: Floats,
        penalties: Floats,
        batch_size: int,
        w: Floats,
        q: Floats,
    ) -> float:
        """Visit the samples in ``order``, ``batch_size`` a step; step k has the rate ``rates[k]``.

        ``method`` is a rule of Tsuruoka et al. 2009 (``naive``, ``clipping``, ``lazy``, ``cumulative``);
        ``penalties[k]`` is the total u of equation 3 before step k, ``penalties[-1]`` that after the last;
        ``q`` is what each weight has received. Returns the sum of the sample losses met on the way.
        """
        ...


@dataclass(frozen=True, slots=True)
class StagewiseRule:
    """How a stepwise learner chooses one weight and moves it (Gao et al. 2006, sections 3 and 4).

    ``search_step``: the weight with the best loss after a move of +-search_step is chosen (equation 12); infinite:
    the best loss at its own optimum (equation 7). The move is shrinkage times the optimum, never larger than
    ``step``; ``smoothing`` is that of equation 16; a move back needs the lasso loss to fall by more than ``theta``.
    """

    search_step: float
    step: float
    shrinkage: float = 1.0
    smoothing: float = 0.0
    theta: float = float("inf")


@dataclass(frozen=True, slots=True)
class StagewiseSteps:
    """Steps taken: which weight, by how much, and the loss and the lasso's alpha after it."""

    features: Ints = field(repr=False)
    deltas: Floats = field(repr=False)
    losses: Floats = field(repr=False)
    alphas: Floats = field(repr=False)


class StagewiseProgress(Protocol):
    """The incremental state of a stagewise fit."""

    w: Floats

    @property
    def loss(self) -> float:
        """The loss now."""
        ...

    def advance(self, n_steps: int) -> StagewiseSteps:
        """Take up to ``n_steps`` steps; fewer where none lowers the loss any more."""
        ...

    def memory(self) -> dict[str, Any]:
        """The arrays that steps change, by name."""
        ...

    def restore(self, memory: dict[str, Any]) -> None:
        """Be as the state was that had this memory, to the bit."""
        ...


@runtime_checkable
class StagewiseLoss(Protocol):
    """A loss that knows what moving one weight does, and so takes stagewise steps inside one kernel call."""

    n_weights: int
    n_samples: int

    def begin(self, rule: StagewiseRule, w: Floats, alpha: float, done: int) -> StagewiseProgress:
        """The state at ``w`` after ``done`` steps; ``alpha`` is infinite before the first."""
        ...


@runtime_checkable
class Penalty(Protocol):
    """A number that grows with the weights: what is added to the loss."""

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
        """Write argmin_v 1/2 ||v - w||^2 / step + value(v) to ``out``; a vector of steps is a metric."""
        ...


def check_finite(what: str, numbers: npt.ArrayLike) -> None:
    """Refuse NaN and infinity: the one check between a diverged training and a model that is kept.

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
    """What a solver tells its callback after each pass or iteration."""

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
    """Where a solver stopped, and why: ``converged``, ``callback`` or ``limit``."""

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


@runtime_checkable
class Learner(Protocol):
    """Draws a path of models through a loss; its settings may be None until something chooses them."""

    usual: ClassVar[Mapping[str, float]]
    ladders: ClassVar[Mapping[str, tuple[float, ...]]]

    @property
    def steps(self) -> int | None:
        """Length of the path; None: as long as held-out errors ask for."""
        ...

    @property
    def open_settings(self) -> list[str]:
        """Names of the settings that are None."""
        ...

    def with_usual(self, *, but: tuple[str, ...] = ()) -> Self:
        """Return the same learner with the usual value for every setting that is None."""
        ...

    def walk(self, loss: Any, path: WeightPath, memory: dict[str, Any] | None = None) -> Iterator[WeightPath]:
        """Go on from the end of ``path``; yields new steps in chunks.

        ``memory`` takes, before each chunk, all that going on to the same bits needs beside the path; a walk that
        is given one that is not empty goes on from there.
        """
        ...


def require(thing: object, protocol: type, solver: object, needs: str, instead: str) -> None:
    """Check a contract at a solver's door.

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
    """True where every weight has the same strength and may have either sign: what its strengths say is all there is.

    Examples
    --------
    >>> from epigram import L1
    >>> is_plain(L1(1.0)), is_plain(L1(1.0, nonnegative=True))
    (True, False)
    """
    return getattr(penalty, "weights", None) is None and not getattr(penalty, "nonnegative", False)


class NotFittedError(EpigramError, ValueError, AttributeError):
    """An estimator that was asked before it was fitted."""


class Estimator:
    """Parameters are the arguments of ``__init__``, kept as attributes of the same name.

    Examples
    --------
    >>> class Model(Estimator):
    ...     def __init__(self, order=3, solver=None):
    ...         self.order, self.solver = order, solver
    >>> Model(order=5)
    Model(order=5)
    >>> Model().set_params(order=4).get_params()
    {'order': 4, 'solver': None}
    """

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        """Parameters by name, sorted, with their defaults."""
        parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
        return {p.name: p.default for p in sorted(parameters, key=lambda p: p.name)}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with ``deep`` also those of parameters that have some, as ``name__inner``."""
        found: dict[str, Any] = {}
        for name in self._defaults():
            value = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                found |= {f"{name}__{inner}": of for inner, of in value.get_params().items()}
            found[name] = value
        return found

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters; ``name__inner`` changes a parameter of a parameter."""
        known = self._defaults()
        inner: dict[str, dict[str, Any]] = {}
        for key, value in parameters.items():
            name, _, rest = key.partition("__")
            if name not in known:
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {self}. Valid parameters are: {list(known)!r}."
                )
            if rest:
                inner.setdefault(name, {})[rest] = value
            else:
                setattr(self, name, value)
        for name, values in inner.items():
            getattr(self, name).set_params(**values)
        return self

    def __repr__(self) -> str:
        given = [
            f"{name}={getattr(self, name)!r}"
            for name, default in self._defaults().items()
            if not _same(getattr(self, name, default), default)
        ]
        return f"{type(self).__name__}({', '.join(given)})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=None,
            regressor_tags=None,
            classifier_tags=None,
        )


def check_fitted(estimator: object, attribute: str) -> None:
    """Raise :class:`NotFittedError` where the attribute that ``fit`` sets is missing."""
    if not hasattr(estimator, attribute):
        name = type(estimator).__name__
        raise _error_class("sklearn.exceptions" in sys.modules)(
            f"This {name} instance is not fitted yet. Call 'fit' with appropriate arguments before using it."
        )


@cache
def _error_class(with_sklearn: bool) -> type[NotFittedError]:
    """Ours; where scikit-learn is loaded, one that is scikit-learn's too."""
    if not with_sklearn:
        return NotFittedError
    from sklearn.exceptions import NotFittedError as Theirs

    return type("NotFittedError", (NotFittedError, Theirs), {"__doc__": NotFittedError.__doc__})


def _same(value: object, default: object) -> bool:
    """Whether a parameter has its default; arrays and NaN compare as one would think."""
    if value is default:
        return True
    try:
        return bool(np.all(value == default)) or repr(value) == repr(default)
    except (TypeError, ValueError):
        return repr(value) == repr(default)


def each(things: Any, name: str, of: str) -> Iterator[Any]:
    """Iterate over an argument, or say which one is no iterable, or is a string that would fall into characters.

    Examples
    --------
    >>> next(each(3, "X", "sentences"))
    Traceback (most recent call last):
        ...
    epigram.errors.InputError: X must be an iterable of sentences, not 3
    """
    if isinstance(things, str | bytes):
        shown = repr(things) if len(things) <= 40 else f"{things[:40]!r}..."
        raise InputError(f"{name} is the string {shown}; give a list of {of}: split the string first")
    try:
        return iter(things)
    except TypeError:
        raise InputError(f"{name} must be an iterable of {of}, not {things!r}") from None


def at_least(least: int, number: Any, name: str) -> int:
    """A whole number that is large enough, or say which one is not.

    Examples
    --------
    >>> at_least(1, "two", "threads")
    Traceback (most recent call last):
        ...
    epigram.errors.InputError: threads must be a whole number >= 1, not 'two'
    """
    try:
        if index(number) >= least:
            return index(number)
    except TypeError:
        pass
    raise InputError(f"{name} must be a whole number >= {least}, not {number!r}")
