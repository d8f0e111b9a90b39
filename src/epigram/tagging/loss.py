"""The loss of linear-chain CRFs and maxent models (chains of length 1): minus the conditional log-likelihood.

Tsuruoka et al. 2009, section 2: value and exact gradient over all sentences in one call, on several threads; passes of
the stochastic solvers (their section 3, and others), whose steps are taken in C: ``_core/chain_*.h`` has the equations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from epigram._core.native import Parts, Team, family
from epigram.penalties.ball import project_l1
from epigram.protocols import Floats, Ints, Offsets
from epigram.tagging.corpus import Sequences, Sets
from epigram.tagging.layout import (
    WeightLayout,
    aligned,
)
from epigram.tagging.partial_labels import set_rows, with_rows

core, rows = family("chain"), family("chain_layout")
sgd, cumulative = family("chain_sgd"), family("chain_cumulative")
PREFETCHED = 20  # room for it behind the occurrences
BLOCK = 1 << 16  # tokens looked at in one go


class StreamRule(NamedTuple):
    """The rate of learning from a stream, alpha / (beta + sqrt(n)), and the penalty l1 |w| + l2 w^2 on all of it."""

    alpha: float
    beta: float
    l1: float
    l2: float


class ChainLoss:
    """Sum over sentences of weight * -log p(labels | sentence), as a function of the model's features.

    Parameters
    ----------
    sequences, labels : encoded sentences and the label id of every token.
    layout : where the weights are.
    weights : one per sentence; ones by default.
    threads : sentences are shared out among so many threads. Same count, same bits.
    sets : numbers of the sets of labels that negative label ids stand for (:mod:`epigram.tagging.partial_labels`).

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
            met: float = core.batch_gradient(
                self._chains,
                self._layout,
                len(self._shards[k]),
                self._shards[k],
                len(self.labels),
                self.labels,
                len(self.weights),
                self.weights,
                padded_w.size,
                padded_w,
                self._scratches[k],
                sums[k],
            )
            return met

        return sum(self._parts.run(run, range(len(self._shards))))

    def sgd_pass(
        self,
        method: str,
        order: Ints,
        rates: Floats,
        penalties: Floats,
        batch_size: int,
        w: Floats,
        q: Floats,
    ) -> float:
        """One pass of SGD over the sentences in ``order``; see :class:`epigram.protocols.StochasticLoss`."""
        plan = self._plan(order, rates, penalties, batch_size)
        if method != "cumulative":
            return self._pass(getattr(sgd, method), plan, batch_size, (w, q))
        if self._dual is None or self._dual[0] != batch_size:
            self._dual = batch_size, self._dual_memory(batch_size)
        met: float = cumulative.run(
            self._chains, self._layout, plan, w.size, w, q, self._dual[1], self._scratches[0]
        )
        return met

    def adaptive_pass(
        self,
        order: Ints,
        rates: Floats,
        penalties: Floats,
        batch_size: int,
        w: Floats,
        z: Floats,
        h: Floats,
        r: Floats,
    ) -> float:
        """One pass of AdaGrad; see :class:`epigram.solvers.adaptive.AdaptiveLoss`."""
        plan = self._plan(order, rates, penalties, batch_size)
        return self._pass(family("chain_adaptive").run, plan, batch_size, (w, z), divisors=(h, r))

    def projected_pass(
        self, order: Ints, rates: Floats, radius: float, every: int, batch_size: int, w: Floats
    ) -> float:
        """One pass of projected SGD; see :class:`epigram.solvers.projected.ProjectedLoss`."""
        none = np.zeros(len(rates) + 1)
        if every >= len(rates):  # plain SGD between two projections
            project_l1(w, radius, w)
            met = self.sgd_pass("cumulative", order, rates, none, batch_size, w, np.zeros_like(w))
            project_l1(w, radius, w)
            return met
        core, n = family("chain_projected"), self.layout.n_weights
        ball = core.BallMemory(n, np.empty(n), np.empty(2 * n), np.empty(2 * n, dtype=np.int32))
        plan = self._plan(order, rates, none, batch_size)
        return self._pass(core.run, plan, batch_size, (w,), settings=(radius, every), memory=(ball,))

    def perceptron_pass(self, order: Ints, step: int, w: Floats, sums: Floats) -> float:
        """One pass of the perceptron; see :class:`epigram.solvers.margin.MarginLoss`."""
        return self._margin_pass("perceptron", order, (float(step),), w, sums)

    def passive_pass(
        self, order: Ints, step: int, kind: int, c: float, by_errors: bool, w: Floats, sums: Floats
    ) -> float:
        """One pass of a passive-aggressive learner; see :class:`epigram.solvers.margin.MarginLoss`."""
        return self._margin_pass("passive", order, (float(step), kind, c, by_errors), w, sums)

    def arow_pass(self, order: Ints, gamma: float, w: Floats, variances: Floats) -> float:
        """One pass of AROW; see :class:`epigram.solvers.margin.MarginLoss`."""
        return self._margin_pass("arow", order, (gamma,), w, variances)

    def _margin_pass(
        self, method: str, order: Ints, settings: tuple[Any, ...], w: Floats, other: Floats
    ) -> float:
        """One pass of ``perceptron``, ``passive`` or ``arow``; ``other`` is the sums of moves, or the variances."""
        if self.layout.types is not None:
            raise TypeError("learners by margins are for chains without segments; use SGD, AdaGrad or OWLQN.")
        if self._sets is not None:
            raise TypeError("learners by margins need every label; use SGD, AdaGrad or OWLQN.")
        if len(self.layout.triples):
            raise TypeError("learners by margins are for order=1; use SGD, AdaGrad or OWLQN.")
        margin, n, s = family("chain_margin"), self.layout.n_weights, self.sequences
        if self._margin is None:  # the labels found, and one difference of features
            first = s.sentence_ptr
            sizes = np.diff(s.attribute_ptr[first]) + np.diff(s.edge_ptr[first]) + np.diff(first)
            touched = np.empty(2 * int(sizes.max(initial=0)) + 1, dtype=np.int64)
            best = np.empty(len(self.labels), dtype=np.int32)
            self._margin = best, np.zeros(n), np.zeros(n, dtype=np.uint8), touched
        sizes_of = len(order), len(self.labels), self.n_samples, n, len(self._margin[-1])
        plan = margin.MarginPass(*sizes_of, order, self.labels, self.weights, *self._margin)
        padded = [self.layout.spread(vector) for vector in (w, other)]
        run = getattr(margin, method)
        met: float = run(self._chains, self._layout, plan, *settings, n, *padded, self._scratches[0])
        w[:], other[:] = (self.layout.gather(vector) for vector in padded)
        return met

    def decayed_pass(self, order: Ints, strength: float, first: float, w: Floats) -> float:
        """One pass of SGD with an l2 penalty; see :class:`epigram.solvers.decayed.DecayedLoss`."""
        padded_w = self.layout.spread(w)
        edges = np.empty((2, self.layout.n_weights - self.layout.state_end))
        met: float = family("chain_decayed").steps(
            self._chains,
            self._layout,
            len(order),
            order,
            len(self.labels),
            self.labels,
            len(self.weights),
            self.weights,
            strength,
            first,
            len(padded_w),
            padded_w,
            self._scratches[0],
            edges.shape[1],
            *edges,
        )
        w[:] = self.layout.gather(padded_w)
        return met

    def online_pass(self, order: Ints, rule: StreamRule, w: Floats, z: Floats, n: Floats) -> float:
        """One step of FTRL-Proximal a sentence of ``order``; see :mod:`epigram.tagging.online`."""
        return self._pass(family("chain_online").run, self._plan(order), 1, (w, z, n), settings=rule)

    def summed_gradients(self, w: Floats) -> tuple[Floats, Floats]:
        """Of each weight, the sums over sentences of its gradient at ``w`` and of the square of that."""
        self._dual = self._room = None  # the passes are over
        n = self.layout.n_weights
        everyone = self._plan(np.arange(self.n_samples, dtype=np.int32))
        vectors = self.layout.spread(w), *(aligned(n) for _ in range(3))
        core = family("chain_online")
        core.gradients(self._chains, self._layout, everyone, n, *vectors, self._scratches[0])
        return self.layout.gather(vectors[1]), self.layout.gather(vectors[2])

    def _plan(
        self,
        order: Ints,
        rates: Floats | None = None,
        penalties: Floats | None = None,
        batch_size: int = 1,
    ) -> Any:
        """The samples, rates and penalties of a pass as C takes them; one sample a step by default, at no rate."""
        rates = np.zeros(len(order)) if rates is None else rates
        return sgd.Pass(
            len(order),
            len(rates),
            batch_size,
            len(self.labels),
            len(self.weights),
            order,
            self.labels,
            self.weights,
            rates,
            np.zeros(len(rates) + 1) if penalties is None else penalties,
        )

    def _pass(
        self,
        run: Callable[..., float],
        plan: Any,
        batch_size: int,
        vectors: Sequence[Floats],
        *,
        divisors: Sequence[Floats] = (),
        settings: Sequence[float] = (),
        memory: Sequence[Any] = (),
    ) -> float:
        """A pass over sentences with their distinct rows; ``vectors`` and ``divisors`` have a number per feature.

        Where a weight is not part of the model, C sees zeros of the former and ones of the latter.
        """
        chains, step = self._stepping(batch_size)
        padded = [self.layout.spread(vector) for vector in (*vectors, *divisors)]
        for divisor in padded[len(vectors) :]:
            divisor[self.layout.free == 0] = 1.0
        n = self.layout.n_weights
        met = run(chains, self._layout, plan, *settings, n, *padded, *memory, self._scratches[0], step)
        for vector, changed in zip((*vectors, *divisors), padded, strict=True):
            vector[:] = self.layout.gather(changed)
        return met

    def _stepping(self, batch_size: int) -> tuple[Any, Any]:
        """Sentences with their distinct rows, and room for the gradient of the largest step of so many."""
        self._dual = None  # whoever asks for distinct rows is done with cumulative passes, or makes it anew
        if self._steps is None or self._steps[0] != batch_size:
            layout = self.layout
            distinct = DistinctRows.of(self.sequences, layout.row_of)
            sizes = np.empty(self.n_samples, dtype=np.int64)
            rows.measure_sentences(
                self.n_samples,
                distinct.rows_ptr,
                len(distinct.rows),
                distinct.rows,
                len(layout.codes),
                layout.codes,
                layout.width,
                layout.dense_end,
                sizes,
            )
            n_rows = int(np.sort(np.diff(distinct.rows_ptr))[-batch_size:].sum())
            n_gradient = layout.n_weights - layout.state_end + int(np.sort(sizes)[-batch_size:].sum())
            taken = np.full(layout.n_weights if batch_size > 1 else 0, -1, dtype=np.int64)
            places = np.empty((3, n_rows), dtype=np.int64)
            step = sgd.Step(n_rows, len(taken), n_gradient, *places, taken, aligned(n_gradient))
            self._steps = batch_size, layout.chains(self.sequences, distinct, self._sets), step
        return self._steps[1:]

    def _dual_memory(self, batch_size: int) -> Any:
        """Memory of cumulative SGD for steps of so many sentences, with the rows of all occurrences filled in."""
        layout, n = self.layout, len(self.sequences.attributes)
        n_dense, n_words = layout.dense_end // layout.width, -(-layout.width // 64)
        n_entries, n_edges = layout.state_end - layout.dense_end, layout.n_weights - layout.state_end
        n_step_tokens = int(np.sort(self.sequences.lengths)[-batch_size:].sum())
        dual = cumulative.Dual(
            n_dense,
            layout.width,
            n_words,
            n_entries,
            n_edges,
            n,
            n_step_tokens,
            np.empty(n + PREFETCHED, dtype=np.int32),
            aligned(n_dense * (1 + n_words)),
            aligned(layout.dense_end),
            aligned(4 * n_entries),
            *np.empty((3, n_edges)),
            aligned(n_step_tokens * layout.width),
        )
        if not cumulative.prepare(self._chains, self._layout, dual):
            raise ValueError(
                "occurrences with dense rows must come first in every token; see put_dense_first"
            )
        return dual


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
    """Put occurrences with dense rows before the others in each token, in place; SGD needs it, and it is faster.

    For who made the sequences and can change them; it saves :class:`ChainLoss` a copy.
    """
    rows.dense_first(
        sequences.n_tokens,
        sequences.attribute_ptr,
        len(layout.row_of),
        layout.row_of,
        layout.dense_end,
        len(sequences.attributes),
        sequences.attributes,
        len(sequences.values),
        sequences.values,
    )


def run_each(run: Callable[[Any], Any], tasks: Sequence[Any]) -> list[Any]:
    """Call ``run`` on every task, each in a thread of its own; C releases the interpreter's lock."""
    with Team(len(tasks)) as team:
        return team.run(run, tasks)


class DistinctRows(NamedTuple):
    """The rows of weights that each sentence uses, those that occur more than once in it first; see ``chain.h``."""

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
        memory = np.zeros((2, len(row_of)), dtype=np.int32)
        n_rows = rows.distinct_rows(
            n_sentences,
            sequences.sentence_ptr,
            sequences.n_tokens,
            sequences.attribute_ptr,
            n,
            sequences.attributes,
            len(row_of),
            row_of,
            *memory,
            *found,
        )
        return found._replace(rows=found.rows[:n_rows].copy())
