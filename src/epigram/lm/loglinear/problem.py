"""A text made ready for training: its contexts, its loss, and other text that weights are judged on.

What stands between an estimator, which has settings, and a loss, which knows arrays only. Training, choosing the
strength of a penalty and experiments all work on it.

The numbers of a strength that are not given are found by Nelder and Mead's search (``--strength auto``) on a log scale,
all at once, because the best strength and ridge move against each other. Every fit starts from the best weights so
far, so most cost a few iterations. Only held-out text decides; test text never enters.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from epigram.errors import InputError
from epigram.lm.corpus import Corpus
from epigram.lm.loglinear.loss import SuffixLoss
from epigram.lm.loglinear.penalty import Strength, build_penalty, first_weights
from epigram.lm.loglinear.to_backoff import to_backoff
from epigram.lm.loglinear.tree import ContextTree, Located, Positions
from epigram.lm.ngram.model import BackoffModel
from epigram.protocols import Callback, Floats, Result, Solver
from epigram.resuming import State, piece
from epigram.solvers.proximal import FISTA, StochasticProximal
from epigram.tuning import Remembered, Trial, TrialCallback, first_simplex, nelder_mead, simplex

SOLVERS: dict[str, Any] = {"fista": FISTA, "stochastic": StochasticProximal}


@dataclass(frozen=True)
class Problem:
    """The loss of a text under a penalty of some kind.

    Examples
    --------
    >>> from epigram.solvers.proximal import FISTA
    >>> corpus = Corpus.of(["a rose is a rose", "a rose is red"])
    >>> problem = Problem.of(corpus, order=2, penalty="l1", held_out=corpus)
    >>> result = problem.solve(FISTA(), Strength(0.1, 1.0))
    >>> problem.model(result.w).next_words("a", 1)[0][0]
    'rose'
    >>> problem.perplexity(result.w) < 5  # even odds among five words
    True
    """

    corpus: Corpus
    loss: SuffixLoss
    penalty: str = "elastic"
    nonnegative: bool = True
    held_out: Located | None = None

    @classmethod
    def of(
        cls,
        corpus: Corpus,
        order: int,
        penalty: str = "elastic",
        *,
        nonnegative: bool = True,
        collapse: bool = False,
        held_out: Corpus | None = None,
        threads: int = 1,
    ) -> Problem:
        """Contexts up to an order (0: unbounded) of a text; ``held_out`` must be in the ids of its vocabulary."""
        positions = Positions.of(corpus)
        tree = ContextTree.grow(positions, order, collapse)
        other = None if held_out is None else Located(tree, Positions.of(held_out))
        return cls(corpus, SuffixLoss(tree, threads, positions), penalty, nonnegative, other)

    @property
    def tree(self) -> ContextTree:
        """The contexts of the text, a weight for each of its pairs."""
        return self.loss.tree

    def first_weights(self, strength: Strength) -> Floats:
        """Weights to start from: the best of the root alone, 0 elsewhere."""
        return first_weights(self.tree, strength, self.nonnegative)

    def solve(
        self,
        solver: Solver,
        strength: Strength,
        start: Floats | None = None,
        callback: Callback | None = None,
    ) -> Result:
        """Minimise loss + penalty, from given weights or from :meth:`first_weights`."""
        penalty = build_penalty(self.penalty, self.tree, strength, self.nonnegative)
        return solver.solve(
            self.loss, penalty, self.first_weights(strength) if start is None else start, callback
        )

    def log_probabilities(self, w: Floats) -> Floats:
        """Of the known words of the held-out text and its ends of sentences, natural logarithms."""
        return np.empty(0) if self.held_out is None else self.held_out.log_probabilities(self.loss, w)

    def perplexity(self, w: Floats) -> float:
        """Perplexity of the held-out text; NaN without any."""
        return float("nan") if self.held_out is None else self.held_out.perplexity(self.loss, w)

    def n_nonzero(self, w: Floats) -> int:
        """Weights that are not 0."""
        return int(np.count_nonzero(w))

    def log_perplexity(self, w: Floats) -> float:
        """Its natural logarithm."""
        return float(np.log(self.perplexity(w)))

    def model(self, w: Floats) -> BackoffModel:
        """The language model that weights make."""
        return to_backoff(self.corpus.vocabulary, self.loss, w)


FIRST_STEPS = {"strength": -0.4, "ridge": -0.4, "depth_weight": 0.15}
"""Sides of the first simplex, natural log."""


class Searched(Protocol):
    """What a search needs of a problem: :class:`Problem`, or one whose weights are elsewhere."""

    def first_weights(self, strength: Strength) -> Floats:
        """Weights to start from."""
        ...

    def solve(
        self, solver: Any, strength: Strength, start: Floats | None = None, callback: Callback | None = None
    ) -> Result:
        """The weights of a strength."""
        ...

    def perplexity(self, w: Floats) -> float:
        """Of the held-out text."""
        ...

    def n_nonzero(self, w: Floats) -> int:
        """Weights that are not 0."""
        ...


def search(
    problem: Searched,
    solver: Solver,
    first: Strength,
    free: tuple[str, ...],
    callback: Callback | None = None,
    on_trial: TrialCallback | None = None,
) -> tuple[list[Trial], Strength, Floats]:
    """All trials in the order they were made, and strength and weights of the best (least held-out perplexity)."""
    stopped, began = False, time.process_time()
    trials: list[Trial] = []
    fits: dict[Strength, Floats] = {}

    def judge(strength: Strength, best: Strength) -> float:
        nonlocal stopped
        start = fits[best]
        result = problem.solve(solver, strength, start, callback)
        fits.clear()
        fits.update({best: start, strength: result.w})
        perplexity = problem.perplexity(result.w)
        least = min([perplexity, *(trial.perplexity for trial in trials)])
        nonzero, seconds = problem.n_nonzero(result.w), time.process_time() - began
        trials.append(
            Trial(strength, perplexity, least, result.objective, nonzero, result.iterations, seconds)
        )
        stopped = result.reason == "callback" or bool(on_trial is not None and on_trial(trials[-1]))
        return float(np.log(perplexity))

    def state() -> State:
        return {"trials": written(trials), "fits": [asdict(one) for one in fits], **_numbered(fits.values())}

    with piece("search of strengths") as kept:
        if saved := kept.state:
            trials += as_written(saved["trials"])
            fits |= {Strength(**one): saved[f"fit {k}"] for k, one in enumerate(saved["fits"])}
        else:
            fits[first] = problem.first_weights(first)
        remembered = Remembered(kept, judge, state, lambda: stopped)
        best = simplex(remembered, first, {name: FIRST_STEPS[name] for name in free}, lambda: stopped)
    return trials, best, fits[best]


def _numbered(fits: Iterable[Floats]) -> State:
    return {f"fit {k}": w for k, w in enumerate(fits)}


def written(trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """Trials as JSON holds them."""
    return [asdict(trial) for trial in trials]


def as_written(trials: Iterable[Mapping[str, Any]]) -> list[Trial]:
    """Trials from what :func:`written` made."""
    return [Trial(**{**trial, "strength": Strength(**trial["strength"])}) for trial in trials]


def calibrate(problem: Problem, w: Floats, max_trials: int = 120) -> Floats:
    """One factor a depth for the weights, chosen on held-out text; a penalty shrinks some depths too far.

    Depths share the factor of the last level that at least a thousandth of the weights reach.
    """
    depth = problem.tree.pair_depth

    def log_perplexity(factors: Floats) -> float:
        return problem.log_perplexity(w * factors[np.minimum(depth, factors.size - 1)])

    return best_factors(np.bincount(depth[w != 0], minlength=depth.max() + 1), log_perplexity, max_trials)


def best_factors(
    sizes: npt.NDArray[np.int64], log_perplexity: Callable[[Floats], float], max_trials: int = 120
) -> Floats:
    """One factor a depth that makes a function of them small; ``sizes``: weights that are not 0 of each depth."""
    deepest = int(np.flatnonzero(sizes >= 1e-3 * sizes.sum())[-1]) if sizes.any() else 0
    start = np.ones(deepest + 1)
    found = nelder_mead(log_perplexity, first_simplex(start), max_trials, x_tolerance=2e-3, f_tolerance=2e-5)
    better = log_perplexity(found) < log_perplexity(start)
    return np.append(found, np.full(sizes.size - 1 - deepest, found[-1])) if better else np.ones(sizes.size)


def solver_of(
    given: str | Solver, tolerance: float, max_iterations: int | None, seed: int, most: int
) -> Solver:
    """``fista`` stops after ``max_iterations`` (``most`` where none are given), ``stochastic`` after its own passes.

    Examples
    --------
    >>> solver_of("stochastic", 1e-6, None, 0, most=500).passes
    10
    >>> solver_of(StochasticProximal(passes=3), 1e-6, None, 0, most=500).passes
    3
    >>> solver_of("stochastic", 1e-6, 500, 0, most=500)
    Traceback (most recent call last):
        ...
    epigram.errors.InputError: max_iterations is for fista; say how many passes with StochasticProximal(passes=...).
    """
    if isinstance(given, str) and given not in SOLVERS:
        raise InputError(f"unknown solver {given!r}; choose one of {', '.join(SOLVERS)}, or give an object.")
    if not isinstance(given, str) and not hasattr(given, "solve"):
        raise InputError(f"a solver is a name or has a method solve; {given!r} is neither.")
    if given == "fista":
        return FISTA(tolerance, most if max_iterations is None else max_iterations)
    if max_iterations is not None:
        raise InputError(
            "max_iterations is for fista; say how many passes with StochasticProximal(passes=...)."
        )
    return StochasticProximal(tolerance=tolerance, seed=seed) if isinstance(given, str) else given


def most_iterations(solver: Solver) -> int | None:
    """Where a progress bar ends: iterations or passes."""
    return getattr(solver, "max_iterations", getattr(solver, "passes", None))


def solver_to_settings(solver: object) -> dict[str, Any]:
    """A solver with settings of its own, for the header of a model file: name and settings.

    Examples
    --------
    >>> again = with_solver(solver_to_settings(StochasticProximal(passes=3)))["solver"]
    >>> type(again).__name__, again.passes
    ('StochasticProximal', 3)
    """
    name = next((name for name, kind in SOLVERS.items() if type(solver) is kind), None)
    return {} if name is None else {"solver": name, "solver_settings": vars(solver)}


def with_solver(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings of a model file with the solver that :func:`solver_to_settings` wrote."""
    if "solver_settings" not in settings:
        return settings
    return {**settings, "solver": SOLVERS[settings["solver"]](**settings["solver_settings"])}


def settings_of(model: Any) -> dict[str, Any]:
    """Constructor arguments that a JSON header can hold."""
    plain = (bool, int, float, str, type(None))
    params: dict[str, Any] = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    own = solver_to_settings(params.get("solver"))
    return {**{name: value for name, value in params.items() if isinstance(value, plain)}, **own}
