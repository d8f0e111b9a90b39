"""Learning from a stream: what ``partial_fit`` does, and what it carries from call to call.

Weights follow the gradients by FTRL-Proximal (McMahan et al. 2013): a weight's rate falls with the squares of its own
gradients so far, so weights that have learnt much take small steps and new ones large ones; and the penalty
stands for all text so far, however much there is, as it does in ``fit``. Differs: the sentences of a call are
passed over a few times, block by block, the penalty as many times as strong; and the model has not the last weights
but their average, in which the last part of the stream counts most (Shamir and Zhang 2013, section 4).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram.errors import InputError
from epigram.protocols import Floats, Ints, check_finite
from epigram.tagging.attributes import AttributeTable
from epigram.tagging.layout import SeenPairs, WeightLayout, lay_out
from epigram.tagging.loss import ChainLoss, put_dense_first
from epigram.tagging.sequences import Sequences
from epigram.tagging.training import Trained

PASSES, ALPHA, BETA = 3, 0.2, 0.1  # on chunking, alpha of 0.2 to 0.4 and 2 to 4 passes end alike
BLOCK = 2_400  # tokens
RECENCY = 8.0  # the average forgets as (samples before / samples now) to this power
CALLS_KEPT = 64  # corpora kept to name attributes from; then all names are spelt out and the corpora let go


@dataclass(slots=True)
class StreamState:
    """One number per weight: the weight itself, its average, z and n of FTRL-Proximal."""

    w: Floats = field(repr=False)
    average: Floats = field(repr=False)
    z: Floats = field(repr=False)
    n: Floats = field(repr=False)

    @classmethod
    def fresh(cls, n_weights: int) -> StreamState:
        """Nothing learnt yet."""
        return cls(*(np.zeros(n_weights) for _ in range(4)))

    def vectors(self) -> tuple[Floats, Floats, Floats, Floats]:
        """All of it."""
        return self.w, self.average, self.z, self.n


@dataclass(frozen=True, slots=True)
class Growth:
    """Which weights a model may have."""

    pairs: str
    has_transitions: bool
    bare: bool = True
    allowed: npt.NDArray[np.bool_] | None = None


class Online:
    """Grows with every call; weights keep their values."""

    def __init__(self, random_state: int | None) -> None:
        self.rng = np.random.default_rng(random_state)
        self.n_calls = 0
        self.n_samples = 0
        self.table = AttributeTable()
        self.index: dict[Any, int] = {}
        self.seen: SeenPairs | None = None
        self.layout: WeightLayout | None = None
        self.state = StreamState.fresh(0)

    @classmethod
    def of_fit(
        cls, estimator: Any, trained: Trained, table: AttributeTable, classes: npt.NDArray[Any]
    ) -> Online:
        """Go on from a training run."""
        online = cls(estimator.random_state)
        online.table, online.seen, online.layout = table, trained.seen, trained.layout
        online.n_samples = trained.n_samples
        online.add_classes(classes.tolist())
        w, gradient, squares = (
            trained.layout.gather(v) for v in (trained.w, trained.gradient, trained.squares)
        )
        online._start(w, gradient, squares, rule_of(estimator.l1, estimator.l2))
        return online

    @classmethod
    def of_model(cls, estimator: Any) -> Online:
        """Go on from a model, which has nothing but its nonzero weights."""
        online, model, layout = cls(estimator.random_state), estimator.model_, estimator.model_.layout
        online.n_samples = int(estimator.fit_.get("samples", 1))
        online.table = AttributeTable(
            model.table.fingerprints.copy(), model.table.names(range(len(model.table)))
        )
        online.add_classes(estimator.classes_.tolist())
        L = len(model.labels)
        square = layout.transitions(model.w) if layout.arrays.has_transitions else np.zeros((L, L))
        online.seen = SeenPairs.of_weights(
            L, len(model.table), layout.states(model.w), square, layout.edges(model.w)
        )
        online.layout = layout
        w = layout.gather(model.w)
        squares = np.zeros_like(w) if model.squares is None else layout.gather(model.squares)
        online._start(w, np.zeros_like(w), squares, rule_of(estimator.l1, estimator.l2))
        return online

    def _start(self, w: Floats, gradient: Floats, squares: Floats, rule: Any) -> None:
        """The state of FTRL-Proximal that has these weights.

        What a weight was sure of throughout has small squares at the end, but a large weight: n is at least what
        FTRL-Proximal needs to come so far from zero.
        """
        n = np.maximum(PASSES * squares, (w / (2.0 * rule.alpha)) ** 2)
        z = -np.sign(w) * rule.l1 - w * ((rule.beta + np.sqrt(n)) / rule.alpha + 2.0 * rule.l2)
        idle = np.clip(PASSES * gradient, -rule.l1, rule.l1)
        self.state = StreamState(w.copy(), w.copy(), np.where(w == 0.0, idle, z), n)

    def add_classes(self, names: list[Any]) -> None:
        """Number labels in the order they come."""
        for name in names:
            self.index.setdefault(name, len(self.index))

    def learn(
        self,
        sequences: Sequences,
        labels: Ints,
        weights: Floats | None,
        growth: Growth,
        l1: float,
        l2: float,
    ) -> tuple[WeightLayout, Floats, Floats]:
        """Learn from more samples; returns where the weights are, the weights, and squares of their gradients."""
        if not sequences.n_tokens:
            raise InputError("no tokens to train on")
        self._grow(sequences, labels, growth)
        assert self.layout is not None
        put_dense_first(sequences, self.layout)
        loss = ChainLoss(sequences, labels, self.layout, weights)
        rule, s = rule_of(l1, l2), self.state
        order = self.rng.permutation(loss.n_samples).astype(np.int32)
        for block in np.array_split(order, min(len(order), -(-sequences.n_tokens // BLOCK))):
            before = s.n.copy()
            passes = np.concatenate([self.rng.permutation(block) for _ in range(PASSES)])
            loss.online_pass(passes, rule, s.w, s.z, s.n)
            old = np.full(len(s.n), self.n_samples / (self.n_samples + len(block)))
            touched = np.flatnonzero(s.n > before)
            old[touched] = np.minimum(old[touched], before[touched] / s.n[touched])
            s.average += (1.0 - old**RECENCY) * (s.w - s.average)
            self.n_samples += len(block)
        self.n_calls += 1
        if self.n_calls % CALLS_KEPT == 0:
            self.table.settle()
        check_finite("weights", s.average)
        return self.layout, self.layout.spread(s.average), self.layout.spread(s.n / PASSES)

    def _grow(self, sequences: Sequences, labels: Ints, growth: Growth) -> None:
        """Lay the weights out anew for what has come, and carry over what they remember."""
        seen = SeenPairs.of(sequences, labels, len(self.index), len(self.table))
        self.seen = seen if self.seen is None else self.seen.union(seen)
        layout = lay_out(self.seen, growth.pairs, growth.has_transitions, growth.allowed, growth.bare)
        if self.layout is None:
            self.state = StreamState.fresh(layout.n_features)
        else:
            places = self._places(layout)
            self.state = StreamState(*(np.append(vector, 0.0)[places] for vector in self.state.vectors()))
        self.layout = layout

    def _places(self, layout: WeightLayout) -> npt.NDArray[np.int64]:
        """Where each weight of a new layout is in the old one; -1 for weights that are new."""
        assert self.layout is not None
        numbers = self.layout.spread(np.arange(1.0, 1.0 + self.layout.n_features))
        square = np.zeros((layout.n_labels, layout.n_labels))
        known = self.layout.transitions(numbers)
        square[: len(known), : len(known)] = known
        found = layout.pack(self.layout.states(numbers), square, self.layout.edges(numbers))
        return layout.gather(found).astype(np.int64) - 1

    def report(self) -> dict[str, Any]:
        """What a model file says about such a fit."""
        return {
            "calls": self.n_calls,
            "samples": self.n_samples,
            "features": len(self.state.w),
            "active_features": int(np.count_nonzero(self.state.average)),
        }


def rule_of(l1: float, l2: float) -> Any:
    """The rule of a call: each sentence counts as often as it is passed over, and so does the penalty."""
    from epigram.tagging.online_kernels import Rule

    return Rule(ALPHA, BETA, PASSES * float(l1), PASSES * float(l2))


def online_of(estimator: Any) -> Online:
    """Where an estimator's last partial_fit ended, or its fit; new where it has neither."""
    online: Online | None = getattr(estimator, "_online", None)
    if online is not None:
        return online
    if not hasattr(estimator, "model_"):
        return Online(estimator.random_state)
    return Online.of_model(estimator)
