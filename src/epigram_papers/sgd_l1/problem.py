"""A task made ready for the solvers: the loss of its training sentences, and scores of weights elsewhere.

The same steps as ``CRFTagger.fit``, taken apart so that several solvers, starts and strengths share one encoding.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from epigram.protocols import Floats, Iteration
from epigram.tagging.attributes import AttributeTable
from epigram.tagging.estimator import dev_scorer, encode_labels, has_transitions
from epigram.tagging.layout import SeenPairs, WeightLayout, lay_out
from epigram.tagging.loss import ChainLoss
from epigram.tagging.model import encode_sentences
from epigram.tagging.template import Template
from epigram.tagging.training import renumber
from epigram_papers.sgd_l1.tasks import Part


@dataclass(frozen=True, slots=True)
class Problem:
    """What is minimised, and what its weights mean."""

    template: Template
    table: AttributeTable
    classes: Any
    layout: WeightLayout
    loss: ChainLoss

    @classmethod
    def of(cls, part: Part, template: Template) -> Problem:
        """Encode the sentences; weights are for features seen in them."""
        table = AttributeTable()
        sequences = encode_sentences(part.columns, template, table, grow=True)
        classes, labels = encode_labels(part.labels, sequences)
        sequences = renumber(sequences, table, 1)
        seen = SeenPairs.of(sequences, labels, len(classes), len(table))
        layout = lay_out(seen, "seen", has_transitions(template), None, template.transitions)
        return cls(template, table, classes, layout, ChainLoss(sequences, labels, layout))

    def scorer(self, part: Part) -> Callable[[Floats], float]:
        """Chunk F1 where labels are chunks, else accuracy, in per cent."""
        score = dev_scorer(
            (part.columns, part.labels),
            self.template,
            self.table,
            self.classes,
            lambda model, sequences: model.decode(sequences),
        )
        return lambda w: 100.0 * score(self.layout, self.layout.spread(w))

    def log_likelihood(self, part: Part) -> Callable[[Floats], float]:
        """Mean log p(labels | sentence) of the sentences whose labels all occur in training."""
        sequences = encode_sentences(part.columns, self.template, self.table, grow=False)
        names, ids = encode_labels(part.labels, sequences)
        number = {name: k for k, name in enumerate(self.classes.tolist())}
        known = np.array([number.get(name, -1) for name in names.tolist()], dtype=np.int32)[ids]
        strange = np.add.reduceat(known < 0, sequences.sentence_ptr[:-1]) > 0
        kept = np.flatnonzero(~strange)
        loss = ChainLoss(sequences.take(kept), known[np.repeat(~strange, sequences.lengths)], self.layout)
        return lambda w: -loss.value_and_gradient(w, np.empty_like(w)) / len(kept)


class Counted:
    """A batch loss that counts how often it is asked: passes over the data."""

    def __init__(self, loss: ChainLoss) -> None:
        self.loss, self.passes = loss, 0
        self.n_weights, self.n_samples = loss.n_weights, loss.n_samples

    def value_and_gradient(self, w: Floats, out: Floats) -> float:
        """As the loss itself."""
        self.passes += 1
        return self.loss.value_and_gradient(w, out)


class Watch:
    """A solver's callback: the curve of a run, and its CPU seconds without those of looking at it.

    ``exact`` gives the objective at the weights of some passes, None at others: what SGD itself tells is summed up
    along the pass, while the weights move. Without it the solver's own objective is taken.
    """

    def __init__(
        self,
        exact: Callable[[int, Floats], float | None] | None = None,
        passes: Callable[[], int] | None = None,
        stop: Callable[[list[float]], bool] = lambda objectives: False,
    ) -> None:
        self._exact, self._passes, self._stop = exact, passes, stop
        self.curve: dict[str, list[Any]] = {"passes": [], "objective": [], "active": [], "seconds": []}
        self._looking = 0.0
        self._began = time.process_time()

    @property
    def seconds(self) -> float:
        """CPU seconds spent training so far."""
        return time.process_time() - self._began - self._looking

    def __call__(self, iteration: Iteration) -> bool:
        seconds, began = self.seconds, time.process_time()
        objective: float | None = iteration.objective
        if self._exact is not None:
            objective = self._exact(iteration.number, iteration.w)
        number = iteration.number if self._passes is None else self._passes()
        for name, value in zip(
            self.curve, (number, objective, iteration.nonzero, round(seconds, 3)), strict=True
        ):
            self.curve[name].append(value)
        self._looking += time.process_time() - began
        return self._stop(self.curve["objective"])
