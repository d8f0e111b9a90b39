"""Negative log-likelihood of chain models: batch gradient and stochastic passes.

Tsuruoka et al. 2009, section 2: value and exact gradient over all sentences in one call, on several threads; passes of
the stochastic solvers (their section 3, and others), whose steps are taken in C: ``_core/chain_*.h`` has the equations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from epigram._core import bindings
from epigram._core.threads import Parts, Team
from epigram.chain.labels import Sets
from epigram.chain.layout import (
    WeightLayout,
    aligned,
)
from epigram.chain.partial_labels import set_rows, with_rows
from epigram.features.sequences import Sequences
from epigram.protocols import Floats, Ints, Offsets, Steps

PREFETCHED = 20  # room for it behind the occurrences
BLOCK = 1 << 16  # tokens looked at in one go

SGD_METHODS = {
    "naive": bindings.chain_sgd_naive,
    "clipping": bindings.chain_sgd_clipping,
    "lazy": bindings.chain_sgd_lazy,
}
MARGIN_METHODS: dict[str, Callable[..., float]] = {
    "perceptron": bindings.chain_margin_perceptron,
    "passive": bindings.chain_margin_passive,
    "arow": bindings.chain_margin_arow,
}


class StreamRule(NamedTuple):
    """Learning rate alpha / (beta + sqrt(n)) and penalty l1 |w| + l2 w^2 of online learning."""

    alpha: float
    beta: float
    l1: float
    l2: float


class ChainLoss:
    """Sum over sentences of weight * -log p(labels | sentence).

    Parameters
    ----------
    sequences, labels : encoded sentences and the label id of every token.
    layout : where the weights are.
    weights : one per sentence; ones by default.
    threads : sentences are shared out among so many threads. Same count, same bits.
    sets : numbers of the sets of labels that negative label ids stand for (:mod:`epigram.chain.partial_labels`).

    What it is given stays as it is and may be read-only (mapped files). Occurrences that do not stand in the order
    of :func:`put_dense_first` are copied in that order.
    """

    def __init__(
        self,
        sequences: Sequences,
        labels: Ints,
        layout: WeightLayout,
        weights: Floats | None = None,
        threads: int = 1,
        sets: Sets | None = None,
    ) -> None:
        self.n_weights = layout.n_features
        self.n_samples = sequences.n_sentences
        self.layout = layout
        self._sets = None
        if sets and np.min(labels, initial=0) < 0:
            if layout.types is not None or len(layout.triples) or len(sequences.parents):
                raise ValueError("labels that are known in part are for chains of first order: order=1.")
            self._sets = set_rows(sets, layout.n_labels)
            sequences = with_rows(sequences, layout.row_of, layout.edge_row_ptr)
        if not _is_dense_first(sequences, layout):
            copies = sequences.attributes.copy(), sequences.values.copy()
            sequences = replace(sequences, attributes=copies[0], values=copies[1])
            put_dense_first(sequences, layout)
        self.sequences = sequences
        self.labels = np.ascontiguousarray(labels, dtype=np.int32)
        self.weights = np.ones(self.n_samples) if weights is None else np.asarray(weights, dtype=np.float64)
        self.threads = threads
        self._shards = self.sequences.shards(threads)
        self._scratches = [layout.scratch(self.sequences, self._sets is not None) for _ in self._shards]
        self._layout, self._chains = layout.struct(), layout.chains(self.sequences, None, self._sets)
        self._steps: tuple[int, Any, Any] | None = None
        self._margin: tuple[Any, ...] | None = None
        self._dual: tuple[int, Any] | None = None
        self._room: list[Floats] | None = None

    def value_and_gradient(self, w: Floats, out: Floats) -> float:
        """Sum of sample losses at ``w``; gradient to ``out``."""
        if self._room is None:  # kept, because pages and threads that are new are dear
            self._room = [aligned(self.layout.n_weights) for _ in (None, *self._shards)]
            self._parts = Parts(self.n_weights, len(self._shards))
        padded_w, *sums = self._room
        self.layout.spread(w, self._parts, padded_w)
        value = self._add_up(padded_w, sums)
        self.layout.gather_sum(sums, out, self._parts)
        return value

    def _add_up(self, padded_w: Floats, sums: list[Floats]) -> float:
        """The loss; the gradient of each thread's sentences to its vector of ``sums``."""

        def run(k: int) -> float:
            sums[k].fill(0.0)
            return bindings.chain_batch_gradient(
                self._chains,
                self._layout,
                self._shards[k],
                self.labels,
                self.weights,
                padded_w,
                self._scratches[k],
                sums[k],
            )

        return sum(self._parts.run(run, range(len(self._shards))))

    def sgd_pass(self, method: str, steps: Steps, w: Floats, q: Floats) -> float:
        """Run one pass of SGD (:class:`StochasticLoss`)."""
        if method != "cumulative":
            return self._pass(SGD_METHODS[method], steps, (w, q))
        plan = self._plan(steps)
        if self._dual is None or self._dual[0] != steps.batch_size:
            self._dual = steps.batch_size, self._dual_memory(steps.batch_size)
        met: float = bindings.chain_cumulative_run(
            self._chains, self._layout, plan, w, q, self._dual[1], self._scratches[0]
        )
        return met

    def adaptive_pass(self, steps: Steps, w: Floats, z: Floats, h: Floats, r: Floats) -> float:
        """One pass of AdaGrad; see :class:`epigram.solvers.adagrad.AdaptiveLoss`."""
        return self._pass(bindings.chain_adaptive_run, steps, (w, z), divisors=(h, r))

    def perceptron_pass(self, order: Ints, step: int, w: Floats, sums: Floats) -> float:
        """One pass of the perceptron; see ``compat.crfsuite.margin.MarginLoss``."""
        return self._margin_pass("perceptron", order, (float(step),), w, sums)

    def passive_pass(
        self, order: Ints, step: int, kind: int, c: float, by_errors: bool, w: Floats, sums: Floats
    ) -> float:
        """One pass of a passive-aggressive learner; see ``compat.crfsuite.margin.MarginLoss``."""
        return self._margin_pass("passive", order, (float(step), kind, c, by_errors), w, sums)

    def arow_pass(self, order: Ints, gamma: float, w: Floats, variances: Floats) -> float:
        """One pass of AROW; see ``compat.crfsuite.margin.MarginLoss``."""
        return self._margin_pass("arow", order, (gamma,), w, variances)

    def _margin_pass(
        self, method: str, order: Ints, settings: tuple[Any, ...], w: Floats, other: Floats
    ) -> float:
        """Run a pass of perceptron, passive or arow; ``other``: sums of updates, or variances."""
        if self.layout.types is not None:
            raise TypeError("learners by margins are for chains without segments; use SGD, AdaGrad or OWLQN.")
        if self._sets is not None:
            raise TypeError("learners by margins need every label; use SGD, AdaGrad or OWLQN.")
        if len(self.layout.triples):
            raise TypeError("learners by margins are for order=1; use SGD, AdaGrad or OWLQN.")
        n, s = self.layout.n_weights, self.sequences
        if self._margin is None:  # the labels found, and one difference of features
            first = s.sentence_ptr
            sizes = np.diff(s.attribute_ptr[first]) + np.diff(s.edge_ptr[first]) + np.diff(first)
            touched = np.empty(2 * int(sizes.max(initial=0)) + 1, dtype=np.int64)
            best = np.empty(len(self.labels), dtype=np.int32)
            self._margin = best, np.zeros(n), np.zeros(n, dtype=np.uint8), touched
        plan = bindings.MarginPass(order, self.labels, self.weights, *self._margin)
        padded = [self.layout.spread(vector) for vector in (w, other)]
        run = MARGIN_METHODS[method]
        met = run(self._chains, self._layout, plan, *settings, *padded, self._scratches[0])
        w[:], other[:] = (self.layout.gather(vector) for vector in padded)
        return met

    def decayed_pass(self, order: Ints, strength: float, first: float, w: Floats) -> float:
        """One pass of SGD with an l2 penalty; see ``compat.crfsuite.l2sgd.DecayedLoss``."""
        padded_w = self.layout.spread(w)
        edges = np.empty((2, self.layout.n_weights - self.layout.state_end))
        met: float = bindings.chain_decayed_steps(
            self._chains,
            self._layout,
            order,
            self.labels,
            self.weights,
            strength,
            first,
            padded_w,
            self._scratches[0],
            *edges,
        )
        w[:] = self.layout.gather(padded_w)
        return met

    def online_pass(self, order: Ints, rule: StreamRule, w: Floats, z: Floats, n: Floats) -> float:
        """One step of FTRL-Proximal a sentence of ``order``; see :mod:`epigram.chain.online`."""
        return self._pass(bindings.chain_online_run, _without_rates(order), (w, z, n), settings=rule)

    def summed_gradients(self, w: Floats) -> tuple[Floats, Floats]:
        """Return each weight's sums over sentences of its gradient at ``w`` and of its square."""
        self._dual = self._room = None  # the passes are over
        n = self.layout.n_weights
        everyone = self._plan(_without_rates(np.arange(self.n_samples, dtype=np.int32)))
        sums, squares = aligned(n), aligned(n)
        bindings.chain_online_gradients(
            self._chains,
            self._layout,
            everyone,
            self.layout.spread(w),
            sums,
            squares,
            aligned(n),
            self._scratches[0],
        )
        return self.layout.gather(sums), self.layout.gather(squares)

    def _plan(self, steps: Steps) -> Any:
        """Return the steps of a pass as the C structure."""
        order, rates, penalties, batch_size = steps
        return bindings.Pass(batch_size, order, self.labels, self.weights, rates, penalties)

    def _pass(
        self,
        run: Callable[..., float],
        steps: Steps,
        vectors: Sequence[Floats],
        *,
        divisors: Sequence[Floats] = (),
        settings: Sequence[float] = (),
    ) -> float:
        """Run a pass over sentences with their distinct rows; vectors have a number per feature.

        Where a weight is not part of the model, C sees zeros of the former and ones of the latter.
        """
        chains, step = self._stepping(steps.batch_size)
        padded = [self.layout.spread(vector) for vector in (*vectors, *divisors)]
        for divisor in padded[len(vectors) :]:
            divisor[self.layout.free == 0] = 1.0
        met = run(chains, self._layout, self._plan(steps), *settings, *padded, self._scratches[0], step)
        for vector, changed in zip((*vectors, *divisors), padded, strict=True):
            vector[:] = self.layout.gather(changed)
        return met

    def _stepping(self, batch_size: int) -> tuple[Any, Any]:
        """Return sentences with distinct rows and a buffer for the gradient of the largest step."""
        self._dual = None  # whoever asks for distinct rows is done with cumulative passes, or makes it anew
        if self._steps is None or self._steps[0] != batch_size:
            layout = self.layout
            distinct = DistinctRows.of(self.sequences, layout.row_of)
            sizes = np.empty(self.n_samples, dtype=np.int64)
            bindings.chain_layout_measure_sentences(
                distinct.rows_ptr,
                distinct.rows,
                layout.codes,
                layout.width,
                layout.dense_end,
                sizes,
            )
            n_rows = int(np.sort(np.diff(distinct.rows_ptr))[-batch_size:].sum())
            n_gradient = layout.n_weights - layout.state_end + int(np.sort(sizes)[-batch_size:].sum())
            taken = np.full(layout.n_weights if batch_size > 1 else 0, -1, dtype=np.int64)
            rows, slots, places = np.empty((3, n_rows), dtype=np.int64)
            step = bindings.Step(rows, slots, places, taken, aligned(n_gradient))
            self._steps = batch_size, layout.chains(self.sequences, distinct, self._sets), step
        return self._steps[1:]

    def _dual_memory(self, batch_size: int) -> Any:
        """Return the working memory of cumulative SGD for steps of that many sentences."""
        layout, n = self.layout, len(self.sequences.attributes)
        n_dense, n_words = layout.dense_end // layout.width, -(-layout.width // 64)
        n_entries, n_edges = layout.state_end - layout.dense_end, layout.n_weights - layout.state_end
        n_step_tokens = int(np.sort(self.sequences.lengths)[-batch_size:].sum())
        edge_x, edge_w, edge_g = np.empty((3, n_edges))
        dual = bindings.Dual(
            n_dense,
            layout.width,
            n_words,
            n_step_tokens,
            np.empty(n + PREFETCHED, dtype=np.int32),
            aligned(n_dense * (1 + n_words)),
            aligned(layout.dense_end),
            aligned(4 * n_entries),
            edge_x,
            edge_w,
            edge_g,
            aligned(n_step_tokens * layout.width),
        )
        if not bindings.chain_cumulative_prepare(self._chains, self._layout, dual):
            raise ValueError(
                "occurrences with dense rows must come first in every token; see put_dense_first"
            )
        return dual


def _without_rates(order: Ints) -> Steps:
    """Steps of a pass whose kernel has its own rates and penalties."""
    return Steps(order, np.zeros(len(order)), np.zeros(len(order) + 1))


def _is_dense_first(sequences: Sequences, layout: WeightLayout) -> bool:
    """Whether no occurrence with a dense row follows another one of the same token."""
    ptr = sequences.attribute_ptr
    for first in range(0, sequences.n_tokens, BLOCK):
        begin, end = ptr[[first, min(first + BLOCK, sequences.n_tokens)]].tolist()
        is_dense = layout.row_of[sequences.attributes[begin:end]] < layout.dense_end
        late = np.flatnonzero(is_dense[1:] & ~is_dense[:-1]) + 1 + begin
        token_of_late = np.searchsorted(ptr, late, side="right") - 1
        if not np.array_equal(ptr[token_of_late], late):
            return False
    return True


def put_dense_first(sequences: Sequences, layout: WeightLayout) -> None:
    """Reorder each token's occurrences in place, dense rows first; SGD needs it.

    For who made the sequences and can change them; it saves :class:`ChainLoss` a copy.
    """
    bindings.chain_layout_dense_first(
        sequences.attribute_ptr,
        layout.row_of,
        layout.dense_end,
        sequences.attributes,
        sequences.values,
    )


def run_each(run: Callable[[Any], Any], tasks: Sequence[Any]) -> list[Any]:
    """Call ``run`` on every task in a thread each; C releases the interpreter's lock."""
    with Team(len(tasks)) as team:
        return team.run(run, tasks)


class DistinctRows(NamedTuple):
    """The weight rows that each sentence uses, repeated ones first; see ``chain.h``."""

    rows_ptr: Offsets
    n_shared: Ints
    rows: Ints
    local: Ints

    @classmethod
    def of(cls, sequences: Sequences, row_of: Ints) -> DistinctRows:
        """Found sentence by sentence."""
        n, n_sentences = len(sequences.attributes), sequences.n_sentences
        found = cls(
            np.empty(n_sentences + 1, dtype=np.int64),
            np.empty(n_sentences, dtype=np.int32),
            *np.empty((2, n), dtype=np.int32),
        )
        count, number = np.zeros((2, len(row_of)), dtype=np.int32)
        n_rows = bindings.chain_layout_distinct_rows(
            sequences.sentence_ptr,
            sequences.attribute_ptr,
            sequences.attributes,
            row_of,
            count,
            number,
            *found,
        )
        return found._replace(rows=found.rows[:n_rows].copy())
