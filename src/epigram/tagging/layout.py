"""Which weights a chain model has, and where: the arrays of :class:`epigram.tagging.kernels.Layout`.

Attributes seen with many labels own a dense row (one weight per label, so that loops over labels are vectors),
the others only the weights of the labels they were seen with. With ``pairs="all"`` every row is dense and free.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram.protocols import Floats, Ints, Offsets
from epigram.tagging.sequences import Sequences

MOST_LABELS = 65_535  # the label of a weight has 16 bits in kernels
DENSE_SHARE = 8  # a row is dense if at least one label in eight has a weight: measured on CoNLL-2000


@dataclass(frozen=True)
class WeightLayout:
    """The weights of a chain model over ``n_labels`` labels.

    ``row_of[a]`` is where attribute a's row starts, -1 if it has none; ``arrays`` is what kernels take.
    """

    n_labels: int
    n_weights: int
    row_of: Ints = field(repr=False)
    arrays: Any = field(repr=False)

    @property
    def free(self) -> npt.NDArray[np.uint8]:
        """1 where a weight is part of the model."""
        return self.arrays.free  # type: ignore[no-any-return]

    @cached_property
    def _places(self) -> Ints:
        """Where the weights that are part of the model are among all."""
        return np.flatnonzero(self.free).astype(np.int32)

    @property
    def n_features(self) -> int:
        """Number of weights that are part of the model: what solvers see."""
        return len(self._places)

    def spread(self, features: Floats) -> Floats:
        """The weights of the model at their places; zeros between."""
        w = aligned(self.n_weights)
        w[self._places] = features
        return w

    def gather(self, w: Floats) -> Floats:
        """The weights of the model; the inverse of :meth:`spread`."""
        return w[self._places]

    def states(self, w: Floats, values: Floats | None = None) -> tuple[Ints, Ints, Floats]:
        """Attribute, label and weight of every nonzero state weight; ``values`` are read there in place of ``w``."""
        a = self.arrays
        active = np.flatnonzero(w[: a.state_end])
        order = np.argsort(self.row_of, kind="stable")
        order = order[np.searchsorted(self.row_of, 0, sorter=order) :]
        owner = order[np.searchsorted(self.row_of[order], active, side="right") - 1]
        dense = active < a.dense_end
        labels = np.where(dense, active % a.width, a.codes[active] & 0xFFFF)
        return owner.astype(np.int32), labels.astype(np.int32), (w if values is None else values)[active]

    def transitions(self, w: Floats) -> Floats:
        """The L x L matrix of transition weights; empty for models without transitions."""
        a = self.arrays
        if not a.has_transitions:
            return np.zeros((0, 0))
        size = self.n_labels * a.width
        return w[a.state_end : a.state_end + size].reshape(self.n_labels, a.width)[:, : self.n_labels]

    def edges(self, w: Floats, values: Floats | None = None) -> tuple[Ints, Ints, Ints, Floats]:
        """Attribute, label before, label and weight of every nonzero weight of an observed transition."""
        a = self.arrays
        first = a.state_end + self.n_labels * a.width * int(a.has_transitions)
        active = np.flatnonzero(w[first:])
        owner = np.searchsorted(a.edge_row_ptr, active, side="right") - 1
        pairs = a.edge_pair[active]
        return (
            owner.astype(np.int32),
            (pairs // a.width).astype(np.int32),
            (pairs % a.width).astype(np.int32),
            (w if values is None else values)[first + active],
        )

    def pack(
        self,
        states: tuple[Ints, Ints, Floats],
        transitions: Floats,
        edges: tuple[Ints, Ints, Ints, Floats],
    ) -> Floats:
        """The weight vector with these weights; those without a place here must be zero."""
        a = self.arrays
        w = np.zeros(self.n_weights)
        attributes, labels, values = states
        rows = self.row_of[attributes].astype(np.int64)
        dense = rows < a.dense_end
        w[rows[dense] + labels[dense]] = values[dense]
        codes = (rows[~dense] << 16) | labels[~dense]
        sparse_starts = np.arange(a.dense_end, a.state_end)
        lengths = a.codes[a.dense_end :] >> 16
        first = np.ones(len(lengths), dtype=bool)
        first[1:] = lengths[1:] >= lengths[:-1]
        starts = sparse_starts[first][np.cumsum(first) - 1]
        index = (starts << 16) | (a.codes[a.dense_end :] & 0xFFFF)
        w[a.dense_end + np.searchsorted(index, codes)] = values[~dense]
        if a.has_transitions:
            w[a.state_end : a.state_end + self.n_labels * a.width].reshape(self.n_labels, a.width)[
                :, : self.n_labels
            ] = transitions
        attributes, before, after, values = edges
        if len(values):
            base = a.state_end + self.n_labels * a.width
            size = self.n_labels * a.width
            owners = np.repeat(np.arange(len(a.edge_row_ptr) - 1), np.diff(a.edge_row_ptr))
            at = np.searchsorted(
                owners * size + a.edge_pair, attributes.astype(np.int64) * size + before * a.width + after
            )
            w[base + at] = values
        return w


@dataclass(slots=True)
class SeenPairs:
    """The (attribute, label), (label, label) and (attribute, label, label) combinations that get a weight."""

    n_labels: int
    bits: npt.NDArray[np.int64] = field(repr=False)
    transitions: npt.NDArray[np.bool_] = field(repr=False)
    edges: Offsets = field(repr=False)  # attribute * L * width + before * width + after, sorted

    @classmethod
    def of(cls, sequences: Sequences, labels: Ints, n_labels: int, n_attributes: int) -> SeenPairs:
        """Those of a labelled corpus."""
        from epigram.tagging.layout_kernels import mark_edges, mark_pairs

        bits = np.zeros((n_attributes, (n_labels + 63) // 64), dtype=np.int64)
        mark_pairs(sequences.attribute_ptr, sequences.attributes, labels, bits)
        inner = np.ones(len(labels), dtype=bool)
        inner[sequences.sentence_ptr[:-1][np.diff(sequences.sentence_ptr) > 0]] = False
        after = np.flatnonzero(inner)
        transitions = np.zeros((n_labels, n_labels), dtype=bool)
        transitions[labels[after - 1], labels[after]] = True
        keys = np.empty(len(sequences.edge_attributes), dtype=np.int64)
        mark_edges(
            sequences.sentence_ptr,
            sequences.edge_ptr,
            sequences.edge_attributes,
            labels,
            n_labels,
            padded(n_labels),
            keys,
        )
        return cls(n_labels, bits, transitions, np.unique(keys))

    @classmethod
    def of_weights(
        cls,
        n_labels: int,
        n_attributes: int,
        states: tuple[Ints, Ints, Floats],
        transitions: Floats,
        edges: tuple[Ints, Ints, Ints, Floats],
    ) -> SeenPairs:
        """Those of a trained model's nonzero weights."""
        bits = np.zeros((n_attributes, (n_labels + 63) // 64), dtype=np.int64)
        attributes, labels, _ = states
        np.bitwise_or.at(
            bits, (attributes, labels >> 6), np.left_shift(np.int64(1), (labels & 63).astype(np.int64))
        )
        width = padded(n_labels)
        keys = edges[0].astype(np.int64) * n_labels * width + edges[1] * width + edges[2]
        return cls(n_labels, bits, transitions != 0, np.unique(keys))

    def union(self, other: SeenPairs) -> SeenPairs:
        """What either has; the larger number of attributes and labels counts."""
        L = max(self.n_labels, other.n_labels)
        shape = (max(len(self.bits), len(other.bits)), (L + 63) // 64)
        bits = np.zeros(shape, dtype=np.int64)
        transitions = np.zeros((L, L), dtype=bool)
        keys = []
        for one in (self, other):
            bits[: one.bits.shape[0], : one.bits.shape[1]] |= one.bits
            transitions[: one.n_labels, : one.n_labels] |= one.transitions
            size = one.n_labels * padded(one.n_labels)
            before, after = np.divmod(one.edges % size, padded(one.n_labels))
            keys.append((one.edges // size) * L * padded(L) + before * padded(L) + after)
        return SeenPairs(L, bits, transitions, np.unique(np.concatenate(keys)))


def aligned(n: int) -> Floats:
    """Zeros that start on a cache line, so that rows of labels do not straddle more lines than they must."""
    raw = np.zeros(n * 8 + 64, dtype=np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + 8 * n].view(np.float64)


def padded(n_labels: int) -> int:
    """The length of a row of labels in kernels."""
    return -(-n_labels // 8) * 8


def lay_out(
    seen: SeenPairs,
    pairs: str = "seen",
    has_transitions: bool = True,
    allowed: npt.NDArray[np.bool_] | None = None,
    bare: bool = True,
) -> WeightLayout:
    """Give every seen pair (or all pairs) its place.

    Parameters
    ----------
    seen : what the training text holds.
    pairs : ``"seen"`` for those only, ``"all"`` for every attribute with every label and every transition.
    has_transitions : False for models of single tokens.
    allowed : L x L matrix of permitted transitions; all by default.
    bare : False where transitions have weights only with an observation (no plain ``B`` in the template).
    """
    from epigram.tagging.kernels import Layout
    from epigram.tagging.layout_kernels import count_bits, fill_rows

    L, width = seen.n_labels, padded(seen.n_labels)
    if L > MOST_LABELS:
        raise ValueError(f"{L:,} labels; a chain model has at most {MOST_LABELS:,}.")
    n_seen = np.empty(len(seen.bits), dtype=np.int64)
    count_bits(seen.bits, n_seen)
    dense = n_seen * DENSE_SHARE >= L if pairs == "seen" else n_seen > 0
    dense &= n_seen > 0
    lengths = np.where(dense, width, n_seen)
    dense_end = int(width * dense.sum())
    starts = np.full(len(n_seen), -1, dtype=np.int64)
    starts[dense] = np.arange(dense.sum()) * width
    sparse = ~dense & (n_seen > 0)
    starts[sparse] = dense_end + np.cumsum(lengths[sparse]) - lengths[sparse]
    state_end = dense_end + int(lengths[sparse].sum())
    n_transitions = L * width if has_transitions else 0
    edges = _edges(seen, pairs) if has_transitions else np.empty(0, dtype=np.int64)
    n_weights = state_end + n_transitions + len(edges)
    if n_weights >= 2**31:
        raise MemoryError(f"{n_weights:,} weights; raise min_count or use pairs='seen' to have fewer")
    codes = np.zeros(state_end, dtype=np.int32)
    free = np.zeros(n_weights, dtype=np.uint8)
    row_of = starts.astype(np.int32)
    if pairs == "seen":
        fill_rows(seen.bits, row_of, width, dense_end, codes, free)
    else:
        free[:state_end].reshape(-1, width)[:, :L] = 1
    permitted = np.zeros((L, width))
    permitted[:, :L] = 1.0 if allowed is None else allowed
    if has_transitions:
        square = free[state_end : state_end + n_transitions].reshape(L, width)
        square[:, :L] = seen.transitions if pairs == "seen" else 1
        square[permitted == 0] = 0
        square *= np.uint8(bare)
        free[state_end + n_transitions :] = 1
    edge_row_ptr = np.zeros(len(seen.bits) + 1 if len(edges) else 1, dtype=np.int64)
    if len(edges):
        edge_row_ptr[:] = np.searchsorted(edges // (L * width), np.arange(len(seen.bits) + 1))
    arrays = Layout(
        L,
        width,
        dense_end,
        state_end,
        codes,
        free,
        has_transitions,
        permitted.ravel(),
        edge_row_ptr,
        (edges % (L * width)).astype(np.int32),
    )
    return WeightLayout(L, n_weights, row_of, arrays)


def _edges(seen: SeenPairs, pairs: str) -> Offsets:
    if pairs == "seen" or not len(seen.edges):
        return seen.edges
    L, width = seen.n_labels, padded(seen.n_labels)
    every = (np.arange(L)[:, None] * width + np.arange(L)).ravel()
    return (np.unique(seen.edges // (L * width))[:, None] * (L * width) + every).ravel()
