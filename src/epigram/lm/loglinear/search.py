"""Hyperparameter search of log-linear models: strengths and depth factors on held-out text.

The numbers of a strength that are not given are found by Nelder and Mead's search (``--strength auto``) on a log scale,
all at once, because the best strength and ridge move against each other. Every fit starts from the best weights so
far, so most cost a few iterations. Only held-out text decides; test text never enters.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from epigram.checkpoint import check_vectors, piece
from epigram.lm.loglinear.penalties import Strength
from epigram.lm.loglinear.problem import Problem
from epigram.protocols import Callback, Floats, Result, Solver
from epigram.tuning import SearchTrial, TrialCallback, first_simplex, nelder_mead, simplex

FIRST_STEPS = {"side": 0.7, "strength": -0.4, "ridge": -0.4, "depth_weight": 0.15}
"""Sides of the first simplex, natural log."""


class Searched(Protocol):
    """A problem as a search uses it: :class:`Problem`, or one whose weights are elsewhere."""

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
    is_over: Callable[[], bool] = lambda: False,
    max_trials: int = 30,
    start: Floats | None = None,
) -> tuple[list[SearchTrial], Strength, Floats]:
    """All trials in order, and strength and weights of the best (least held-out perplexity).

    ``is_over`` ends the search early, such as when its time is used up. ``start`` are weights to start from.
    """
    stopped, closed, given, began = False, False, 0, time.process_time()
    trials: list[SearchTrial] = []
    fits: dict[Strength, Floats] = {}

    def judge(strength: Strength, best: Strength) -> float:
        nonlocal stopped, given
        given += 1
        if given > len(trials):  # else an earlier run made this trial
            before = fits[best]
            result = problem.solve(solver, strength, before, callback)
            fits.clear()
            fits.update({best: before, strength: result.w})
            found = problem.perplexity(result.w)
            least = min([found, *(trial.perplexity for trial in trials)])
            nonzero, seconds = problem.n_nonzero(result.w), time.process_time() - began
            trials.append(
                SearchTrial(strength, found, least, result.objective, nonzero, result.iterations, seconds)
            )
            stopped = result.reason == "callback" or bool(on_trial is not None and on_trial(trials[-1]))
            save()
        return float(np.log(trials[given - 1].perplexity))

    def is_at_end() -> bool:
        return stopped or (given >= len(trials) and (closed or is_over()))

    def save() -> None:
        weights = {f"fit {k}": w for k, w in enumerate(fits.values())}
        state = {
            "trials": [asdict(trial) for trial in trials],
            "fits": [asdict(one) for one in fits],
            "closed": closed,
            **weights,
        }
        kept.save(state, stop=stopped, always=True)

    with piece("search of strengths") as kept:
        if saved := kept.state:
            check_vectors(saved, problem.first_weights(first).size)
            for trial in saved["trials"]:
                trials.append(SearchTrial(**{**trial, "strength": Strength(**trial["strength"])}))
            fits |= {Strength(**one): saved[f"fit {k}"] for k, one in enumerate(saved["fits"])}
            closed = saved["closed"]
        else:
            fits[first] = problem.first_weights(first) if start is None else start
        steps = {name: FIRST_STEPS[name] for name in free}
        best = simplex(judge, first, steps, is_at_end, max_trials)
        closed = True
        save()
    return trials, best, fits[best]


def calibrate(problem: Problem, w: Floats, max_trials: int = 120) -> Floats:
    """One factor per depth for the weights, chosen on held-out text.

    Depths share the factor of the last level that at least a thousandth of the weights reach.
    """
    depth = problem.tree.pair_depth

    def log_perplexity(factors: Floats) -> float:
        return float(np.log(problem.perplexity(w * factors[np.minimum(depth, factors.size - 1)])))

    return best_factors(np.bincount(depth[w != 0], minlength=depth.max() + 1), log_perplexity, max_trials)


def best_factors(
    sizes: npt.NDArray[np.int64], log_perplexity: Callable[[Floats], float], max_trials: int = 120
) -> Floats:
    """One factor per depth that makes a function small; ``sizes``: nonzero weights per depth."""
    deepest = int(np.flatnonzero(sizes >= 1e-3 * sizes.sum())[-1]) if sizes.any() else 0
    start = np.ones(deepest + 1)
    found = nelder_mead(log_perplexity, first_simplex(start), max_trials, x_tolerance=2e-3, f_tolerance=2e-5)
    better = log_perplexity(found) < log_perplexity(start)
    return np.append(found, np.full(sizes.size - 1 - deepest, found[-1])) if better else np.ones(sizes.size)
