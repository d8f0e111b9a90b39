"""Laying out weights and sentences: which (attribute, label) pairs were seen, which rows a sentence has."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from epigram._core.native import family
from epigram.protocols import Floats, Ints, Offsets

core = family("chain_layout")
Bytes = npt.NDArray[np.uint8]


def mark_pairs(attribute_ptr: Offsets, attributes: Ints, labels: Ints, seen: Offsets) -> None:
    """seen[a, y // 64] gets bit y % 64 for every attribute a on a token with label y."""
    core.mark_pairs(labels.size, attribute_ptr, attributes.size, attributes, labels, *seen.shape, seen)


def count_bits(seen: Offsets, out: Offsets) -> None:
    """Number of set bits of each row."""
    core.count_bits(*seen.shape, seen, out)


def fill_rows(seen: Offsets, row_of: Ints, width: int, dense_end: int, codes: Ints, free: Bytes) -> None:
    """Labels of the sparse rows, and which weights of the dense rows are free."""
    core.fill_rows(*seen.shape, seen, row_of, dense_end, codes.size, codes, free)


def mark_edges(
    sentence_ptr: Offsets,
    edge_ptr: Offsets,
    edge_attributes: Ints,
    labels: Ints,
    n_labels: int,
    width: int,
    keys: Offsets,
) -> None:
    """keys[k] = attribute * L * width + pair for every occurrence of an attribute on a transition."""
    core.mark_edges(
        sentence_ptr.size - 1,
        sentence_ptr,
        labels.size,
        edge_ptr,
        edge_attributes.size,
        edge_attributes,
        labels,
        n_labels,
        width,
        keys,
    )


def dense_first(
    attribute_ptr: Offsets, row_of: Ints, dense_end: int, attributes: Ints, values: Floats
) -> None:
    """Reorder the occurrences of each token in place: those with dense rows first. Branches then come in runs."""
    n = attribute_ptr.size - 1
    core.dense_first(
        n, attribute_ptr, row_of.size, row_of, dense_end, attributes.size, attributes, values.size, values
    )


def measure_sentences(
    rows_ptr: Offsets, rows: Ints, codes: Ints, width: int, dense_end: int, out: Offsets
) -> None:
    """How many weights the distinct rows of each sentence have."""
    core.measure_sentences(
        rows_ptr.size - 1, rows_ptr, rows.size, rows, codes.size, codes, width, dense_end, out
    )


def distinct_rows(
    sentence_ptr: Offsets,
    attribute_ptr: Offsets,
    attributes: Ints,
    row_of: Ints,
    *rest: npt.NDArray[np.signedinteger],
) -> int:
    """The distinct rows of each sentence, those that occur more than once first; returns how many in all.

    ``rest``: working memory (twice one zero per attribute), then the outputs rows_ptr, n_shared, rows and local.
    """
    found: int = core.distinct_rows(
        sentence_ptr.size - 1,
        sentence_ptr,
        attribute_ptr.size - 1,
        attribute_ptr,
        attributes.size,
        attributes,
        row_of.size,
        row_of,
        *rest,
    )
    return found
