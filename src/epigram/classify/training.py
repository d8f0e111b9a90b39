"""Fits of text classifiers: logistic losses, elastic net, ratios (Wang and Manning 2012).

Columns may have factors, which are multiplied into the weights afterwards, so that prediction does not need them:
inverse document frequencies, or for two classes the ratios ``log((p_j / |p|) / (q_j / |q|))``, where p_j and q_j are
1 + the number of texts of the one and of the other class with n-gram j. Several classes are one-against-rest problems,
whose scores a softmax with a temperature makes probabilities.
"""

from __future__ import annotations

from contextvars import Context
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from epigram._core.threads import Team
from epigram.classify.loss import LANES, LinearLoss, scores_of
from epigram.features.grams import Rows
from epigram.penalties.separable import L1, ElasticNet
from epigram.protocols import Floats
from epigram.solvers.dual import DualAscent
from epigram.solvers.quasi_newton import OWLQN

Targets = npt.NDArray[np.bool_]


@dataclass
class LinearFit:
    """Weights with a column per target, biases last, and dual numbers.

    A further fit can start from the dual numbers.
    """

    weights: Floats = field(repr=False)
    duals: Floats = field(repr=False)
    iterations: int

    def scores(self, rows: Rows) -> Floats:
        """Scores of rows, a column per target."""
        return scores_of(rows, self.weights)


def fit_columns(
    rows: Rows,
    targets: Targets,
    l1: float,
    l2: float,
    sample_weight: Floats | None = None,
    start: LinearFit | None = None,
    tolerance: float = 0.01,
    threads: int = 1,
    random_state: int = 0,
    offsets: Floats | None = None,
) -> LinearFit:
    """Minimise the loss of each column of targets + l1 sum |w| + l2 sum w^2.

    Up to ``LANES`` columns are solved together. ``offsets`` are added to scores.
    """
    given = np.zeros(targets.shape) if offsets is None else offsets
    duals = start.duals if start is not None and start.duals.size else None

    def fit(at: slice) -> tuple[Floats, Floats, int]:
        if l2 == 0.0:
            loss = LinearLoss(rows, targets[:, at.start], sample_weight, given[:, at.start])
            found = OWLQN(tolerance=tolerance, max_iterations=200).solve(loss, L1(l1))
            return found.w[:, None], np.empty((0, 1)), found.iterations
        solver = DualAscent(tolerance=tolerance, passes=100, random_state=random_state)
        n = at.stop - at.start
        own = at.start if n == 1 else at
        loss = LinearLoss(rows, targets[:, own], sample_weight, given[:, own])
        begun = None if duals is None else duals[:, own].copy()
        found = solver.solve(loss, ElasticNet(l1, l2), duals=begun)
        both = (part.reshape(len(part), -1)[:, :n] for part in (found.w, solver.duals_))
        return *both, found.iterations * n

    width, n_targets = (1 if l2 == 0.0 else LANES), targets.shape[1]
    slices = [slice(k, min(k + width, n_targets)) for k in range(0, n_targets, width)]
    # Tasks of a checkpoint have an order, which threads have not: they run outside of it.
    work = fit if threads == 1 else lambda at: Context().run(fit, at)
    with Team(threads) as team:
        found = team.run(work, slices)
    weights, new_duals, iterations = zip(*found, strict=True)
    return LinearFit(np.concatenate(weights, axis=1), np.concatenate(new_duals, axis=1), sum(iterations))


def log_count_ratios(rows: Rows, is_in: Targets, alpha: float = 1.0) -> Floats:
    """log((p / |p|) / (q / |q|)) of each column; p and q count texts, plus ``alpha``.

    Examples
    --------
    >>> rows = Rows(np.array([0, 1, 2]), np.array([0, 1], np.int32), np.ones(2, np.float32), 2)
    >>> log_count_ratios(rows, np.array([True, False])).round(3).tolist()
    [0.693, -0.693]
    """
    inside = np.repeat(is_in, np.diff(rows.ptr))
    p, q = (alpha + np.bincount(rows.ids[chosen], minlength=rows.n_columns) for chosen in (inside, ~inside))
    return np.asarray(np.log(p / p.sum()) - np.log(q / q.sum()))


def inverse_frequencies(rows: Rows) -> Floats:
    """(1 + log((1 + n) / (1 + texts))) / 6 of each column, so that usual factors are near 1."""
    texts = np.bincount(rows.ids, minlength=rows.n_columns)
    return np.asarray((1.0 + np.log(len(rows.ptr) / (1.0 + texts))) / 6.0)


def factors_of(rows: Rows, targets: Targets, scale: str) -> Floats | None:
    """Factors of columns by name: ``ratios``, ``idf``, or None for ``none``."""
    if scale == "ratios":
        return log_count_ratios(rows, targets[:, 0])
    return inverse_frequencies(rows) if scale == "idf" else None


def scaled(rows: Rows, factors: Floats | None) -> Rows:
    """Rows with each column multiplied by its factor."""
    if factors is None:
        return rows
    return rows._replace(values=rows.values * factors.astype(np.float32)[rows.ids])


def best_temperature(scores: Floats, targets: Targets, several: bool) -> float:
    """The divisor of scores that makes held-out targets most probable; near 1 if they are few."""
    grid = np.exp(np.linspace(np.log(0.2), np.log(5.0), 33))
    prior = 5.0 * np.log(grid) ** 2 / max(1, len(scores))
    return float(grid[np.argmin([log_loss(scores / t, targets, several) for t in grid] + prior)])


def log_loss(scores: Floats, targets: Targets, several: bool) -> float:
    """Mean -log p of the targets; one column, or ``several``, is logistic, otherwise softmax."""
    if several or scores.shape[1] == 1:
        return float(np.logaddexp(0.0, np.where(targets, -scores, scores)).sum(axis=1).mean())
    s = scores - scores.max(axis=1, keepdims=True)
    return float((np.log(np.exp(s).sum(axis=1)) - (s * targets).sum(axis=1)).mean())
