"""What the paper leaves to others, on the same lists: exact L1 and L2 penalties, and minimum sample risk.

``lasso`` is the minimum of ExpLoss + alpha T(lambda) (equation 10), which BLasso approaches; ``ridge`` has the sum of
squares instead ("we leave the empirical comparison of the L1 and L2 penalty to future work", section 4); ``msr``
counts errors instead of ExpLoss (equation 4; Gao et al. 2005). Strengths and steps are chosen on held-out lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from epigram.rerank import Lasso, MinimumSampleRisk, Ridge
from epigram.rerank.walk import Walk
from epigram_papers.lasso_ime.trial import EPS, Trial

FEW = 100
A_DECADE = 6
"""Strengths of a penalty from one to a tenth of it."""


def penalties(trial: Trial, strengths: int, tuned: bool) -> dict[str, Any]:
    """Each learner's results, BLasso and the exact lasso compared with it, and how near to the lasso the paths are.

    ``tuned`` chooses the settings of minimum sample risk on the held-out lists, besides the step of its path.
    """
    risk = MinimumSampleRisk()
    walks = {
        "lasso": trial.course.walk(Lasso(strengths, weakest=10.0 ** (-strengths / A_DECADE))),
        "ridge": trial.course.walk(Ridge(strengths)),
        "msr": trial.course.tuned(risk, trial.least) if tuned else trial.course.walk(risk, trial.least),
    }
    errors = {name: trial.course.errors(walk, trial.test) for name, walk in walks.items()}
    compared = {"blasso": trial.errors["blasso"], "lasso": errors["lasso"]}
    return {
        "learners": {name: trial.record(walk) for name, walk in walks.items()},
        "p": {
            name: {other: trial.judge.difference(found, those) for other, those in compared.items()}
            for name, found in errors.items()
        },
        "norms": norms_beside(walks["lasso"], trial.walks),
    }


def norms_beside(exact: Walk, walks: Mapping[str, Walk], few: int = FEW) -> list[dict[str, float]]:
    """L1 norms where each path has the loss of an exact solution, for those solutions that all paths reach.

    Solutions whose norm is that of fewer than ``few`` steps of 0.5 are left out, and between two steps of a path the
    norm goes by the straight line: what is compared is where the paths go, not how coarse their steps are.
    """
    lowest = max(float(walk.curves.losses.min()) for walk in walks.values())
    return [
        {"loss": loss, "lasso": norm, **{name: _norm_at(walk, loss) for name, walk in walks.items()}}
        for loss, norm in zip(exact.curves.losses.tolist(), exact.curves.l1_norms.tolist(), strict=True)
        if loss >= lowest and norm >= few * EPS
    ]


def _norm_at(walk: Walk, loss: float) -> float:
    losses, norms = walk.curves.losses, walk.curves.l1_norms
    t = max(int(np.argmax(losses <= loss)), 1)
    share = (losses[t - 1] - loss) / (losses[t - 1] - losses[t])
    return float(norms[t - 1] + share * (norms[t] - norms[t - 1]))
