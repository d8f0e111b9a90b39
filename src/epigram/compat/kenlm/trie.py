"""Reads n-grams from KenLM's bit-packed tries, sorted from their last word backwards.

The trie is of suffixes: the children of w_n are all w_(n-1), and theirs all w_(n-2). An entry has a word, its weights
(the 31 bits of a negative float32 and a whole float32, or indices into two tables of float32 if the file is quantised)
and the offset of its children; with array compression, only the low bits of the offset, and a list of the first
entries that have each value of the high bits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from epigram.compat.kenlm.binary import (
    ARRAY,
    QUANTISED,
    QUANTISED_ARRAY,
    Head,
    NGramLevel,
    numbers,
)
from epigram.errors import ModelFileError
from epigram.protocols import Floats, Ints, Offsets

_UNIGRAM = np.dtype([("logp", "<f4"), ("bow", "<f4"), ("next", "<u8")])
_SIGN = np.uint32(1 << 31)


class _Bits(NamedTuple):
    """Records of equal width in bits, packed without gaps from a byte of the file on."""

    content: bytes
    start: int
    n: int
    width: int

    @property
    def end(self) -> int:
        """Offset of the byte after them; KenLM adds eight, so that eight can be read at any place."""
        return self.start + (self.n * self.width + 7) // 8 + 8

    def field(self, offset: int, width: int) -> npt.NDArray[np.uint64]:
        """Return the number in some bits of each record."""
        whole = np.ndarray(
            (len(self.content) - 7,), "<u8", self.content, 0, (1,)
        )  # eight bytes from each offset on
        at = offset + self.width * np.arange(self.n, dtype=np.int64)
        found: npt.NDArray[np.uint64] = whole[self.start + (at >> 3)] >> (at & 7).astype(np.uint64)
        return found & np.uint64((1 << width) - 1)


def read_levels(content: bytes, head: Head) -> tuple[list[NGramLevel], int]:
    """Read the n-grams of every order; return the offset of what follows too."""
    n_words, order = head.counts[0], head.order
    at = head.start + 8 + 8 * n_words
    bits, tables = (31, 32), list[Floats]()
    if head.kind in (QUANTISED, QUANTISED_ARRAY):
        bits, tables, at = _quantised(content, at, order)
    unigrams = numbers(content, _UNIGRAM, n_words + 1, at)
    at += (n_words + 2) * _UNIGRAM.itemsize
    grams = np.arange(n_words, dtype=np.int32)[:, None]
    levels = [NGramLevel(grams, *(unigrams[name][:-1].astype(np.float64) for name in ("logp", "bow")))]
    below = unigrams["next"].astype(np.int64)
    most_chopped = int(numbers(content, "u1", 2, at)[1]) if head.kind >= ARRAY and order > 2 else -1
    for n in range(2, order + 1):
        middle, count = n < order, head.counts[n - 1]
        n_below, width_word = head.counts[n] if middle else 0, n_words.bit_length()
        width_weights = bits[0] + bits[1] * middle
        width_next, high = n_below.bit_length(), np.zeros(1, np.int64)
        if middle and most_chopped >= 0:
            width_next, high, at = _array(content, at, count + 1, n_below, most_chopped)
        entries = _Bits(content, at, count + 1, width_word + width_weights + width_next)
        if entries.end > len(content):
            raise ModelFileError(
                f"truncated KenLM binary: found {len(content):,} bytes, expected more than {entries.end:,}"
            )
        words = entries.field(0, width_word)[:-1].astype(np.int64)
        grams = _extended(grams, below, words, n_words)
        weights = _weights(entries, width_word, bits, middle, tables[2 * (n - 2) : 2 * (n - 1)])
        levels.append(NGramLevel(grams, *(values[:-1] for values in weights)))
        inline = entries.field(width_word + width_weights, width_next).astype(np.int64)
        places = np.searchsorted(high, np.arange(count + 1), side="right") - 1
        below, at = (places << width_next) + inline, entries.end
    return levels, at


def _quantised(content: bytes, at: int, order: int) -> tuple[tuple[int, int], list[Floats], int]:
    """Read bits per weight and tables of each order; return the offset of what follows too."""
    version, for_logp, for_bow = numbers(content, "u1", 3, at).tolist()
    if version != 2 or not (1 <= for_logp <= 25 and 1 <= for_bow <= 25):
        raise ModelFileError(
            f"a KenLM binary quantised to {for_logp} and {for_bow} bits, version {version}, cannot be read; "
            "use the ARPA file it was built from"
        )
    sizes = [1 << for_logp, 1 << for_bow] * (order - 2) + [1 << for_logp]
    values = numbers(content, "<f4", sum(sizes), at + 8).astype(np.float64)
    return (for_logp, for_bow), np.split(values, np.cumsum(sizes)[:-1]), at + 8 + 4 * sum(sizes)


def _array(content: bytes, at: int, n: int, n_below: int, most_chopped: int) -> tuple[int, Offsets, int]:
    """Read compressed offsets: bits in entries, first entry of each high value, what follows."""
    required = n_below.bit_length()
    chop = min(
        range(min(required, most_chopped) + 1),
        key=lambda bits: ((n_below >> (required - bits)) * 64 - n * bits, bits),
    )
    n_firsts = (n_below >> (required - chop)) + 1
    firsts = numbers(content, "<u8", n_firsts, -(-at // 8) * 8 + 8).astype(np.int64)
    if (np.diff(firsts) < 0).any() or firsts[0] != 0:
        raise ModelFileError("corrupt KenLM binary: its compressed offsets do not rise")
    return required - chop, firsts, at + 8 * (1 + n_firsts) + 7


def _extended(grams: Ints, below: Offsets, words: Offsets, n_words: int) -> Ints:
    """Return n-grams one word longer: each word precedes the n-gram whose child it is."""
    sizes = np.diff(below)
    if below[0] != 0 or below[-1] != len(words) or (sizes < 0).any() or (words >= n_words).any():
        raise ModelFileError("corrupt KenLM binary: entries of its trie that belong to no n-gram")
    return np.concatenate((words[:, None].astype(np.int32), np.repeat(grams, sizes, axis=0)), axis=1)


def _weights(
    entries: _Bits, at: int, bits: tuple[int, int], middle: bool, tables: list[Floats]
) -> tuple[Floats, Floats]:
    """Return log10 probabilities and back-off weights (zeros for the longest n-grams)."""
    if tables:  # the back-off weight comes first
        logp = tables[0][entries.field(at + bits[1] * middle, bits[0])]
        return logp, tables[1][entries.field(at, bits[1])] if middle else np.zeros(entries.n)
    negative = entries.field(at, 31).astype(np.uint32) | _SIGN
    positive = entries.field(at + 31, 32).astype(np.uint32) if middle else np.zeros(entries.n, np.uint32)
    return _floats(negative), _floats(positive)


def _floats(patterns: npt.NDArray[Any]) -> Floats:
    return patterns.view(np.float32).astype(np.float64)
