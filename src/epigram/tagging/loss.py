"""The loss of linear-chain CRFs and maxent models (chains of length 1): minus the conditional log-likelihood.

Tsuruoka et al. 2009, section 2; value and exact gradient over all sentences in one call, on several threads, and
SGD passes for the solver of their section 3.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from epigram.penalties.ball import project_l1
from epigram.protocols import Floats, Ints
from epigram.tagging.layout import WeightLayout, aligned
from epigram.tagging.sequences import Sequences


class ChainLoss:
    """Sum over sentences of weight * -log p(labels | sentence), as a function of the model's features.

    Parameters
    ----------
    sequences, labels : encoded sentences and the label id of every token.
    layout : where the weights are.
    weights : one per sentence; ones by default.
    threads : sentences are shared out among so many threads. Same count, same bits.

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
    ) -> None:
        self.n_weights = layout.n_features
        self.n_samples = sequences.n_sentences
        self.layout = layout
        if not _is_dense_first(sequences, layout):
            sequences = replace(
                sequences, attributes=sequences.attributes.copy(), values=sequences.values.copy()
            )
            put_dense_first(sequences, layout)
        self.sequences = sequences
        self.labels = np.ascontiguousarray(labels, dtype=np.int32)
        self.weights = np.ones(self.n_samples) if weights is None else np.asarray(weights, dtype=np.float64)
        self.threads = threads
        self._shards = _shards(sequences, threads)
        self._scratches = [scratch(sequences, layout) for _ in self._shards]
        self._chains = direct_chains(sequences, layout)
        self._sgd: tuple[Any, Any, Floats] | None = None
        self._margin: Any = None
        self._dual: tuple[int, Any] | None = None

    def value_and_gradient(self, w: Floats, out: Floats) -> float:
        """Sum of sample losses at ``w``; gradient to ``out``."""
        from epigram.tagging.kernels import batch_gradient

        w = self.layout.spread(w)
        parts = [aligned(w.size) for _ in self._shards]

        def run(k: int) -> float:
            return float(
                batch_gradient(
                    self._chains,
                    self.layout.arrays,
                    self._shards[k],
                    self.labels,
                    self.weights,
                    w,
                    self._scratches[k],
                    parts[k],
                )
            )

        with ThreadPoolExecutor(len(self._shards)) as pool:
            losses = list(pool.map(run, range(len(self._shards))))
        out[:] = self.layout.gather(parts[0])
        for part in parts[1:]:
            out += self.layout.gather(part)
        return sum(losses)

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
        if method == "cumulative":
            return self._cumulative_pass(order, rates, penalties, batch_size, w, q)
        chains, step, g = self._sgd_memory(batch_size)
        taken = np.full(self.layout.n_weights if batch_size > 1 else 0, -1, dtype=np.int64)
        all_w, all_q = self.layout.spread(w), self.layout.spread(q)
        loss = float(
            _passes()[method](
                chains,
                self.layout.arrays,
                order,
                self.labels,
                self.weights,
                rates,
                penalties,
                batch_size,
                all_w,
                all_q,
                self._scratches[0],
                step,
                taken,
                g,
            )
        )
        w[:], q[:] = self.layout.gather(all_w), self.layout.gather(all_q)
        return loss

    def _cumulative_pass(
        self, order: Ints, rates: Floats, penalties: Floats, batch_size: int, w: Floats, q: Floats
    ) -> float:
        from epigram.tagging.sgd_kernels import fresh_dual, pass_cumulative, pass_struct

        if self._dual is None or self._dual[0] != batch_size:
            self._dual = batch_size, fresh_dual(self.sequences, self._chains, self.layout.arrays, batch_size)
        plan = pass_struct(order, self.labels, self.weights, rates, penalties, batch_size)
        arrays, x = self.layout.arrays, self._scratches[0]
        return pass_cumulative(self._chains, arrays, plan, w, q, self._dual[1], x)

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
        from epigram.tagging.adaptive_kernels import pass_adaptive

        chains, step, g = self._sgd_memory(batch_size)
        taken = np.full(self.layout.n_weights if batch_size > 1 else 0, -1, dtype=np.int64)
        spread = [self.layout.spread(one) for one in (w, z, h, r)]
        for divisor in spread[2:]:
            divisor[self.layout.free == 0] = 1.0
        loss = float(
            pass_adaptive(
                chains,
                self.layout.arrays,
                order,
                self.labels,
                self.weights,
                rates,
                penalties,
                batch_size,
                *spread,
                self._scratches[0],
                step,
                taken,
                g,
            )
        )
        for one, all_of_it in zip((w, z, h, r), spread, strict=True):
            one[:] = self.layout.gather(all_of_it)
        return loss

    def projected_pass(
        self, order: Ints, rates: Floats, radius: float, every: int, batch_size: int, w: Floats
    ) -> float:
        """One pass of projected SGD; see :class:`epigram.solvers.projected.ProjectedLoss`."""
        from epigram.tagging.projected_kernels import fresh_ball, pass_projected

        if every >= len(rates):  # plain SGD between two projections
            project_l1(w, radius, w)
            none = np.zeros(len(rates) + 1)
            met = self.sgd_pass("cumulative", order, rates, none, batch_size, w, np.zeros_like(w))
            project_l1(w, radius, w)
            return met
        chains, step, g = self._sgd_memory(batch_size)
        taken = np.full(self.layout.n_weights if batch_size > 1 else 0, -1, dtype=np.int64)
        all_w = self.layout.spread(w)
        loss = float(
            pass_projected(
                chains,
                self.layout.arrays,
                order,
                self.labels,
                self.weights,
                rates,
                batch_size,
                radius,
                every,
                all_w,
                fresh_ball(all_w.size),
                self._scratches[0],
                step,
                taken,
                g,
            )
        )
        w[:] = self.layout.gather(all_w)
        return loss

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
        from epigram.tagging.margin_kernels import MarginMemory, pass_margin

        if self._margin is None:
            self._margin = MarginMemory(self._chains, self.labels, self.weights, self.layout.n_weights)
        all_w, all_other = self.layout.spread(w), self.layout.spread(other)
        plan, arrays = self._margin.plan(order), self.layout.arrays
        met = pass_margin(method, self._chains, arrays, plan, settings, all_w, all_other, self._scratches[0])
        w[:], other[:] = self.layout.gather(all_w), self.layout.gather(all_other)
        return met

    def decayed_pass(self, order: Ints, strength: float, first: float, w: Floats) -> float:
        """One pass of SGD with an l2 penalty; see :class:`epigram.solvers.decayed.DecayedLoss`."""
        from epigram.tagging.margin_kernels import pass_decayed

        all_w, arrays, x = self.layout.spread(w), self.layout.arrays, self._scratches[0]
        met = pass_decayed(self._chains, arrays, order, self.labels, self.weights, strength, first, all_w, x)
        w[:] = self.layout.gather(all_w)
        return met

    def online_pass(self, order: Ints, rule: Any, w: Floats, z: Floats, n: Floats) -> float:
        """One step of FTRL-Proximal a sentence of ``order``; see :mod:`epigram.tagging.online`."""
        from epigram.tagging.online_kernels import pass_online

        chains, step, g = self._sgd_memory(1)
        all_w, all_z, all_n = (self.layout.spread(vector) for vector in (w, z, n))
        met = pass_online(
            chains,
            self.layout.arrays,
            order,
            self.labels,
            self.weights,
            rule,
            all_w,
            all_z,
            all_n,
            self._scratches[0],
            step,
            g,
        )
        w[:], z[:], n[:] = (self.layout.gather(vector) for vector in (all_w, all_z, all_n))
        return met

    def summed_gradients(self, w: Floats) -> tuple[Floats, Floats]:
        """Of each weight, the sums over sentences of its gradient at ``w`` and of the square of that."""
        from epigram.tagging.online_kernels import sum_gradients

        chains, step, g = self._sgd_memory(1)
        everyone = np.arange(self.n_samples, dtype=np.int32)
        sums, squares = (aligned(self.layout.n_weights) for _ in range(2))
        sum_gradients(
            chains,
            self.layout.arrays,
            everyone,
            self.labels,
            self.weights,
            self.layout.spread(w),
            self._scratches[0],
            step,
            g,
            sums,
            squares,
        )
        return self.layout.gather(sums), self.layout.gather(squares)

    def _sgd_memory(self, batch_size: int) -> tuple[Any, Any, Floats]:
        """Sentences with their distinct rows, and room for the gradient of the largest step."""
        self._dual = None  # whoever asks for distinct rows is done with cumulative passes, or makes it anew
        from epigram.tagging.layout_kernels import measure_sentences
        from epigram.tagging.sgd_kernels import Step

        chains = self._sgd[0] if self._sgd else distinct_chains(self.sequences, self.layout)
        a = self.layout.arrays
        n_edges = self.layout.n_weights - a.state_end
        per_sentence = np.empty(self.n_samples, dtype=np.int64)
        measure_sentences(chains.rows_ptr, chains.rows, a.codes, a.width, a.dense_end, per_sentence)
        largest = int(np.sort(per_sentence)[-batch_size:].sum()) if self.n_samples else 0
        n_rows = int(np.sort(np.diff(chains.rows_ptr))[-batch_size:].sum()) if self.n_samples else 0
        if self._sgd is None or len(self._sgd[2]) < largest + n_edges:
            step = Step(*(np.empty(n_rows, dtype=np.int64) for _ in range(3)))
            self._sgd = (chains, step, aligned(largest + n_edges))
        return self._sgd


def _passes() -> dict[str, Callable[..., float]]:
    from epigram.tagging import sgd_kernels as k

    return {
        "naive": k.pass_naive,
        "clipping": k.pass_clipping,
        "lazy": k.pass_lazy,
    }


def _is_dense_first(sequences: Sequences, layout: WeightLayout) -> bool:
    """Whether no occurrence with a dense row follows another one of the same token."""
    is_dense = layout.row_of[sequences.attributes] < layout.arrays.dense_end
    late = np.flatnonzero(is_dense[1:] & ~is_dense[:-1]) + 1
    token_of_late = np.searchsorted(sequences.attribute_ptr, late, side="right") - 1
    return bool(np.array_equal(sequences.attribute_ptr[token_of_late], late))


def put_dense_first(sequences: Sequences, layout: WeightLayout) -> None:
    """Put occurrences with dense rows before the others in each token, in place; SGD needs it, and it is faster.

    For who made the sequences and can change them; it saves :class:`ChainLoss` a copy.
    """
    from epigram.tagging.layout_kernels import dense_first

    dense_first(
        sequences.attribute_ptr,
        layout.row_of,
        layout.arrays.dense_end,
        sequences.attributes,
        sequences.values,
    )


def _shards(sequences: Sequences, threads: int) -> list[Ints]:
    """Runs of sentences with about the same number of tokens each."""
    bounds = np.searchsorted(sequences.sentence_ptr, np.linspace(0, sequences.n_tokens, threads + 1)[1:-1])
    runs = np.split(np.arange(sequences.n_sentences, dtype=np.int32), bounds)
    return [run for run in runs if len(run)] or [np.empty(0, dtype=np.int32)]


def scratch(sequences: Sequences, layout: WeightLayout) -> Any:
    """Working memory of forward-backward for the longest sentence, and one matrix per step with edges."""
    from epigram.tagging.kernels import Scratch

    n = int(sequences.lengths.max(initial=1))
    L, width = layout.n_labels, layout.arrays.width
    has_edges = np.diff(sequences.edge_ptr) > 0
    per_sentence = np.diff(np.concatenate([[0], np.cumsum(has_edges)])[sequences.sentence_ptr])
    k = 1 + int(per_sentence.max(initial=0))
    return Scratch(
        aligned(n * width),
        aligned(n * width),
        aligned(n * width),
        np.empty(n),
        aligned(k * L * width),
        aligned(k * width * width),
        aligned(k * L * width),
        np.zeros(n, dtype=np.int32),
    )


def direct_chains(sequences: Sequences, layout: WeightLayout) -> Any:
    """Sentences as kernels take them, rows found through the attribute."""
    from epigram.tagging.kernels import Chains

    return Chains(
        sequences.sentence_ptr,
        sequences.attribute_ptr,
        np.zeros(sequences.n_sentences + 1, dtype=np.int64),
        np.zeros(0, dtype=np.int32),
        layout.row_of,
        sequences.attributes,
        sequences.values,
        int(len(sequences.values) == len(sequences.attributes)),
        sequences.edge_ptr,
        sequences.edge_attributes,
    )


def distinct_chains(sequences: Sequences, layout: WeightLayout) -> Any:
    """Sentences as SGD takes them: each with the list of its distinct rows."""
    from epigram.tagging.layout_kernels import distinct_rows

    n = len(sequences.attributes)
    rows_ptr = np.empty(sequences.n_sentences + 1, dtype=np.int64)
    n_shared = np.empty(sequences.n_sentences, dtype=np.int32)
    rows, local = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    memory = [np.zeros(len(layout.row_of), dtype=np.int32) for _ in range(2)]
    n_rows = distinct_rows(
        sequences.sentence_ptr,
        sequences.attribute_ptr,
        sequences.attributes,
        layout.row_of,
        *memory,
        rows_ptr,
        n_shared,
        rows,
        local,
    )
    return direct_chains(sequences, layout)._replace(
        rows_ptr=rows_ptr, n_shared=n_shared, rows=rows[:n_rows].copy(), local=local
    )
