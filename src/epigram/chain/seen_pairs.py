"""The (attribute, label) pairs, transitions and label triples that get a weight."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from epigram._core import bindings
from epigram.features.sequences import Sequences
from epigram.protocols import Ints, Offsets

if TYPE_CHECKING:
    from epigram.chain.layout import ChainWeights


@dataclass(slots=True)
class SeenPairs:
    """The combinations of an attribute and a label, of labels, and of both, that get a weight."""

    n_labels: int
    bits: npt.NDArray[np.int64] = field(repr=False)
    transitions: npt.NDArray[np.bool_] = field(repr=False)
    edges: Offsets = field(repr=False)  # attribute * L * width + before * width + after, sorted
    triples: Ints = field(default_factory=lambda: np.zeros((0, 3), dtype=np.int32), repr=False)

    @classmethod
    def of(cls, sequences: Sequences, labels: Ints, n_labels: int, n_attributes: int) -> SeenPairs:
        """Those of a labelled corpus."""
        bits = np.zeros((n_attributes, (n_labels + 63) // 64), dtype=np.int64)
        attributes = sequences.attributes
        bindings.chain_layout_mark_pairs(sequences.attribute_ptr, attributes, labels, *bits.shape, bits)
        before = sequences.tokens_before()
        after = np.flatnonzero(before >= 0)
        if sequences.segments is not None:  # no steps into rows of segments
            after = np.intersect1d(after, sequences.word_rows)
        after = after[(labels[after] >= 0) & (labels[before[after]] >= 0)]
        transitions = np.zeros((n_labels, n_labels), dtype=bool)
        transitions[labels[before[after]], labels[after]] = True
        keys = np.empty(len(sequences.edge_attributes), dtype=np.int64)
        bindings.chain_layout_mark_edges(
            sequences.edge_ptr,
            sequences.edge_attributes,
            before,
            labels,
            n_labels,
            padded(n_labels),
            keys,
        )
        if len(keys):
            known = np.zeros(len(labels), dtype=bool)
            known[after] = True
            keys = keys[np.repeat(known, np.diff(sequences.edge_ptr))]
        third = after[before[before[after]] >= 0]
        third = third[labels[before[before[third]]] >= 0]
        second = before[third]
        triples = np.stack([labels[before[second]], labels[second], labels[third]], axis=1)
        return cls(n_labels, bits, transitions, np.unique(keys), unique_triples(triples, n_labels))

    @classmethod
    def of_weights(cls, n_labels: int, n_attributes: int, weights: ChainWeights) -> SeenPairs:
        """Those of a trained model's nonzero weights."""
        bits = np.zeros((n_attributes, (n_labels + 63) // 64), dtype=np.int64)
        width = padded(n_labels)
        keys = weights.edge_attributes.astype(np.int64) * n_labels * width
        keys += weights.before * width + weights.after
        triples = unique_triples(weights.triples, n_labels)
        seen = cls(n_labels, bits, weights.transitions != 0, np.unique(keys), triples)
        seen.mark(weights.attributes, weights.labels)
        return seen

    def mark(self, attributes: Ints | Offsets, labels: Ints | Offsets) -> None:
        """Add pairs of an attribute and a label."""
        bit = np.left_shift(np.int64(1), (labels & 63).astype(np.int64))
        np.bitwise_or.at(self.bits, (attributes, labels >> 6), bit)

    def union(self, other: SeenPairs) -> SeenPairs:
        """Return the pairs of either, with the larger number of attributes and labels."""
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
        triples = unique_triples(np.concatenate([self.triples, other.triples]), L)
        return SeenPairs(L, bits, transitions, np.unique(np.concatenate(keys)), triples)


def padded(n_labels: int) -> int:
    """The length of a row of labels in kernels."""
    return -(-n_labels // 8) * 8


def triple_keys(triples: Ints, n_labels: int) -> Offsets:
    """Return a sort key per label triple: by the last label, the first, the second."""
    first, second, third = triples.T.astype(np.int64)
    keys: Offsets = (third * n_labels + first) * n_labels + second
    return keys


def unique_triples(triples: Ints, n_labels: int) -> Ints:
    """The distinct ones in the order of :func:`triple_keys`."""
    _, first = np.unique(triple_keys(triples, n_labels), return_index=True)
    return np.ascontiguousarray(triples[first], dtype=np.int32)
