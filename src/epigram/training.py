"""Training of log-linear models: penalty by strength, callback, early stopping."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram.errors import InputError
from epigram.penalties.separable import L1, L2, ElasticNet
from epigram.protocols import (
    BatchLoss,
    Floats,
    Iteration,
    Penalty,
    Result,
    Solver,
)
from epigram.resuming import DOES_NOT_FIT, State, check_vectors, here, piece

Listener = Callable[[dict[str, Any]], bool | None]
Scorer = Callable[[Floats], float]


def penalty_of(given: Penalty | None, l1: float, l2: float) -> Penalty:
    """The penalty given, or that of the strengths."""
    if given is not None:
        if not isinstance(given, Penalty):
            raise ValueError(f"penalty must be None or an object such as L1(1.0), not {given!r}.")
        return given
    if l2 and l1:
        return ElasticNet(l1, l2)
    return L2(l2) if l2 else L1(l1)


def _checked_history(history: Any) -> list[dict[str, Any]]:
    """Refuse a checkpointed history whose entries are not numbers by name."""
    if not isinstance(history, list) or not all(
        isinstance(entry, dict) and all(isinstance(value, int | float) for value in entry.values())
        for entry in history
    ):
        raise InputError(DOES_NOT_FIT)
    return history


class Watch:
    """The solver's callback: writes the history, keeps the best weights, knows when to stop."""

    def __init__(
        self,
        scorer: Scorer | None = None,
        patience: int | None = None,
        listener: Listener | None = None,
    ) -> None:
        self.scorer, self.patience, self.listener = scorer, patience, listener
        self.history: list[dict[str, Any]] = []
        self.best_w: Floats | None = None
        self._best = (-np.inf, 0)

    def solve(self, solver: Solver, loss: BatchLoss, penalty: Penalty) -> Result:
        """Run the solver with this callback, resuming from a checkpoint if there is one."""
        with piece("training", self._state) as kept:
            if saved := kept.state:
                check_vectors(saved, loss.n_weights)
                score, number = saved["best"]
                self.history, self._best = _checked_history(saved["history"]), (float(score), int(number))
                self.best_w = saved.get("best_w")
            return solver.solve(loss, penalty, None, self)

    def _state(self) -> State:
        best = {} if self.best_w is None else {"best_w": self.best_w}
        return {"history": self.history, "best": list(self._best), **best}

    def __call__(self, iteration: Iteration) -> bool:
        entry: dict[str, Any] = {
            "iteration": iteration.number,
            "objective": iteration.objective,
            "nonzero": iteration.nonzero,
            "seconds": iteration.seconds,
        }
        if self.scorer is not None:
            score = entry["dev_score"] = self.scorer(iteration.w)
            if score > self._best[0]:
                self._best = (score, iteration.number)
                self.best_w = iteration.w.copy()
        self.history.append(entry)
        stop = bool(self.listener is not None and self.listener(entry))
        if self.patience is None or self.scorer is None or iteration.number - self._best[1] < self.patience:
            return stop
        here().ended = True
        return True


def checked_weights(given: npt.ArrayLike | None, n: int) -> Floats | None:
    """``sample_weight`` of n samples: finite, not negative, not all zero."""
    if given is None:
        return None
    weights = np.asarray(given, dtype=np.float64)
    if weights.shape != (n,):
        raise ValueError(f"sample_weight has shape {weights.shape}, not ({n},).")
    if not np.isfinite(weights).all() or (weights < 0.0).any():
        raise ValueError("sample_weight must be finite and not negative.")
    if n and not weights.any():
        raise ValueError("sample_weight is zero for every sample.")
    return weights


def product(one: Floats | None, other: Floats | None) -> Floats | None:
    """Weights times weights, where None stands for ones."""
    if one is None or other is None:
        return other if one is None else one
    return one * other
