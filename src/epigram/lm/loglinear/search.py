"""Choosing the strength of a penalty on held-out text: warm-started Nelder-Mead (``--strength auto``).

The free numbers (strength, depth weight, ridge) are searched on a log scale, because the best strength and
ridge move against each other. Every fit starts from the best weights so far, so most cost a few iterations.
Only held-out text decides; test text never enters.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from epigram.direct_search import first_simplex, nelder_mead
from epigram.lm.loglinear.located import Located
from epigram.lm.loglinear.loss import SuffixLoss
from epigram.lm.loglinear.penalty import Strength, build_penalty, first_weights
from epigram.protocols import Callback, Floats, Solver


@dataclass(frozen=True, slots=True)
class Trial:
    """One fit on the path."""

    strength: Strength
    perplexity: float
    objective: float
    nonzero: int
    iterations: int


TrialCallback = Callable[[Trial], bool | None]
"""Called after each fit of the path; returning True ends the search."""

FIRST_STEPS = {"strength": -0.4, "ridge": -0.4, "depth_weight": 0.15}
"""Sides of the first simplex, natural log."""


def search(
    penalty: str,
    loss: SuffixLoss,
    held_out: Located,
    solver: Solver,
    first: Strength,
    free: tuple[str, ...],
    nonnegative: bool = True,
    callback: Callback | None = None,
    on_trial: TrialCallback | None = None,
    max_trials: int = 30,
) -> tuple[list[Trial], Floats]:
    """All trials in the order they were made, and the weights of the best (least held-out perplexity)."""
    trials: list[Trial] = []
    w = first_weights(loss.tree, first, nonnegative)

    def log_perplexity(point: Floats) -> float:
        """Fit from the best weights so far."""
        nonlocal w
        strength = replace(first, **dict(zip(free, np.exp(point).tolist(), strict=True)))
        result = solver.solve(loss, build_penalty(penalty, loss.tree, strength, nonnegative), w, callback)
        perplexity = held_out.perplexity(loss, result.w)
        better = not trials or perplexity < best_of(trials).perplexity
        nonzero = int(np.count_nonzero(result.w))
        trials.append(Trial(strength, perplexity, result.objective, nonzero, result.iterations))
        if better:
            w = result.w
        if result.reason == "callback" or (on_trial is not None and on_trial(trials[-1])):
            raise StopIteration
        return float(np.log(perplexity))

    centre = np.log([getattr(first, name) for name in free])
    simplex = np.vstack([centre, centre + np.diag([FIRST_STEPS[name] for name in free])])
    # An on_trial or callback that returns True ends the search with what it has.
    with suppress(StopIteration):
        nelder_mead(log_perplexity, simplex, max_trials, x_tolerance=0.05, f_tolerance=2e-4)
    return trials, w


def best_of(trials: list[Trial]) -> Trial:
    """The trial of least held-out perplexity."""
    return min(trials, key=lambda trial: trial.perplexity)


def calibrate(loss: SuffixLoss, held_out: Located, w: Floats, max_trials: int = 120) -> Floats:
    """One factor a depth for the weights, chosen on held-out text; a penalty shrinks some depths too far.

    Depths share the factor of the last level that at least a thousandth of the weights reach.
    """
    tree = loss.tree
    depth = tree.per_pair(tree.depth)
    sizes = np.bincount(depth[w != 0], minlength=1)
    deepest = int(np.flatnonzero(sizes >= 1e-3 * sizes.sum())[-1]) if sizes.any() else 0
    level = np.minimum(depth, deepest)

    def log_perplexity(factors: Floats) -> float:
        return float(np.log(held_out.perplexity(loss, w * factors[level])))

    start = np.ones(deepest + 1)
    found = nelder_mead(log_perplexity, first_simplex(start), max_trials, x_tolerance=2e-3, f_tolerance=2e-5)
    better = log_perplexity(found) < log_perplexity(start)
    return (
        np.append(found, np.full(int(depth.max()) - deepest, found[-1]))
        if better
        else np.ones(depth.max() + 1)
    )
