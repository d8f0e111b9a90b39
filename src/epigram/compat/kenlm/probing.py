"""Recovers n-grams from KenLM's hash-table format ("probing") by joining hashes.

A table stores a 64-bit hash of each n-gram and not its words.

    key(w_1 .. w_n) = key(w_2 .. w_n) A xor (w_1 + 1) B   mod 2^64,      key(w) = w,

and KenLM guarantees that context and suffix of every n-gram are in the file too. So the words of all n-grams are found
order by order, by trying all pairs of a context and a suffix that overlap (``_core/kenlm.h``). Signs of weights
restrict the pairs: that of a probability tells whether an n-gram is a suffix, that of a back-off weight 0 whether it is
a context.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from epigram._core import bindings
from epigram._core.arrays import offsets
from epigram.compat.kenlm.binary import REST_PROBING, Head, NGramLevel, numbers
from epigram.errors import ModelFileError
from epigram.protocols import Ints, Offsets

A, B = np.uint64(8978948897894561157), np.uint64(17894857484156487943)
MOST_PAIRS = 2 * 10**11
"""Maximum number of pairs to try; takes some minutes."""
Keys = npt.NDArray[np.uint64]


class Entries(NamedTuple):
    """N-grams of one order, with the rows (in the order below) of their contexts and suffixes."""

    grams: Ints
    keys: Keys
    weights: npt.NDArray[Any]
    context: Offsets
    suffix: Offsets


def read_levels(content: bytes, head: Head) -> tuple[list[NGramLevel], int]:
    """Read the n-grams of every order; return the offset of what follows too."""
    at = head.start + 8 + 12 * _n_buckets(head.counts[0], head.multiplier)
    version, n_words = numbers(content, "<u4", 2, head.start).tolist()
    if version != 0 or n_words not in (head.counts[0], head.counts[0] + 1):
        raise ModelFileError(f"corrupt KenLM binary: {n_words:,} words, but {head.counts[0]:,} 1-grams")
    fields = [("logp", "<f4"), ("bow", "<f4"), *([("rest", "<f4")] if head.kind == REST_PROBING else [])]
    unigrams = numbers(content, fields, n_words, at)
    at += (head.counts[0] + 1) * unigrams.itemsize
    nothing = np.zeros(n_words, dtype=np.int64)
    words = np.arange(n_words, dtype=np.int64)
    entries = Entries(words[:, None].astype(np.int32), words.astype(np.uint64), unigrams, nothing, nothing)
    levels = [_level(entries)]
    for n in range(2, head.order + 1):
        longest = n == head.order
        kind = np.dtype([("key", "<u8"), *(fields[:1] if longest else fields)])
        n_buckets = _n_buckets(head.counts[n - 1], head.multiplier)
        table = numbers(content, kind, n_buckets, at)
        at += n_buckets * kind.itemsize
        entries = join(entries, table[table["key"] != 0], 1 if n == 2 else len(levels[n - 3].grams))
        levels.append(_level(entries))
    return levels, at


def _n_buckets(n: int, multiplier: float) -> int:
    """Return the number of buckets; KenLM computes it in float32."""
    return max(n + 1, int(np.float32(multiplier) * np.float32(n)))


def _level(entries: Entries) -> NGramLevel:
    """Return n-grams with the signs of their weights removed."""
    weights = entries.weights
    logp = -np.abs(weights["logp"].astype(np.float64))
    has_bow = "bow" in (weights.dtype.names or ())
    return NGramLevel(
        entries.grams, logp, weights["bow"].astype(np.float64) if has_bow else np.zeros(len(logp))
    )


def join(below: Entries, table: npt.NDArray[Any], n_groups: int) -> Entries:
    """Find the n-grams of the keys of a table: pairs of overlapping n-grams of the order below."""
    keys = np.ascontiguousarray(table["key"])
    unfollowed = (below.weights["bow"] == 0.0) & np.signbit(below.weights["bow"])
    left = np.flatnonzero(~unfollowed)
    right = np.flatnonzero(~np.signbit(below.weights["logp"]))
    left_parts = (below.grams[left, 0].astype(np.uint64) + np.uint64(1)) * B
    right_parts = below.keys[right] * A
    left, left_parts, left_ptr = _grouped(left, left_parts, below.suffix, n_groups)
    right, right_parts, right_ptr = _grouped(right, right_parts, below.context, n_groups)
    n_pairs = float(np.diff(left_ptr).astype(np.float64) @ np.diff(right_ptr))
    if n_pairs > MOST_PAIRS:
        raise ModelFileError(
            f"a probing file has only hashes of n-grams; {n_pairs:.2g} pairs would have to be tried. "
            "Use the ARPA file it was built from, or a trie"
        )
    n = len(keys)
    slots = np.full(1 << max(4, (2 * n).bit_length()), -1, dtype=np.int32)
    filter = np.zeros(max(256, slots.size // 8), dtype=np.uint64)
    index = bindings.HashedKeys(keys, slots, filter)
    bindings.kenlm_index(index)
    context, suffix = np.full(n, -1, dtype=np.int32), np.full(n, -1, dtype=np.int32)
    found = bindings.kenlm_join(index, left_ptr, left_parts, right_ptr, right_parts, context, suffix)
    if found != n:
        raise ModelFileError("corrupt KenLM binary: hashes of n-grams without context or suffix")
    first, rest = left[context], right[suffix]
    grams = np.concatenate((below.grams[first, :1], below.grams[rest]), axis=1)
    return Entries(grams, keys, table, first, rest)


def _grouped(rows: Offsets, parts: Keys, group: Offsets, n_groups: int) -> tuple[Offsets, Keys, Offsets]:
    """Sort rows and partial keys by group and lowest byte; return offsets of groups too."""
    order = np.lexsort((parts & np.uint64(255), group[rows]))
    sizes = np.bincount(group[rows], minlength=n_groups)
    return rows[order], parts[order], offsets(sizes)
