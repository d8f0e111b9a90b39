"""Training history: a callback that records iterations, keeps the best and stops early."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from epigram.checkpoint import State, check_vectors, demand, here, piece
from epigram.protocols import BatchLoss, Floats, Iteration, Penalty, Result, Solver

Listener = Callable[[dict[str, Any]], bool | None]
Scorer = Callable[[Floats], float]


class Watch:
    """Callback of a solver: records the history, keeps the best weights, stops early."""

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
                (score, number), self.history = saved["best"], saved["history"]
                demand(all(isinstance(x, int | float) for entry in self.history for x in entry.values()))
                self._best = float(score), int(number)
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
