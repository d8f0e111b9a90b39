"""Training data made ready for a solver: encoded samples, weight layout and loss.

A problem stands between an estimator, which has settings, and a loss, which knows arrays only.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from epigram.chain.labels import Labels, Sets, encode_labels
from epigram.chain.layout import SegmentTypes, WeightLayout, lay_out
from epigram.chain.loss import ChainLoss, put_dense_first
from epigram.chain.memory import KeptSentences, Memory
from epigram.chain.model import ChainModel
from epigram.chain.partial_labels import seen_in_part
from epigram.chain.seen_pairs import SeenPairs
from epigram.errors import DataWarning, InputError
from epigram.features.attributes import AttributeTable, renumbering
from epigram.features.encoding import encode_known, encode_sentences
from epigram.features.sequences import Sequences
from epigram.features.template import Template
from epigram.protocols import BatchLoss, Floats, Ints, Offsets, Penalty, Result, Solver
from epigram.solvers.history import Listener, Scorer, Watch

Decoder = Callable[[ChainModel, Sequences], Ints]
UNLEARNED = 1e-3  # a training that lowers the objective by a smaller share has learnt nothing


class Shape(NamedTuple):
    """Which weights a model may have; see :func:`epigram.chain.layout.lay_out`."""

    pairs: str = "seen"
    has_transitions: bool = True
    allowed: npt.NDArray[np.bool_] | None = None
    bare: bool = True
    order: int = 1


@dataclass(frozen=True, slots=True)
class Samples:
    """Encoded sentences with the label of every token, and how to read numbers back as names.

    Attributes
    ----------
    sequences, labels : attributes and label id of every token.
    table, classes : names of the attributes and of the labels by id.
    shape : which weights a model of them may have.
    weights : one per sentence; None for ones.
    template, ends : what the model keeps: its template, and which labels may stand first and last.
    counts : what the report of a fit tells of them.
    longest : the most tokens of a segment; 0 for chains, which have none.
    sets : numbers of the sets of labels that negative label ids stand for; see :mod:`epigram.chain.partial_labels`.
    """

    sequences: Sequences
    labels: Ints
    table: AttributeTable
    classes: npt.NDArray[Any]
    shape: Shape = field(default_factory=Shape)
    weights: Floats | None = None
    template: Template | None = None
    ends: npt.NDArray[np.bool_] | None = None
    counts: dict[str, int] = field(default_factory=dict)
    longest: int = 0
    sets: Sets = field(default_factory=dict)

    def by_frequency(self, min_count: int) -> Samples:
        """Number attributes by falling frequency, drop those met less than ``min_count`` times."""
        new_ids = renumbering(self.table.counts, min_count)
        self.table.renumber(new_ids)
        return replace(self, sequences=self.sequences.renumber(new_ids))

    def model(self, layout: WeightLayout, w: Floats, squares: Floats | None = None) -> ChainModel:
        """The model that weights make, its labels sorted; ``squares`` are sums of squared gradients."""
        names = [str(name) for name in self.classes.tolist()]
        order = np.argsort(self.classes, kind="stable")
        padded_w = layout.spread(w)
        padded_squares = None if squares is None else layout.spread(squares)
        return ChainModel.compact(
            names, self.template, self.table, layout, padded_w, self.ends, order, padded_squares
        )

    def scorer(self, layout: WeightLayout, X: Any, y: Labels, decode: Decoder | None = None) -> Scorer:
        """Return a function from weights to F1 (chunk labels) or accuracy on other sentences."""
        from epigram.chain.chunks import are_chunk_labels
        from epigram.chain.metrics import evaluate_ids

        decode = decode or ChainModel.decode
        sequences = encode_known(X, self.template, self.table, self.longest)
        if not sequences.n_tokens:
            raise InputError("the held-out set has no tokens")
        names, ids = encode_labels(y, sequences)
        known = self.classes.tolist()
        everyone = [*known, *(name for name in names.tolist() if name not in set(known))]
        gold = np.array([everyone.index(name) for name in names.tolist()], dtype=np.int32)[ids]
        everyone = [str(name) for name in everyone]
        chunked = are_chunk_labels(everyone)

        def score(w: Floats) -> float:
            padded_w = layout.spread(w)
            model = ChainModel(tuple(everyone[: len(known)]), None, self.table, layout, padded_w, self.ends)
            report = evaluate_ids(gold, decode(model, sequences), everyone, sequences.word_ptr)
            return report.overall.f1 if chunked else report.accuracy

        return score


@dataclass(slots=True)
class Trained:
    """The result of a training run and the state that partial_fit continues from."""

    result: Result
    history: list[dict[str, Any]] = field(repr=False)
    samples: Samples = field(repr=False)
    seen: SeenPairs = field(repr=False)
    layout: WeightLayout
    gradient: Floats = field(repr=False)
    squares: Floats = field(repr=False)
    n_samples: int
    memory: Memory = field(repr=False)

    def report(self) -> dict[str, Any]:
        """The metrics of the fit, and counts of what it was trained on."""
        return {
            "iterations": self.result.iterations,
            "stopped": self.result.reason,
            "objective": self.result.objective,
            "features": self.layout.n_features,
            "active_features": int(np.count_nonzero(self.result.w)),
            "samples": self.n_samples,
            **self.samples.counts,
        }


@dataclass(frozen=True)
class ChainProblem:
    """The loss of labelled sentences, and what its weights mean.

    Examples
    --------
    >>> from epigram import L1, OWLQN, CRFTagger
    >>> X, y = [[["w=the"], ["w=dog"]], [["w=a"], ["w=cat"]]], [["DT", "NN"], ["DT", "NN"]]
    >>> problem = CRFTagger().problem(X, y)
    >>> result = OWLQN().solve(problem.loss, L1(0.1))
    >>> problem.model(result.w).labels, problem.scorer(X, y)(result.w)
    (('DT', 'NN'), 1.0)
    """

    samples: Samples
    seen: SeenPairs
    loss: ChainLoss

    @classmethod
    def of(cls, samples: Samples, threads: int = 1) -> ChainProblem:
        """Lay out the weights of samples and build their loss; ``threads`` are the loss's."""
        sequences, labels = samples.sequences, samples.labels
        if not sequences.n_tokens:
            raise InputError("no tokens to train on")
        size = len(samples.classes), len(samples.table)
        if samples.sets:
            seen = seen_in_part(sequences, labels, samples.sets, *size)
        else:
            seen = SeenPairs.of(sequences, labels, *size)
        layout = lay_out(seen, *samples.shape)
        if samples.longest:
            layout = replace(
                layout, types=SegmentTypes.of([str(name) for name in samples.classes], samples.longest)
            )
        put_dense_first(sequences, layout)
        loss = ChainLoss(sequences, labels, layout, samples.weights, threads, samples.sets)
        return cls(samples, seen, loss)

    @property
    def layout(self) -> WeightLayout:
        """The layout of the weights."""
        return self.loss.layout

    def train(
        self,
        solver: Solver,
        penalty: Penalty,
        scorer: Scorer | None = None,
        patience: int | None = None,
        listener: Listener | None = None,
    ) -> Trained:
        """Minimise loss + penalty; with a ``scorer``, keep the best-scoring weights met."""
        watch = Watch(scorer, patience, listener)
        return train(self.loss, self.layout, self.samples, self.seen, solver, penalty, watch)

    def model(self, w: Floats, squares: Floats | None = None) -> ChainModel:
        """The model that weights make."""
        return self.samples.model(self.layout, w, squares)

    def scorer(self, X: Any, y: Labels, decode: Decoder | None = None) -> Scorer:
        """Return a function from weights to F1 (chunk labels) or accuracy on other sentences."""
        return self.samples.scorer(self.layout, X, y, decode)

    def log_likelihood(self, X: Any, y: Labels) -> Scorer:
        """Return a function from weights to the mean log p of other sentences with known labels."""
        sequences = encode_sentences(X, self.samples.template, self.samples.table, grow=False)
        names, ids = encode_labels(y, sequences)
        number = {name: k for k, name in enumerate(self.samples.classes.tolist())}
        labels = np.array([number.get(name, -1) for name in names.tolist()], dtype=np.int32)[ids]
        strange = np.repeat(np.arange(sequences.n_sentences), sequences.lengths)[labels < 0]
        kept = np.setdiff1d(np.arange(sequences.n_sentences), strange)
        chosen = np.isin(np.repeat(np.arange(sequences.n_sentences), sequences.lengths), kept)
        loss = ChainLoss(sequences.take(kept), labels[chosen], self.layout)
        return lambda w: -loss.value_and_gradient(w, np.empty_like(w)) / len(kept)


class FittedLoss(BatchLoss, Protocol):
    """A loss that also sums gradients and their squares, for partial_fit."""

    def summed_gradients(self, w: Floats) -> tuple[Floats, Floats]:
        """Of each weight, the sums over samples of its gradient at ``w`` and of the square of that."""
        ...


def train(
    loss: FittedLoss,
    layout: WeightLayout,
    samples: Samples,
    seen: SeenPairs,
    solver: Solver,
    penalty: Penalty,
    watch: Watch,
) -> Trained:
    """Minimise a loss + penalty; the best weights that the watch saw are kept."""
    result = watch.solve(solver, loss, penalty)
    if watch.best_w is not None and not np.array_equal(watch.best_w, result.w):
        value = loss.value_and_gradient(watch.best_w, np.empty_like(watch.best_w))
        result = replace(result, w=watch.best_w, objective=value + penalty.value(watch.best_w))
    _warn_unlearned(loss, penalty, result, watch.history)
    sums = loss.summed_gradients(result.w)
    memory = Memory()
    memory.add(KeptSentences(samples.sequences, samples.labels, samples.weights))
    none = Sequences.of([0], [0], [])  # who learns on needs the names, not all of the text
    kept = replace(samples, sequences=none, labels=np.empty(0, dtype=np.int32), weights=None)
    return Trained(result, watch.history, kept, seen, layout, *sums, loss.n_samples, memory)


def _warn_unlearned(
    loss: FittedLoss, penalty: Penalty, result: Result, history: list[dict[str, Any]]
) -> None:
    """Warn of a training that ends where it began."""
    if history and result.objective < 0.9 * history[0]["objective"]:
        return
    nothing = np.zeros_like(result.w)
    before = loss.value_and_gradient(nothing, np.empty_like(nothing)) + penalty.value(nothing)
    if result.objective > (1.0 - UNLEARNED) * before:
        warnings.warn(
            f"training did not lower the objective ({before:,.6g} without weights, {result.objective:,.6g} with them); "
            "lower the penalty (l1), or give the solver another learning rate (eta0) or more passes",
            DataWarning,
            stacklevel=2,
        )


def class_weights(
    class_weight: Mapping[Any, float] | str | None, labels: Ints, classes: npt.NDArray[Any]
) -> Floats | None:
    """Weight of each token by its class, 1 where that is known in part; None for ones."""
    known = labels >= 0
    per_class = weights_of_labels(class_weight, np.bincount(labels[known], minlength=len(classes)), classes)
    return None if per_class is None else np.where(known, per_class[labels], 1.0)


def weights_of_labels(
    class_weight: Mapping[Any, float] | str | None, counts: Offsets, classes: npt.NDArray[Any]
) -> Floats | None:
    """Weight of each class: given, or ``"balanced"`` (n / (classes * count), as scikit-learn)."""
    if class_weight is None:
        return None
    if class_weight == "balanced":
        return np.asarray(counts.sum() / (len(classes) * np.maximum(counts, 1)))
    if not isinstance(class_weight, Mapping):
        raise ValueError(f"class_weight must be None, 'balanced' or a dict, not {class_weight!r}.")
    return np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])


def sentence_weights(per_token: Floats, sequences: Sequences) -> Floats:
    """A sentence weighs the mean of its tokens' weights."""
    sums = np.diff(np.concatenate([[0.0], np.cumsum(per_token)])[sequences.sentence_ptr])
    return sums / np.maximum(sequences.lengths, 1)
