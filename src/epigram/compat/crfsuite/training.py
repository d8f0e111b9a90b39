"""Trains with CRFsuite's objectives, defaults and stopping rules.

Attributes of value 0 make a feature with their label, as in CRFsuite: its weight is learnt from tokens with other
values. Differs: sequences are shuffled by a fixed seed; L-BFGS searches its step by halving (as CRFsuite does with an
l1 penalty).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from epigram._core.arrays import dot
from epigram.chain.layout import WeightLayout, lay_out
from epigram.chain.loss import ChainLoss, put_dense_first
from epigram.chain.model import ChainModel
from epigram.chain.seen_pairs import SeenPairs
from epigram.compat.crfsuite.l2sgd import L2SGD
from epigram.compat.crfsuite.log import Event, Say, format_value, write_features, write_scores
from epigram.compat.crfsuite.margin import AROW, AveragedPerceptron, PassiveAggressive
from epigram.features.attributes import AttributeTable, renumbering
from epigram.features.feature_dicts import FeatureReader
from epigram.features.sequences import Sequences
from epigram.penalties.separable import L1, L2, ElasticNet
from epigram.protocols import Callback, Floats, Ints, Iteration, Offsets, Result, Solver
from epigram.solvers.quasi_newton import LBFGS, OWLQN

Params = dict[str, Any]
NEVER = 1e-300  # a tolerance that L-BFGS does not reach: CRFsuite's own rules stop it


class Instances:
    """Sequences with labels, encoded when they are added."""

    def __init__(self) -> None:
        self.table = AttributeTable()
        self._reader = FeatureReader(self.table, grow=True, eager=True, zeros=self._note_zeros)
        self._index: dict[str, int] = {}
        self._labels: list[Ints] = []
        self._groups: list[int] = []
        self._zeros: dict[int, Offsets] = {}

    @property
    def labels(self) -> list[str]:
        """All labels, in the order of their first occurrence."""
        return list(self._index)

    def add(self, xseq: Sequence[Any], yseq: Sequence[str], group: int) -> None:
        """Append a sequence."""
        index, known = self._index, len(self._index)
        self._labels.append(np.array([index.setdefault(y, len(index)) for y in yseq], dtype=np.int32))
        self._groups.append(group)
        try:
            self._reader.add(xseq)
        except BaseException:
            for label in list(index)[known:]:
                del index[label]
            self._labels.pop()
            self._groups.pop()
            raise

    def _note_zeros(self, first: int, n: int, tokens: Offsets, ids: Ints) -> None:
        """Store the pairs of attributes of value 0 and the labels of their tokens, by group."""
        labels = self._labels[first : first + n]
        groups = np.repeat(self._groups[first : first + n], [len(own) for own in labels])[tokens]
        pairs = (ids.astype(np.int64) << 32) + np.concatenate(labels)[tokens]
        for group in np.unique(groups).tolist():
            before = self._zeros.get(group, np.empty(0, dtype=np.int64))
            self._zeros[group] = np.union1d(before, pairs[groups == group])

    def take(self, group: int, within: bool) -> tuple[Sequences, Ints]:
        """Return the sequences of a group, or all others, and their labels."""
        chosen = np.flatnonzero((np.array(self._groups, dtype=np.int64) == group) == within)
        labels = np.concatenate([np.empty(0, dtype=np.int32), *(self._labels[s] for s in chosen.tolist())])
        sequences = self._reader.sequences()
        return sequences if len(chosen) == len(self._groups) else sequences.take(chosen), labels

    def zero_pairs(self, holdout: int) -> tuple[Offsets, Offsets]:
        """Return attributes and labels that occur together with value 0 outside a group."""
        self._reader.sequences()
        found = [pairs for group, pairs in self._zeros.items() if group != holdout]
        pairs = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *found]))
        return pairs >> 32, pairs & 0xFFFFFFFF


def train(
    data: Instances, algorithm: str, params: Params, holdout: int, say: Say, event: Event
) -> tuple[ChainModel, float]:
    """Train a model on all groups but ``holdout``; return the seconds of the optimisation too."""
    if holdout >= 0:
        say(f"Holdout group: {holdout + 1}\n\n")
        event("start", {})
    say("Feature generation\n")
    if holdout < 0:
        event("start", {})
    began = time.process_time()
    sequences, labels = data.take(holdout, within=False)
    counts = np.bincount(sequences.attributes, minlength=len(data.table))
    new_ids = renumbering(counts)
    order = np.argsort(-counts, kind="stable")  # the attribute with each new id
    sequences = sequences.renumber(new_ids)
    seen = _seen(sequences, labels, len(data.labels), len(order), params)
    n_idle = _mark_zeros(seen, *data.zero_pairs(holdout), new_ids, params)
    layout = lay_out(seen)
    write_features(say, event, params, layout.n_features + n_idle, time.process_time() - began)
    sequences = sequences.renumber(_with_weights(layout))
    put_dense_first(sequences, layout)
    loss = ChainLoss(sequences, labels, layout)
    held_out = _held_out(data, holdout, new_ids, layout, say)
    watch = _Watch(say, event, loss, algorithm, params, held_out)
    begun = time.process_time()
    result = _minimise(loss, algorithm, params, watch)
    say(_ending(algorithm, result, watch))
    seconds = time.process_time() - begun
    say(f"Total seconds required for training: {seconds:.3f}\n")
    say("\n")
    return _model(data, order, layout, layout.spread(result.w)), seconds


def _seen(sequences: Sequences, labels: Ints, n_labels: int, n_attributes: int, params: Params) -> SeenPairs:
    """Return the features that get a weight."""
    seen = SeenPairs.of(sequences, labels, n_labels, n_attributes)
    least = params["feature.minfreq"]
    if least > 0.0:
        owners = np.repeat(labels.astype(np.int64), np.diff(sequences.attribute_ptr))
        keys, which = np.unique(sequences.attributes * np.int64(n_labels) + owners, return_inverse=True)
        values = np.broadcast_to(sequences.values, len(sequences.attributes))
        keys = keys[np.bincount(which, weights=values, minlength=len(keys)) >= least]
        seen.bits[:] = 0
        seen.mark(*np.divmod(keys, n_labels))
        inner = np.ones(len(labels), dtype=bool)
        inner[sequences.sentence_ptr[:-1][sequences.lengths > 0]] = False
        after = np.flatnonzero(inner)
        pairs = np.zeros((n_labels, n_labels))
        np.add.at(pairs, (labels[after - 1], labels[after]), 1.0)
        seen.transitions[:] = seen.transitions & (pairs >= least)
        return seen  # pairs that are only possible occur zero times
    if params["feature.possible_states"]:
        met = np.unique(sequences.attributes)
        seen.mark(np.repeat(met, n_labels), np.tile(np.arange(n_labels), len(met)))
    if params["feature.possible_transitions"]:
        seen.transitions[:] = True
    return seen


def _mark_zeros(seen: SeenPairs, attributes: Offsets, labels: Offsets, new_ids: Ints, params: Params) -> int:
    """Give weights to pairs with value 0; return the number of those that have no other value."""
    if params["feature.minfreq"] > 0.0:
        return 0  # zeros add nothing to a frequency
    idle = new_ids[attributes] < 0
    seen.mark(new_ids[attributes[~idle]], labels[~idle])
    if params["feature.possible_states"]:
        return len(np.unique(attributes[idle])) * len(seen.transitions)
    return int(idle.sum())


def _minimise(loss: ChainLoss, algorithm: str, params: Params, watch: Callback) -> Result:
    """Minimise the objective by the algorithm of a name."""
    passes, epsilon = params["max_iterations"], params.get("epsilon", 0.0)
    solver: Solver
    penalty: Any = L1(0.0)
    if algorithm == "lbfgs":
        c1, c2 = params["c1"], params["c2"]
        penalty = ElasticNet(c1, c2) if c1 else L2(c2)
        solver = (OWLQN if c1 else LBFGS)(params["num_memories"], NEVER, passes)
    elif algorithm == "l2sgd":
        penalty = L2(params["c2"])
        solver = L2SGD(passes, params["period"], params["delta"], **_calibration(params))
    elif algorithm == "averaged-perceptron":
        solver = AveragedPerceptron(passes, epsilon)
    elif algorithm == "passive-aggressive":
        kind = params["type"] if params["type"] in (1, 2) else 0
        solver = PassiveAggressive(
            kind, params["c"], params["error_sensitive"], params["averaging"], passes, epsilon
        )
    else:
        solver = AROW(params["variance"], params["gamma"], passes, epsilon)
    return solver.solve(loss, penalty, callback=watch)


def _calibration(params: Params) -> dict[str, Any]:
    names = {"eta0": "eta", "rate": "rate", "candidates": "candidates", "max_trials": "max_trials"}
    found = {ours: params[f"calibration.{theirs}"] for ours, theirs in names.items()}
    return {**found, "samples": int(params["calibration.samples"])}


class _Watch:
    """The solver's callback: writes the log, and stops L-BFGS by CRFsuite's rules."""

    def __init__(
        self,
        say: Say,
        event: Event,
        loss: ChainLoss,
        algorithm: str,
        params: Params,
        held_out: Callable[[Floats], dict[str, Any]] | None,
    ) -> None:
        self.say, self.event, self.held_out = say, event, held_out
        self.algorithm, self.params = algorithm, params
        self.stopped: str | None = None
        tokens = loss.sequences.n_tokens
        self._reached = [tokens * float(np.log(loss.layout.n_labels))]  # the loss at w = 0
        self._n, self._clock = loss.n_samples, time.process_time()
        say(_heading(algorithm, params))

    def __call__(self, iteration: Iteration) -> bool:
        now, say, number = time.process_time(), self.say, iteration.number
        sgd, norm = self.algorithm == "l2sgd", math.sqrt(dot(iteration.w, iteration.w))
        entry: dict[str, Any] = {
            "num": number,
            "scores": {},
            "loss": iteration.objective,
            "feature_norm": norm,
        }
        if number == 1:
            self.event("prepared", {})
        say(f"***** {'Epoch' if sgd else 'Iteration'} #{number} *****\n")
        say(f"Loss: {iteration.objective:f}\n")
        say(f"Feature {'L2-' if sgd else ''}norm: {norm:f}\n")
        if iteration.gradient_norm is not None:
            entry |= {"error_norm": iteration.gradient_norm, "active_features": iteration.nonzero}
            say(f"Error norm: {iteration.gradient_norm:f}\n")
            say(f"Active features: {iteration.nonzero}\n")
        if sgd:
            say(f"Total number of feature updates: {number * self._n}\n")
        entry["time"] = now - self._clock
        say(f"Seconds required for this iteration: {entry['time']:.3f}\n")
        self._clock = now
        if self.held_out is not None:
            entry |= self.held_out(iteration.w)
        say("\n")
        self.event("iteration", entry)
        return self.algorithm == "lbfgs" and self._is_enough(iteration, norm)

    def _is_enough(self, iteration: Iteration, norm: float) -> bool:
        """Whether the gradient is small beside the weights, or the objective no longer falls."""
        period, self._reached = self.params["period"], [*self._reached, iteration.objective]
        assert iteration.gradient_norm is not None
        if iteration.gradient_norm <= self.params["epsilon"] * max(1.0, norm):
            self.stopped = "L-BFGS resulted in convergence\n"
        elif 0 < period <= iteration.number:
            fallen = self._reached[-1 - period] - iteration.objective
            if fallen < self.params["delta"] * iteration.objective:
                self.stopped = "L-BFGS terminated with the stopping criteria\n"
        return self.stopped is not None


def _held_out(
    data: Instances, holdout: int, new_ids: Ints, layout: WeightLayout, say: Say
) -> Callable[[Floats], dict[str, Any]] | None:
    """Return a function that logs scores on the group ``holdout``; None without such a group."""
    if holdout < 0:
        return None
    sequences, gold = data.take(holdout, within=True)
    kept = np.where(new_ids >= 0, _with_weights(layout)[new_ids], -1).astype(np.int32)
    sequences, names = sequences.renumber(kept), data.labels

    def score(w: Floats) -> dict[str, Any]:
        model = ChainModel(tuple(names), None, data.table, layout, layout.spread(w))
        return write_scores(say, names, gold, model.decode(sequences), sequences.sentence_ptr)

    return score


def _with_weights(layout: WeightLayout) -> Ints:
    """Return new ids, -1 for attributes without a weight: all their features are too rare."""
    return np.where(layout.row_of >= 0, np.arange(len(layout.row_of)), -1).astype(np.int32)


def _model(data: Instances, order: Offsets, layout: WeightLayout, w: Floats) -> ChainModel:
    """Make the model of the nonzero weights."""
    weights = layout.weights(w)
    used, compact = np.unique(weights.attributes, return_inverse=True)
    old = order[used]
    table = AttributeTable(data.table.fingerprints[old], data.table.names(old.tolist()))
    return ChainModel.of_weights(
        data.labels, None, table, weights._replace(attributes=compact.astype(np.int32))
    )


def _heading(algorithm: str, params: Params) -> str:
    titles = {
        "lbfgs": "L-BFGS optimization",
        "l2sgd": "Stochastic Gradient Descent (SGD)",
        "averaged-perceptron": "Averaged perceptron",
        "passive-aggressive": "Passive Aggressive",
        "arow": "Adaptive Regularization of Weights (AROW)",
    }
    chosen = (
        f"{name}: {format_value(value)}\n"
        for name, value in params.items()
        if not name.startswith("feature.")
    )
    return titles[algorithm] + "\n" + "".join(chosen) + "\n"


def _ending(algorithm: str, result: Result, watch: _Watch) -> str:
    if algorithm == "lbfgs":
        usual = {
            "limit": "L-BFGS terminated with the maximum number of iterations\n",
            "converged": "L-BFGS resulted in convergence\n",
        }
        return watch.stopped or usual[result.reason]
    if algorithm == "l2sgd":
        why = "the stopping criteria" if result.reason == "converged" else "the maximum number of iterations"
        return f"SGD terminated with {why}\n"
    return "Terminated with the stopping criterion\n\n" if result.reason == "converged" else ""
