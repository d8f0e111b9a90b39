"""What partial_fit carries from call to call: attributes and labels so far, and the state of SGD.

Rates and penalties are those of a training set as large as the largest call so far, at least ``SMALLEST``: a
stream of single sentences would otherwise count as a pass each, and its rate be gone after thirty.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from epigram.errors import InputError
from epigram.protocols import Floats, Ints, L1Penalty
from epigram.solvers.sgd import SGD, SGDState
from epigram.tagging.attributes import AttributeTable
from epigram.tagging.layout import SeenPairs, WeightLayout, lay_out
from epigram.tagging.loss import ChainLoss
from epigram.tagging.model import ChainModel
from epigram.tagging.sequences import Sequences

SMALLEST = 1000
CALLS_KEPT = 64  # corpora kept to name attributes from; then all names are spelt out and the corpora let go


class Online:
    """Grows with every call; weights keep their values."""

    def __init__(self, solver: SGD) -> None:
        self.solver = solver
        self.rng = np.random.default_rng(solver.random_state)
        self.n_calls = 0
        self.n_samples = SMALLEST
        self.table = AttributeTable()
        self.index: dict[Any, int] = {}
        self.seen: SeenPairs | None = None
        self.layout: WeightLayout | None = None
        self.state: SGDState | None = None

    @classmethod
    def of_model(cls, solver: SGD, model: ChainModel, classes: list[Any], pairs: str) -> Online:
        """Go on from a fitted model; the count of samples, and so the rate, starts anew."""
        online = cls(solver)
        online.table = AttributeTable(
            model.table.fingerprints.copy(), model.table.names(range(len(model.table)))
        )
        online.add_classes(classes)
        old, L = model.layout, len(model.labels)
        states, square, edges = old.states(model.w), old.transitions(model.w), old.edges(model.w)
        square = square if len(square) else np.zeros((L, L))
        online.seen = SeenPairs.of_weights(L, len(model.table), states, square, edges)
        online.layout = lay_out(online.seen, pairs, old.arrays.has_transitions, model.allowed_transitions)
        online.state = SGDState.fresh(online.layout.n_features)
        online.state.w[:] = online.layout.gather(online.layout.pack(states, square, edges))
        return online

    def add_classes(self, names: list[Any]) -> None:
        """Number labels in the order they come."""
        for name in names:
            self.index.setdefault(name, len(self.index))

    def learn(
        self,
        sequences: Sequences,
        labels: Ints,
        weights: Floats | None,
        penalty: L1Penalty,
        pairs: str,
        has_transitions: bool,
        bare: bool = True,
        allowed: npt.NDArray[np.bool_] | None = None,
    ) -> tuple[WeightLayout, Floats]:
        """One pass over these samples; returns where the weights are, and the weights."""
        if not sequences.n_tokens:
            raise InputError("no tokens to train on")
        layout, state = self._grow(sequences, labels, pairs, has_transitions, bare, allowed)
        loss = ChainLoss(sequences, labels, layout, weights)
        self.n_samples = max(self.n_samples, loss.n_samples)
        self.solver.run_pass(loss, penalty, state, self.rng, self.n_samples)
        self.layout, self.state = layout, state
        self.n_calls += 1
        if self.n_calls % CALLS_KEPT == 0:
            self.table.settle()
        return layout, layout.spread(state.w)

    def _grow(
        self,
        sequences: Sequences,
        labels: Ints,
        pairs: str,
        has_transitions: bool,
        bare: bool,
        allowed: npt.NDArray[np.bool_] | None,
    ) -> tuple[WeightLayout, SGDState]:
        """Lay the weights out anew for what has come, and carry them over; debts are settled if some are new."""
        seen = SeenPairs.of(sequences, labels, len(self.index), len(self.table))
        self.seen = seen if self.seen is None else self.seen.union(seen)
        layout = lay_out(self.seen, pairs, has_transitions, allowed, bare)
        if self.state is None or self.layout is None:
            return layout, SGDState.fresh(layout.n_features)
        if layout.n_features > self.layout.n_features:
            self.solver.settle(self.state)
        old, new = self.state, SGDState.fresh(layout.n_features)
        new.u, new.k, new.eta0 = old.u, old.k, old.eta0
        new.w, new.q = self._moved(old.w, layout), self._moved(old.q, layout)
        return layout, new

    def _moved(self, features: Floats, layout: WeightLayout) -> Floats:
        """A vector of the old layout in a new one."""
        assert self.layout is not None
        vector = self.layout.spread(features)
        square = np.zeros((layout.n_labels, layout.n_labels))
        known = self.layout.transitions(vector)
        square[: len(known), : len(known)] = known
        return layout.gather(layout.pack(self.layout.states(vector), square, self.layout.edges(vector)))


def learns_online(estimator: Any) -> bool:
    """Whether an estimator has a partial_fit; if not, the error says why (see scikit-learn's ``available_if``)."""
    if estimator.l2:
        raise AttributeError(f"partial_fit needs an l1 penalty alone, not l2={estimator.l2!r}. Use fit.")
    if not isinstance(estimator.solver, SGD | None):
        raise AttributeError(
            f"partial_fit needs SGD; {type(estimator.solver).__name__} is not that. Use fit."
        )
    return True


def online_of(estimator: Any) -> Online:
    """Where an estimator's last partial_fit ended, or its fit; new where it has neither."""
    solver = estimator.solver or SGD(random_state=estimator.random_state)
    online: Online | None = getattr(estimator, "_online", None)
    if online is not None:
        online.solver = solver
        return online
    if not hasattr(estimator, "model_"):
        return Online(solver)
    return Online.of_model(solver, estimator.model_, estimator.classes_.tolist(), estimator.pairs)


def online_report(online: Online, w: Floats) -> dict[str, Any]:
    """What a model file says about such a fit."""
    assert online.layout is not None
    assert online.state is not None
    return {
        "calls": online.n_calls,
        "samples": online.state.k,
        "features": online.layout.n_features,
        "active_features": int(np.count_nonzero(w)),
    }
