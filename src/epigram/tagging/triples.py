"""Label triples of chains of second order, as ``_core/second_order_inline.h`` takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from epigram.protocols import Ints, Offsets

MOST_TRIPLES = 1 << 27  # of pairs="all"


def triple_keys(triples: Ints, n_labels: int) -> Offsets:
    """A number for each label triple, which sorts them as C takes them: by the last label, the first, the second."""
    first, second, third = triples.T.astype(np.int64)
    keys: Offsets = (third * n_labels + first) * n_labels + second
    return keys


def unique_triples(triples: Ints, n_labels: int) -> Ints:
    """The distinct ones in the order of :func:`triple_keys`."""
    _, first = np.unique(triple_keys(triples, n_labels), return_index=True)
    return np.ascontiguousarray(triples[first], dtype=np.int32)


def all_triples(n_labels: int, allowed: npt.NDArray[np.bool_] | None) -> Ints:
    """All whose pairs are permitted."""
    if n_labels**3 > MOST_TRIPLES:
        raise ValueError(
            f"{n_labels:,} labels have {n_labels**3:,} triples; use pairs='seen' to have weights for those met."
        )
    permitted = np.ones((n_labels, n_labels), dtype=bool) if allowed is None else allowed
    every = np.argwhere(permitted[:, :, None] & permitted[None])
    return unique_triples(every.astype(np.int32), n_labels)


def triple_fields(triples: Ints, n_labels: int, width: int) -> tuple[Any, ...]:
    """What C is told of triples: how many, where those into each pair of labels are, and their pairs."""
    first, second, third = triples.T
    pairs, ptr = second * width + third, np.zeros(1, dtype=np.int64)
    by_pair = np.lexsort((first, pairs)).astype(np.int32)
    if len(pairs):
        ptr = np.searchsorted(pairs[by_pair], np.arange(n_labels * width + 1)).astype(np.int64, copy=False)
    return len(pairs), len(ptr) - 1, ptr, first[by_pair], by_pair, first * width + second, pairs
