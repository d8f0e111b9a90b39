"""From encoded sentences to weights: what the estimators of this family share.

Numbers attributes by frequency, lays out the weights, runs the solver, keeps the history, and, with a held-out
set, the best weights so far.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from epigram.errors import InputError
from epigram.penalties import L1, L2, ElasticNet
from epigram.protocols import BatchLoss, Floats, Ints, Iteration, Offsets, Penalty, Result, Solver
from epigram.solvers import LBFGS, OWLQN, SGD
from epigram.tagging.attributes import AttributeTable, renumbering
from epigram.tagging.layout import SeenPairs, WeightLayout, lay_out
from epigram.tagging.loss import ChainLoss, put_dense_first
from epigram.tagging.sequences import Sequences

Scorer = Callable[[WeightLayout, Floats], float]
Listener = Callable[[dict[str, Any]], bool | None]


@dataclass(slots=True)
class Trained:
    """The end of a training run."""

    seen: SeenPairs = field(repr=False)
    layout: WeightLayout
    w: Floats = field(repr=False)
    gradient: Floats = field(repr=False)
    squares: Floats = field(repr=False)
    result: Result
    n_samples: int
    history: list[dict[str, Any]] = field(repr=False)

    def report(self, **counts: int) -> dict[str, Any]:
        """The metrics of the fit, and counts of what it was trained on."""
        return {
            "iterations": self.result.iterations,
            "stopped": self.result.reason,
            "objective": self.result.objective,
            "features": self.layout.n_features,
            "active_features": int(np.count_nonzero(self.w)),
            "samples": self.n_samples,
            **counts,
        }


def penalty_of(l1: float, l2: float) -> L1 | L2 | ElasticNet:
    """The penalty with these strengths."""
    if l2 and l1:
        return ElasticNet(l1, l2)
    return L2(l2) if l2 else L1(l1)


def solver_for(l1: float, l2: float, random_state: int | None) -> Solver:
    """SGD for a pure l1 penalty, else the quasi-Newton method that fits."""
    if l2:
        return OWLQN() if l1 else LBFGS()
    return SGD(random_state=random_state)


def renumber(sequences: Sequences, table: AttributeTable, min_count: int) -> Sequences:
    """Number attributes by falling frequency, drop those met less than ``min_count`` times."""
    new_ids = renumbering(table.counts, min_count)
    table.renumber(new_ids)
    return sequences.renumber(new_ids)


def train(
    sequences: Sequences,
    labels: Ints,
    n_labels: int,
    n_attributes: int,
    *,
    l1: float,
    l2: float,
    solver: Solver | None,
    pairs: str = "seen",
    has_transitions: bool = True,
    bare: bool = True,
    allowed: npt.NDArray[np.bool_] | None = None,
    weights: Floats | None = None,
    threads: int = 1,
    random_state: int | None = 0,
    scorer: Scorer | None = None,
    patience: int | None = None,
    listener: Listener | None = None,
) -> Trained:
    """Fit the weights of a chain model; with a ``scorer``, return the best-scoring weights met."""
    if pairs not in ("seen", "all"):
        raise ValueError(f"pairs must be 'seen' or 'all', not {pairs!r}.")
    if not sequences.n_tokens:
        raise InputError("no tokens to train on")
    seen = SeenPairs.of(sequences, labels, n_labels, n_attributes)
    layout = lay_out(seen, pairs, has_transitions, allowed, bare)
    put_dense_first(sequences, layout)
    loss = ChainLoss(sequences, labels, layout, weights, threads)
    watch = Watch(layout, scorer, patience, listener)
    return fit(loss, seen, layout, solver or solver_for(l1, l2, random_state), penalty_of(l1, l2), watch)


def fit(
    loss: FittedLoss,
    seen: SeenPairs,
    layout: WeightLayout,
    solver: Solver,
    penalty: Penalty,
    watch: Watch,
    start: Floats | None = None,
) -> Trained:
    """Minimise a loss over these weights; the best weights that the watch saw are kept."""
    result = solver.solve(loss, penalty, start, watch)
    if watch.best_w is not None and not np.array_equal(watch.best_w, result.w):
        value = loss.value_and_gradient(watch.best_w, np.empty_like(watch.best_w))
        result = replace(result, w=watch.best_w, objective=value + penalty.value(watch.best_w))
    w, gradient, squares = (layout.spread(v) for v in (result.w, *loss.summed_gradients(result.w)))
    return Trained(seen, layout, w, gradient, squares, result, loss.n_samples, watch.history)


class FittedLoss(BatchLoss, Protocol):
    """What a training needs of a loss beside what its solver needs."""

    def summed_gradients(self, w: Floats) -> tuple[Floats, Floats]:
        """Of each weight, the sums over samples of its gradient at ``w`` and of the square of that."""
        ...


class Watch:
    """The solver's callback: writes the history, keeps the best weights, knows when to stop.

    ``keep`` is called with each iteration first: what saves weights on the way.
    """

    def __init__(
        self,
        layout: WeightLayout,
        scorer: Scorer | None,
        patience: int | None,
        listener: Listener | None,
        keep: Callable[[Iteration], Any] | None = None,
    ) -> None:
        self.layout, self.scorer, self.patience, self.listener = layout, scorer, patience, listener
        self.keep = keep
        self.history: list[dict[str, Any]] = []
        self.best_w: Floats | None = None
        self._best = (-np.inf, 0)

    def __call__(self, iteration: Iteration) -> bool:
        if self.keep is not None:
            self.keep(iteration)
        entry: dict[str, Any] = {
            "iteration": iteration.number,
            "objective": iteration.objective,
            "nonzero": iteration.nonzero,
            "seconds": iteration.seconds,
        }
        if self.scorer is not None:
            score = entry["dev_score"] = self.scorer(self.layout, self.layout.spread(iteration.w))
            if score > self._best[0]:
                self._best = (score, iteration.number)
                self.best_w = iteration.w.copy()
        self.history.append(entry)
        stop = bool(self.listener is not None and self.listener(entry))
        waited = self.scorer is not None and iteration.number - self._best[1]
        return stop or (self.patience is not None and self.scorer is not None and waited >= self.patience)


def class_weights(
    class_weight: Mapping[str, float] | str | None, labels: Ints, classes: npt.NDArray[Any]
) -> Floats | None:
    """Weight of each class: given, or ``"balanced"`` (n / (classes * count), as scikit-learn)."""
    if class_weight is None:
        return None
    return weights_of_labels(class_weight, np.bincount(labels, minlength=len(classes)), classes)


def weights_of_labels(
    class_weight: Mapping[str, float] | str | None, counts: Offsets, classes: npt.NDArray[Any]
) -> Floats | None:
    """The same, from how often each class was met."""
    if class_weight is None:
        return None
    if class_weight == "balanced":
        return np.asarray(counts.sum() / (len(classes) * np.maximum(counts, 1)))
    if not isinstance(class_weight, Mapping):
        raise ValueError(f"class_weight must be None, 'balanced' or a dict, not {class_weight!r}.")
    return np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])


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


def sentence_weights(per_token: Floats, sentence_ptr: npt.NDArray[np.int64]) -> Floats:
    """A sentence weighs the mean of its tokens' class weights."""
    sums = np.diff(np.concatenate([[0.0], np.cumsum(per_token)])[sentence_ptr])
    return sums / np.maximum(np.diff(sentence_ptr), 1)
