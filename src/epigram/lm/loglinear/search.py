"""Choosing the strength of a penalty on held-out text: warm-started Nelder-Mead (``--strength auto``).

The free numbers (strength, depth weight, ridge) are searched on a log scale, because the best strength and
ridge move against each other. Every fit starts from the best weights so far, so most cost a few iterations.
Only held-out text decides; test text never enters.
"""

from __future__ import annotations

import time

import numpy as np

from epigram.direct_search import first_simplex, nelder_mead
from epigram.lm.loglinear.penalty import Strength
from epigram.lm.loglinear.problem import Problem
from epigram.protocols import Callback, Floats, Solver
from epigram.tuning import Trial, TrialCallback, simplex

FIRST_STEPS = {"strength": -0.4, "ridge": -0.4, "depth_weight": 0.15}
"""Sides of the first simplex, natural log."""


def search(
    problem: Problem,
    solver: Solver,
    first: Strength,
    free: tuple[str, ...],
    callback: Callback | None = None,
    on_trial: TrialCallback | None = None,
) -> tuple[list[Trial], Strength, Floats]:
    """All trials in the order they were made, and strength and weights of the best (least held-out perplexity)."""
    trials: list[Trial] = []
    fits: dict[Strength, Floats] = {first: problem.first_weights(first)}
    stopped, began = False, time.process_time()

    def judge(strength: Strength, best: Strength) -> float:
        nonlocal stopped
        start = fits[best]
        result = problem.solve(solver, strength, start, callback)
        fits.clear()
        fits.update({best: start, strength: result.w})
        perplexity = problem.perplexity(result.w)
        least = min([perplexity, *(trial.perplexity for trial in trials)])
        nonzero, seconds = int(np.count_nonzero(result.w)), time.process_time() - began
        trials.append(
            Trial(strength, perplexity, least, result.objective, nonzero, result.iterations, seconds)
        )
        stopped = result.reason == "callback" or bool(on_trial is not None and on_trial(trials[-1]))
        return float(np.log(perplexity))

    best = simplex(judge, first, {name: FIRST_STEPS[name] for name in free}, lambda: stopped)
    return trials, best, fits[best]


def calibrate(problem: Problem, w: Floats, max_trials: int = 120) -> Floats:
    """One factor a depth for the weights, chosen on held-out text; a penalty shrinks some depths too far.

    Depths share the factor of the last level that at least a thousandth of the weights reach.
    """
    tree = problem.tree
    depth = tree.per_pair(tree.depth)
    sizes = np.bincount(depth[w != 0], minlength=1)
    deepest = int(np.flatnonzero(sizes >= 1e-3 * sizes.sum())[-1]) if sizes.any() else 0
    level = np.minimum(depth, deepest)

    def log_perplexity(factors: Floats) -> float:
        return problem.log_perplexity(w * factors[level])

    start = np.ones(deepest + 1)
    found = nelder_mead(log_perplexity, first_simplex(start), max_trials, x_tolerance=2e-3, f_tolerance=2e-5)
    better = log_perplexity(found) < log_perplexity(start)
    return (
        np.append(found, np.full(int(depth.max()) - deepest, found[-1]))
        if better
        else np.ones(depth.max() + 1)
    )
