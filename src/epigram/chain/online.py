"""partial_fit: FTRL-Proximal with replay of earlier sentences and weighted averaging.

Weights follow the gradients by FTRL-Proximal (McMahan et al. 2013): a weight's learning rate falls with the squares of
its gradients, so that well-trained weights take small steps and new ones large steps. The penalty is that of ``fit`` on
all samples so far. Differs: the sentences of a call are passed over twice, block by block, each with as many earlier
sentences (:mod:`epigram.chain.memory`), so the penalty is scaled by the visits of a sentence; the model holds an
average of the weights in which the last part of the stream counts most (Shamir and Zhang 2013, section 4).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram.chain.labels import LabelIndex
from epigram.chain.layout import WeightLayout, lay_out
from epigram.chain.loss import ChainLoss, StreamRule, put_dense_first
from epigram.chain.memory import KeptSentences, Memory, joined
from epigram.chain.model import ChainModel
from epigram.chain.partial_labels import seen_in_part
from epigram.chain.problem import Samples, Trained
from epigram.chain.seen_pairs import SeenPairs
from epigram.errors import InputError
from epigram.features.attributes import AttributeTable
from epigram.protocols import Floats, L1Penalty, L2Penalty, Penalty, check_finite, is_plain

PASSES, REPLAYS = 2, 2  # passes over what is new, and old sentences for each new one
VISITS = PASSES + REPLAYS  # of a sentence, on average and in the end
ALPHA, BETA = 0.4, 0.1  # on chunking, alpha of 0.4 to 0.8 and 2 to 4 replays end alike
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


class Online:
    """The state that ``partial_fit`` carries from call to call: attributes, labels and weights."""

    def __init__(self, random_state: int | None) -> None:
        self.rng = np.random.default_rng(random_state)
        self.n_calls = 0
        self.n_samples = 0
        self.table = AttributeTable()
        self.index = LabelIndex()
        self.seen: SeenPairs | None = None
        self.layout: WeightLayout | None = None
        self.state = StreamState.fresh(0)
        self.memory = Memory()

    @classmethod
    def of(cls, estimator: Any, state: Trained | Online | None, rule: StreamRule) -> Online:
        """Return the state of an estimator's last partial_fit, fit or model file, or a new one."""
        online = cls(estimator.random_state)
        if isinstance(state, Online):
            return state
        if isinstance(state, Trained):
            online._of_fit(state, rule)
        elif hasattr(estimator, "model_"):
            online._of_model(estimator, rule)
        return online

    def _of_fit(self, trained: Trained, rule: StreamRule) -> None:
        """Go on from a training run."""
        self.table, self.seen, self.layout = trained.samples.table, trained.seen, trained.layout
        self.n_samples = trained.n_samples
        self.index = LabelIndex(trained.samples.classes.tolist(), trained.samples.sets)
        self._start(trained.result.w, trained.gradient, trained.squares, rule)
        self.memory = trained.memory

    def _of_model(self, estimator: Any, rule: StreamRule) -> None:
        """Go on from a model, which has nothing but its nonzero weights."""
        model, layout = estimator.model_, estimator.model_.layout
        self.n_samples = int(estimator.fit_.get("samples", 1))
        names = model.table.names(range(len(model.table)))
        self.table = AttributeTable(model.table.fingerprints.copy(), names)
        self.index = LabelIndex(estimator.classes_.tolist())
        self.seen = SeenPairs.of_weights(len(model.labels), len(model.table), model.weights)
        self.layout = layout
        w = layout.gather(model.w)
        squares = np.zeros_like(w) if model.squares is None else layout.gather(model.squares)
        self._start(w, np.zeros_like(w), squares, rule)

    def _start(self, w: Floats, gradient: Floats, squares: Floats, rule: StreamRule) -> None:
        """The state of FTRL-Proximal that has these weights.

        What a weight was sure of throughout has small squares at the end, but a large weight: n is at least what
        FTRL-Proximal needs to come so far from zero.
        """
        n = np.maximum(VISITS * squares, (w / (2.0 * rule.alpha)) ** 2)
        z = -np.sign(w) * rule.l1 - w * ((rule.beta + np.sqrt(n)) / rule.alpha + 2.0 * rule.l2)
        idle = np.clip(VISITS * gradient, -rule.l1, rule.l1)
        self.state = StreamState(w.copy(), w.copy(), np.where(w == 0.0, idle, z), n)

    def learn(self, samples: Samples, rule: StreamRule) -> ChainModel:
        """Learn from more samples; returns the model of all so far."""
        if not samples.sequences.n_tokens:
            raise InputError("no tokens to train on")
        layout, s, new = self._grow(samples), self.state, samples.sequences.n_sentences
        mine = KeptSentences(samples.sequences, samples.labels, samples.weights)
        both = joined([mine, *self.memory.draw(REPLAYS * new, self.n_samples)])
        self.memory.add(mine)
        put_dense_first(both.sequences, layout)
        loss = ChainLoss(both.sequences, both.labels, layout, both.weights, sets=self.index.sets)
        order = self.rng.permutation(new).astype(np.int32)
        old = self.rng.permutation(np.arange(new, loss.n_samples, dtype=np.int32))
        n_blocks = min(new, -(-samples.sequences.n_tokens // BLOCK))
        for block, replayed in zip(
            np.array_split(order, n_blocks), np.array_split(old, n_blocks), strict=True
        ):
            before = s.n.copy()
            passes = [self.rng.permutation(block) for _ in range(PASSES - 1)]
            passes.append(self.rng.permutation(np.concatenate([block, replayed])))
            loss.online_pass(np.concatenate(passes), rule, s.w, s.z, s.n)
            kept = np.full(len(s.n), self.n_samples / (self.n_samples + len(block)))
            touched = np.flatnonzero(s.n > before)
            kept[touched] = np.minimum(kept[touched], before[touched] / s.n[touched])
            s.average += (1.0 - kept**RECENCY) * (s.w - s.average)
            self.n_samples += len(block)
        self.n_calls += 1
        if self.n_calls % CALLS_KEPT == 0:
            self.table.settle()
        check_finite("weights", s.average)
        return samples.model(layout, s.average, s.n / VISITS)

    def _grow(self, samples: Samples) -> WeightLayout:
        """Lay the weights out anew for what has come, and carry over what they remember."""
        labelled, size = (samples.sequences, samples.labels), (len(self.index), len(self.table))
        sets = self.index.sets
        seen = seen_in_part(*labelled, sets, *size) if sets else SeenPairs.of(*labelled, *size)
        self.seen = seen if self.seen is None else self.seen.union(seen)
        layout = lay_out(self.seen, *samples.shape)
        if self.layout is None:
            self.state = StreamState.fresh(layout.n_features)
        else:
            places = _places(self.layout, layout)
            self.state = StreamState(*(np.append(vector, 0.0)[places] for vector in self.state.vectors()))
        self.layout = layout
        return layout

    def report(self) -> dict[str, Any]:
        """Return the training record for the model file."""
        return {
            "calls": self.n_calls,
            "samples": self.n_samples,
            "features": len(self.state.w),
            "active_features": int(np.count_nonzero(self.state.average)),
        }


def _places(old: WeightLayout, new: WeightLayout) -> npt.NDArray[np.int64]:
    """Return the index of each weight of a new layout in the old one; -1 for new weights."""
    numbers = old.weights(old.spread(np.arange(1.0, 1.0 + old.n_features)))
    square = np.zeros((new.n_labels, new.n_labels))
    square[: old.n_labels, : old.n_labels] = numbers.transitions
    return new.gather(new.pack(numbers._replace(transitions=square))).astype(np.int64) - 1


def rule_of(penalty: Penalty) -> StreamRule:
    """The rule of a call: each sentence counts as often as it is met, and so does the penalty."""
    if not is_plain(penalty) or not isinstance(penalty, L1Penalty | L2Penalty):
        raise ValueError(
            f"partial_fit takes a plain L1, L2 or ElasticNet penalty, not {penalty!r}; fit on all samples instead."
        )
    l1, l2 = getattr(penalty, "l1", 0.0), getattr(penalty, "l2", 0.0)
    return StreamRule(ALPHA, BETA, VISITS * l1, VISITS * l2)
