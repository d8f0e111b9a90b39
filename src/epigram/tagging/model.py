"""A trained chain model, ready to use: labels, attributes with weight, the weights, and nothing else.

Immutable; every call has its own working memory and the kernels release the GIL, so threads may share one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram._core.native import family
from epigram.errors import InputError
from epigram.protocols import Floats, Ints
from epigram.tagging.attributes import AttributeTable
from epigram.tagging.columns import Columns
from epigram.tagging.encoding import encode, encode_features
from epigram.tagging.layout import SeenPairs, WeightLayout, lay_out, padded
from epigram.tagging.loss import _shards, direct_chains, scratch
from epigram.tagging.sequences import Sequences
from epigram.tagging.template import Template

core = family("decoding")
Allowed = Sequence[Sequence[Iterable[str] | None] | None]


class NoLabelling(InputError):
    """What is allowed and what a model permits leave nothing for a sentence."""


@dataclass(frozen=True, slots=True)
class ChainModel:
    """What decoding needs."""

    labels: tuple[str, ...]
    template: Template | None
    table: AttributeTable = field(repr=False)
    layout: WeightLayout = field(repr=False)
    w: Floats = field(repr=False)
    ends: npt.NDArray[np.bool_] | None = field(default=None, repr=False)
    """2 x L: labels that may stand first, and last, in a sentence; None for all."""
    squares: Floats | None = field(default=None, repr=False)
    """Sum of the squares of each weight's gradients in training, which learning on needs; None if not known."""

    @classmethod
    def compact(
        cls,
        labels: Sequence[str],
        template: Template | None,
        table: AttributeTable,
        layout: WeightLayout,
        w: Floats,
        ends: npt.NDArray[np.bool_] | None = None,
        order: npt.NDArray[np.intp] | None = None,
        squares: Floats | None = None,
    ) -> ChainModel:
        """Keep only the attributes and weights that are not zero; ``order`` puts the labels in another order."""
        states, transitions, edges = layout.states(w), layout.transitions(w), layout.edges(w)
        remembered = None
        if squares is not None:
            among = layout.transitions(squares) * (transitions != 0.0)
            remembered = layout.states(w, squares)[2], among, layout.edges(w, squares)[3]
        allowed = layout.arrays.allowed.reshape(layout.n_labels, -1)[:, : layout.n_labels] > 0
        if order is not None:
            rank = np.argsort(order).astype(np.int32)
            labels = [labels[k] for k in order.tolist()]
            states = (states[0], rank[states[1]], states[2])
            if layout.arrays.has_transitions:
                transitions = transitions[np.ix_(order, order)]
                if remembered is not None:
                    remembered = remembered[0], remembered[1][np.ix_(order, order)], remembered[2]
            edges = (edges[0], rank[edges[1]], rank[edges[2]], edges[3])
            allowed = allowed[np.ix_(order, order)]
            ends = None if ends is None else ends[:, order]
        used = np.zeros(len(table), dtype=bool)
        used[states[0]] = used[edges[0]] = True
        kept = np.flatnonzero(used)
        new_ids = np.full(len(table), -1, dtype=np.int32)
        new_ids[kept] = np.arange(len(kept), dtype=np.int32)
        names = table.names(kept.tolist())
        small = AttributeTable(table.fingerprints[kept], names)
        return cls.of_weights(
            labels,
            template,
            small,
            (new_ids[states[0]], states[1], states[2]),
            transitions,
            (new_ids[edges[0]], *edges[1:]),
            layout.arrays.has_transitions,
            allowed,
            ends,
            remembered,
        )

    @classmethod
    def of_weights(
        cls,
        labels: Sequence[str],
        template: Template | None,
        table: AttributeTable,
        states: tuple[Ints, Ints, Floats],
        transitions: Floats,
        edges: tuple[Ints, Ints, Ints, Floats],
        has_transitions: bool,
        allowed: npt.NDArray[np.bool_],
        ends: npt.NDArray[np.bool_] | None = None,
        squares: tuple[Floats, Floats, Floats] | None = None,
    ) -> ChainModel:
        """A model of these weights; ``squares`` are those of the states, the transitions and the edges."""
        L = len(labels)
        square = transitions if has_transitions else np.zeros((L, L))
        seen = SeenPairs.of_weights(L, len(table), states, square, edges)
        layout = lay_out(seen, "seen", has_transitions, allowed)
        w, learnt = layout.pack(states, square, edges), None
        if squares is not None:
            among = squares[1] if has_transitions else square
            learnt = layout.pack((*states[:2], squares[0]), among, (*edges[:3], squares[2]))
        return cls(tuple(labels), template, table, layout, w, ends, learnt)

    @property
    def allowed_transitions(self) -> npt.NDArray[np.bool_]:
        """L x L: which label may follow which."""
        L = len(self.labels)
        square: npt.NDArray[np.bool_] = self.layout.arrays.allowed.reshape(L, -1)[:, :L] > 0
        return square

    def encode(self, X: Any) -> Sequences:
        """Sentences as :class:`Sequences`: columns where the model has a template, features where not."""
        return encode_sentences(X, self.template, self.table, grow=False)

    def decode(self, sequences: Sequences, allowed: Allowed | None = None, threads: int = 1) -> Ints:
        """Best label id of every token."""
        from epigram.tagging.kernels import chains_struct, layout_struct, scratch_struct

        mask = self.mask(sequences, allowed)
        chains = chains_struct(direct_chains(sequences, self.layout))
        layout = layout_struct(self.layout.arrays)
        out = np.empty(sequences.n_tokens, dtype=np.int32)

        def run(shard: Ints) -> None:
            core.viterbi(
                chains,
                layout,
                len(shard),
                shard,
                len(self.w),
                self.w,
                len(mask),
                mask,
                scratch_struct(self.layout.arrays, scratch(sequences, self.layout)),
                len(out),
                out,
            )

        run_each(run, _shards(sequences, threads))
        self._check_possible(sequences, mask, out)
        return out

    def marginals(
        self, sequences: Sequences, allowed: Allowed | None = None, with_edges: bool = False
    ) -> tuple[Floats, Floats, Floats]:
        """p(label) of every token (n x L), p(label pair) into every token (n x L x L), log Z per sentence."""
        from epigram.tagging.kernels import chains_struct, layout_struct, scratch_struct

        n, L = sequences.n_tokens, len(self.labels)
        if self.constrained:
            self.decode(sequences, allowed)  # says so if a sentence has no permitted labelling
        nodes = np.empty((n, L))
        edges = np.zeros((n, L, L) if with_edges else (0, 0, 0))
        log_z = np.zeros(sequences.n_sentences)
        mask = self.mask(sequences, allowed)
        core.marginals(
            chains_struct(direct_chains(sequences, self.layout)),
            layout_struct(self.layout.arrays),
            len(log_z),
            np.arange(len(log_z), dtype=np.int32),
            len(self.w),
            self.w,
            len(mask),
            mask,
            scratch_struct(self.layout.arrays, scratch(sequences, self.layout)),
            n,
            L,
            nodes,
            edges.size,
            edges,
            len(log_z),
            log_z,
        )
        return nodes, edges, log_z

    def n_best(
        self, sequences: Sequences, k: int, allowed: Allowed | None = None
    ) -> list[list[tuple[Ints, float]]]:
        """For each sentence the k best labellings with their probabilities, best first."""
        from epigram.tagging.kernels import chains_struct, layout_struct, scratch_struct

        if k < 1:
            raise ValueError(f"k must be at least 1, not {k!r}.")
        L = len(self.labels)
        n = int(sequences.lengths.max(initial=1))
        x = scratch_struct(self.layout.arrays, scratch(sequences, self.layout))
        mask = self.mask(sequences, allowed)
        chains = chains_struct(direct_chains(sequences, self.layout))
        layout = layout_struct(self.layout.arrays)
        score, back = np.empty((n, L, k)), np.zeros((n, L, k), dtype=np.int64)
        ends, labels, values = np.zeros(k, dtype=np.int64), np.empty((k, n), dtype=np.int32), np.empty(k)
        _, _, log_z = self.marginals(sequences, allowed)
        result: list[list[tuple[Ints, float]]] = []
        for s, length in enumerate(sequences.lengths):
            found = 0
            if length:
                found = core.k_best(
                    chains,
                    layout,
                    s,
                    len(self.w),
                    self.w,
                    len(mask),
                    mask,
                    x,
                    k,
                    n,
                    L,
                    score,
                    back,
                    ends,
                    labels,
                    values,
                )
            result.append(
                [(labels[r, :length].copy(), float(np.exp(values[r] - log_z[s]))) for r in range(found)]
            )
        return result

    def mask(self, sequences: Sequences, allowed: Allowed | None) -> npt.NDArray[np.uint8]:
        """Allowed labels as the kernels take them: empty where everything is allowed."""
        if allowed is None and self.ends is None:
            return np.empty(0, dtype=np.uint8)
        mask = np.ones((sequences.n_tokens, padded(len(self.labels))), dtype=np.uint8)
        if self.ends is not None:
            full = np.flatnonzero(sequences.lengths)
            L = len(self.labels)
            mask[sequences.sentence_ptr[full], :L] &= self.ends[0].astype(np.uint8)
            mask[sequences.sentence_ptr[full + 1] - 1, :L] &= self.ends[1].astype(np.uint8)
        if allowed is None:
            return mask.ravel()
        if len(allowed) != sequences.n_sentences:
            raise InputError(
                f"allowed has {len(allowed)} sentences, the input {sequences.n_sentences}; give one list each"
            )
        index = {label: k for k, label in enumerate(self.labels)}
        for s, tokens in enumerate(allowed):
            first, last = sequences.sentence_ptr[s : s + 2]
            if tokens is None:
                continue
            if len(tokens) != last - first:
                raise InputError(
                    f"allowed has {len(tokens)} tokens for sentence {s}, which has {last - first}; "
                    "use None for free ones"
                )
            for t, choices in enumerate(tokens):
                if choices is None:
                    continue
                choices = [choices] if isinstance(choices, str) else list(choices)
                unknown = [label for label in choices if label not in index]
                if unknown or not choices:
                    raise InputError(
                        f"allowed labels of sentence {s}, token {t}: "
                        + (f"the model has no label {unknown[0]!r}" if unknown else "none given")
                        + f"; it has {', '.join(self.labels[:8])}"
                    )
                permitted = np.zeros(mask.shape[1], dtype=np.uint8)
                permitted[[index[label] for label in choices]] = 1
                mask[first + t] &= permitted
        return mask.ravel()

    @property
    def constrained(self) -> bool:
        """Whether some labellings are forbidden."""
        arrays = self.layout.arrays
        return self.ends is not None or (arrays.has_transitions and not self.allowed_transitions.all())

    def _check_possible(self, sequences: Sequences, mask: npt.NDArray[np.uint8], best: Ints) -> None:
        """The best labelling is a permitted one, unless there is none."""
        if not self.constrained:
            return
        wrong = np.zeros(sequences.n_tokens, dtype=bool)
        if len(mask):
            wrong |= mask.reshape(sequences.n_tokens, -1)[np.arange(len(best)), best] == 0
        if self.layout.arrays.has_transitions and len(best) > 1:
            inner = np.ones(len(best), dtype=bool)
            inner[sequences.sentence_ptr[:-1][sequences.lengths > 0]] = False
            wrong[1:] |= inner[1:] & ~self.allowed_transitions[best[:-1], best[1:]]
        if wrong.any():
            s = int(np.searchsorted(sequences.sentence_ptr, np.flatnonzero(wrong)[0], side="right")) - 1
            raise NoLabelling(
                f"sentence {s} has no labelling that keeps to the constraints of the model and to allowed; allow more"
            )


def encode_sentences(X: Any, template: Template | None, table: AttributeTable, grow: bool) -> Sequences:
    """Columns (or rows of columns) by a template; feature lists or dicts without one."""
    if template is None:
        if isinstance(X, Columns):
            raise InputError("columns need a template; give template='chunking' or a CRF++ template")
        return encode_features(X, table, grow)
    columns = X if isinstance(X, Columns) else Columns.from_rows(X)
    if not columns.n_tokens:  # then there are no columns either, and the template would miss them
        return Sequences.of(columns.sentence_ptr, [0], [])
    return encode(columns, template, table, grow)


def run_each(run: Callable[[Ints], None], shards: list[Ints]) -> None:
    """Call ``run`` on every shard, each in a thread of its own."""
    if len(shards) == 1:
        run(shards[0])
        return
    with ThreadPoolExecutor(len(shards)) as pool:
        list(pool.map(run, shards))
