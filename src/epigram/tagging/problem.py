"""Labelled sentences made ready for training: their numbers, the weights there are, the loss, and what weights mean.

What stands between an estimator, which has settings, and a loss, which knows arrays only. Training, learning on from
more sentences, and experiments all work on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from epigram._core.native import gather
from epigram.errors import InputError
from epigram.penalties.separable import L1, L2, ElasticNet
from epigram.protocols import (
    BatchLoss,
    Floats,
    Ints,
    Iteration,
    L1Penalty,
    L2Penalty,
    Offsets,
    Penalty,
    Result,
    Solver,
    is_plain,
)
from epigram.resuming import State, here, piece
from epigram.tagging.attributes import AttributeTable, renumbering
from epigram.tagging.corpus import Labels, SeenPairs, Sequences, Sets, encode_labels
from epigram.tagging.encoding import encode_known, encode_sentences
from epigram.tagging.layout import SegmentTypes, WeightLayout, lay_out
from epigram.tagging.loss import ChainLoss, put_dense_first
from epigram.tagging.model import ChainModel
from epigram.tagging.partial_labels import seen_in_part
from epigram.tagging.template import Template

Decoder = Callable[[ChainModel, Sequences], Ints]
Listener = Callable[[dict[str, Any]], bool | None]
Scorer = Callable[[Floats], float]
SETTLED = 1e-3  # where an elastic net by default stops: ten iterations lowered the objective by less than this share
SOLVERS = {
    "sgd": "SGD",
    "adagrad": "AdaGrad",
    "projected": "ProjectedSGD",
    "owlqn": "OWLQN",
    "lbfgs": "LBFGS",
    "fista": "FISTA",
}
TOKENS_KEPT = 400_000
PARTS_KEPT = 64  # then they become one


class Shape(NamedTuple):
    """Which weights a model may have; see :func:`epigram.tagging.layout.lay_out`."""

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
    sets : numbers of the sets of labels that negative label ids stand for; see :mod:`epigram.tagging.partial_labels`.
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
        """How good weights are on other sentences: F1 where labels are chunk labels, else accuracy."""
        from epigram.tagging.metrics import are_chunk_labels, evaluate_ids

        decode = decode or ChainModel.decode
        sequences = encode_known(X, self.template, self.table, self.longest)
        if not sequences.n_tokens:
            raise InputError("the held-out set has no tokens")
        names, ids = encode_labels(y, sequences)
        known = self.classes.tolist()
        everyone = [*known, *(name for name in names.tolist() if name not in set(known))]
        gold = np.array([everyone.index(name) for name in names.tolist()], dtype=np.int32)[ids]
        chunked = are_chunk_labels(everyone)

        def score(w: Floats) -> float:
            padded_w = layout.spread(w)
            model = ChainModel(tuple(known), None, self.table, layout, padded_w, self.ends)
            report = evaluate_ids(gold, decode(model, sequences), everyone, sequences.word_ptr)
            return report.overall.f1 if chunked else report.accuracy

        return score


@dataclass(slots=True)
class Trained:
    """The end of a training run, and what learning on from it needs; vectors have a number per feature."""

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
class Problem:
    """The loss of labelled sentences, and what its weights mean.

    Examples
    --------
    >>> from epigram import OWLQN, CRFTagger
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
    def of(cls, samples: Samples, threads: int = 1) -> Problem:
        """Lay out the weights of these samples, and order them as C likes it; ``threads`` are the loss's."""
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
            layout = replace(layout, types=SegmentTypes.of(samples.classes.tolist(), samples.longest))
        put_dense_first(sequences, layout)
        loss = ChainLoss(sequences, labels, layout, samples.weights, threads, samples.sets)
        return cls(samples, seen, loss)

    @property
    def layout(self) -> WeightLayout:
        """Where the weights are."""
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
        """How good weights are on other sentences: F1 where labels are chunk labels, else accuracy."""
        return self.samples.scorer(self.layout, X, y, decode)

    def log_likelihood(self, X: Any, y: Labels) -> Scorer:
        """Mean log p(labels | sentence) of other sentences, those with labels that training has not left out."""
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
    """What a training needs of a loss beside what its solver needs."""

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
    sums = loss.summed_gradients(result.w)
    memory = Memory()
    memory.add(Remembered(samples.sequences, samples.labels, samples.weights))
    none = Sequences.of([0], [0], [])  # who learns on needs the names, not all of the text
    kept = replace(samples, sequences=none, labels=np.empty(0, dtype=np.int32), weights=None)
    return Trained(result, watch.history, kept, seen, layout, *sums, loss.n_samples, memory)


def penalty_of(given: Penalty | None, l1: float, l2: float) -> Penalty:
    """The penalty given, or that of the strengths."""
    if given is not None:
        if not isinstance(given, Penalty):
            raise ValueError(f"penalty must be None or an object such as L1(1.0), not {given!r}.")
        return given
    if l2 and l1:
        return ElasticNet(l1, l2)
    return L2(l2) if l2 else L1(l1)


def solver_of(
    given: str | Solver | None, penalty: Penalty, random_state: int | None, threads: int = 1
) -> Solver:
    """The solver given, or of that name, or the usual one of a penalty.

    Examples
    --------
    >>> solver_of(None, L1(1.0), 0), solver_of(None, ElasticNet(1.0, 1.0), 0), solver_of("adagrad", L1(1.0), 0)
    (SGD(), OWLQN(settled=0.001), AdaGrad())
    """
    usual = given is None
    if given is None:
        given = _usual_solver(penalty)
    if not isinstance(given, str):
        if not hasattr(given, "solve"):
            raise ValueError(f"solver must be a name or have a method solve; {given!r} has not.")
        return given
    if given not in SOLVERS:
        raise ValueError(f"solver must be one of {', '.join(SOLVERS)}, or an object, not {given!r}.")
    from epigram import solvers

    solver: Solver = getattr(solvers, SOLVERS[given])()
    if hasattr(solver, "random_state"):
        solver.random_state = random_state
    if usual and given == "owlqn":
        solver = solvers.OWLQN(settled=SETTLED)
    if hasattr(solver, "threads"):
        solver.threads = threads
    return solver


def _usual_solver(penalty: Penalty) -> str:
    """SGD for a pure l1 penalty, a quasi-Newton method for l2, projections for a ball; FISTA takes all others."""
    if hasattr(penalty, "radius"):
        return "projected" if is_plain(penalty) else "fista"
    if not is_plain(penalty) or not isinstance(penalty, L1Penalty | L2Penalty):
        return "fista"
    if getattr(penalty, "l2", 0.0):
        return "owlqn" if getattr(penalty, "l1", 0.0) else "lbfgs"
    return "sgd"


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
        """Let a solver work under this watch; where it goes on from an earlier run, so does the watch."""
        with piece("training", self._state) as kept:
            if saved := kept.state:
                self.history, self._best = saved["history"], tuple(saved["best"])
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


class Remembered(NamedTuple):
    """Encoded sentences, the label of every token, and a weight per sentence; None for ones."""

    sequences: Sequences
    labels: Ints
    weights: Floats | None

    def take(self, sentences: Offsets) -> Remembered:
        """The named sentences."""
        _, tokens = gather(self.sequences.sentence_ptr, sentences)
        weights = None if self.weights is None else self.weights[sentences]
        return Remembered(self.sequences.take(sentences), self.labels[tokens], weights)


def joined(parts: list[Remembered]) -> Remembered:
    """All parts, one after the other."""
    weights = None
    if any(part.weights is not None for part in parts):
        ones = (
            np.ones(part.sequences.n_sentences) if part.weights is None else part.weights for part in parts
        )
        weights = np.concatenate(list(ones))
    sequences = Sequences.joined([part.sequences for part in parts])
    return Remembered(sequences, np.concatenate([part.labels for part in parts]), weights)


class Memory:
    """A sample of all sentences so far, each as likely to be in it as any other, of bounded size.

    A stream that is passed over once ends behind training on all of it at once: its first sentences were met by
    weights that knew nothing. Meeting a few old sentences again with every new one makes up for that at a cost that
    does not grow with the stream.
    """

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)
        self.parts: list[Remembered] = []
        self.share = 1.0

    def add(self, new: Remembered) -> None:
        """Remember sentences; where there are too many, forget half of all, whichever they are."""
        if self.share < 1.0:
            new = new.take(np.flatnonzero(self.rng.random(new.sequences.n_sentences) < self.share))
        self.parts.append(new)
        while sum(part.sequences.n_tokens for part in self.parts) > TOKENS_KEPT:
            everything = joined(self.parts)
            kept = np.flatnonzero(self.rng.random(everything.sequences.n_sentences) < 0.5)
            self.parts, self.share = [everything.take(kept)], self.share / 2.0
        if len(self.parts) > PARTS_KEPT:
            self.parts = [joined(self.parts)]

    def draw(self, count: int, past: int) -> list[Remembered]:
        """As many sentences as chance would have among ``count`` of all ``past`` ones, none of them twice.

        Those that were learnt elsewhere, before a model was stored, are not drawn, nor are others in their place.
        """
        ends = np.cumsum([0, *(part.sequences.n_sentences for part in self.parts)], dtype=np.int64)
        known = float(ends[-1]) / self.share
        count = round(count * min(known / past, 1.0)) if past else 0
        if not count or not ends[-1]:
            return []
        drawn = np.unique(self.rng.integers(0, ends[-1], count))
        bounds = np.searchsorted(drawn, ends)
        return [
            part.take(drawn[low:high] - start)
            for part, low, high, start in zip(self.parts, bounds[:-1], bounds[1:], ends[:-1], strict=True)
            if high > low
        ]
