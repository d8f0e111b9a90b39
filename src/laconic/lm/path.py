"""Choosing the price of a penalty on held-out text: a warm-started pattern search (``--strength auto``).

From a first price, each free number (strength, depth weight, ridge) is tried larger and smaller by a
factor; a better one is kept and tried further; when none is better the factor shrinks. Every fit starts
from the weights of the best so far, so most cost a few iterations. Only held-out text decides; test text
never enters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from laconic.lm.held_out import HeldOut
from laconic.lm.loss import SuffixLoss
from laconic.lm.prices import Price, build_penalty, first_weights
from laconic.protocols import Callback, Floats, Solver


@dataclass(frozen=True, slots=True)
class Trial:
    """One fit on the path."""

    price: Price
    perplexity: float
    objective: float
    nonzero: int
    iterations: int


TrialCallback = Callable[[Trial], bool | None]
"""Called after each fit of the path; returning True ends the search."""

FACTORS = (1.5, 1.2)
DEPTH_FACTORS = (1.2, 1.08)


def search(
    penalty: str,
    loss: SuffixLoss,
    held_out: HeldOut,
    solver: Solver,
    first: Price,
    free: tuple[str, ...],
    nonnegative: bool = True,
    callback: Callback | None = None,
    on_trial: TrialCallback | None = None,
    max_trials: int = 40,
) -> tuple[list[Trial], Floats]:
    """All trials in the order they were made, and the weights of the best (least held-out perplexity)."""
    trials: list[Trial] = []
    w = first_weights(loss.tree, first, nonnegative)

    def attempt(price: Price) -> bool:
        """Fit from the best weights so far; True if it beats them."""
        nonlocal w
        if len(trials) >= max_trials:
            raise StopIteration
        built = build_penalty(penalty, loss.tree, price, nonnegative)
        result = solver.solve(loss, built, w, callback)
        perplexity = held_out.perplexity(loss, result.w)
        better = not trials or perplexity < best_of(trials).perplexity
        nonzero = int(np.count_nonzero(result.w))
        trials.append(Trial(price, perplexity, result.objective, nonzero, result.iterations))
        if better:
            w = result.w
        if result.reason == "callback" or (on_trial is not None and on_trial(trials[-1])):
            raise StopIteration
        return better

    try:
        attempt(first)
        for factor, depth_factor in zip(FACTORS, DEPTH_FACTORS, strict=True):
            improved = True
            while improved:
                improved = False
                for name in free:
                    by = depth_factor if name == "depth_weight" else factor
                    improved |= _climb(name, by, attempt, trials)
    except StopIteration:
        pass
    return trials, w


def best_of(trials: list[Trial]) -> Trial:
    """The trial of least held-out perplexity."""
    return min(trials, key=lambda trial: trial.perplexity)


def _climb(name: str, factor: float, attempt: Callable[[Price], bool], trials: list[Trial]) -> bool:
    """Move one number up while that helps, else down while that helps; True if anything did."""
    for by in (factor, 1.0 / factor):
        moved = False
        while True:
            best = best_of(trials).price
            price = replace(best, **{name: getattr(best, name) * by})
            if any(_same(price, trial.price) for trial in trials) or not attempt(price):
                break
            moved = True
        if moved:
            return True
    return False


def _same(a: Price, b: Price) -> bool:
    return np.allclose(
        (a.strength, a.depth_weight, a.ridge), (b.strength, b.depth_weight, b.ridge), rtol=1e-6
    )
