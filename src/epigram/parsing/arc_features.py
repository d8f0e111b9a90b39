"""Selects the features that get a weight and encodes the parts of trees as feature ids.

These are the features that occur at least ``min_count`` times in the training trees, and those that occur at least
``often`` times on the arcs that trees may have: a feature never seen in a training tree is evidence against an arc.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from epigram._core import bindings
from epigram.errors import InputError
from epigram.features.attributes import AttributeTable, Fingerprints
from epigram.parsing.arc_loss import MOST_FEATURES, NARROW, Kept, PartFeatures, steps_of
from epigram.parsing.arc_templates import ArcTemplate
from epigram.parsing.arc_words import Words
from epigram.parsing.part_features import hash_table, locate_parts, tree_part_keys
from epigram.parsing.pruning import ForestMemory, forest_sizes
from epigram.protocols import Ints, Offsets

COUNTERS = 1 << 26
BLOCK = 1 << 20


class Known(NamedTuple):
    """Keys of all features by id, and the keys of those of second and third order."""

    keys: Fingerprints
    parts: Fingerprints


def every_arc(words: Words) -> Kept:
    """Mark all arcs of all sentences."""
    return np.ones(int(words.first_arc[-1]), dtype=np.uint8)


def learn_features(
    words: Words,
    heads: Ints,
    template: ArcTemplate,
    min_count: int,
    often: int | None,
    keep: Kept | None = None,
    known: Fingerprints | None = None,
) -> Known:
    """Select features of training trees and those seen ``often`` on kept arcs (None: none).

    Features that are ``known`` already come first and are kept.
    """
    memory = template.memory(int(words.lengths.max(initial=1)))
    most = len(template.arc_lines) + 64 * template.n_between
    buffer = np.empty(max(BLOCK, most * int(words.lengths.max(initial=1))), dtype=np.uint64)
    met, done, s = GrowingArray(np.uint64), np.zeros(1, dtype=np.int64), 0
    while s < words.columns.n_sentences:
        s = bindings.arcs_gold_keys(template.struct, words.struct, memory, heads, s, buffer, done)
        met.append(buffer[: done[0]])
    keys, counts = count_keys(met.close(), min_count)
    met = GrowingArray(np.uint64)
    for own in tree_part_keys(words, heads, template):
        met.append(own)
    parts, part_counts = count_keys(met.close(), min_count)
    by_count = np.argsort(-np.concatenate([counts, part_counts]), kind="stable")
    keys = np.concatenate([keys, parts])[by_count]
    if known is not None:
        keys = np.concatenate([known, keys[~np.isin(keys, known)]])
    if often is None:
        return Known(keys, parts)
    counters, keep = np.zeros(COUNTERS, dtype=np.uint8), every_arc(words) if keep is None else keep
    met = GrowingArray(np.uint64)
    for s, (a, b) in enumerate(pairwise(words.first_arc.tolist())):
        n_keys = most * int(np.count_nonzero(keep[a:b]))
        if n_keys > len(buffer):
            buffer = np.empty(n_keys, dtype=np.uint64)
        arcs = template.struct, words.struct, memory, s, keep[a:b]
        met.append(buffer[: bindings.arcs_count_keys(*arcs, counters, often, buffer)])
    frequent, _ = count_keys(met.close(), 1)
    return Known(np.concatenate([keys, frequent[~np.isin(frequent, keys)]]), parts)


def count_keys(keys: Fingerprints, min_count: int) -> tuple[Fingerprints, Offsets]:
    """Sort keys in place; return those with ``min_count`` occurrences or more, and their counts.

    Examples
    --------
    >>> count_keys(np.array([7, 3, 7, 5, 3, 7], dtype=np.uint64), 2)
    (array([3, 7], dtype=uint64), array([2, 3]))
    """
    keys.sort()
    first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: len(keys)])
    counts = np.diff(first, append=len(keys))
    return keys[first[counts >= min_count]], counts[counts >= min_count]


class GrowingArray:
    """An array that grows in place, so that no second copy of it is ever needed."""

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._content, self.n = np.empty(BLOCK, dtype=dtype), 0

    def append(self, more: npt.NDArray[Any]) -> None:
        """Append an array."""
        end = self.n + len(more)
        if end > len(self._content):
            self._content.resize(max(end, len(self._content) + len(self._content) // 8), refcheck=False)
        self._content[self.n : end] = more
        self.n = end

    def close(self) -> npt.NDArray[Any]:
        """Return all that was appended."""
        self._content.resize(self.n, refcheck=False)
        return self._content


class PartEncoder:
    """Encodes the kept arcs, and the parts over them, of one sentence after the other."""

    def __init__(self, words: Words, template: ArcTemplate, known: Known, sizes: Offsets) -> None:
        longest = int(words.lengths.max(initial=1))
        numbers = np.arange(1, len(known.keys) + 1, dtype=np.uint32)
        self._words, self._template, self._table = words, template, hash_table(known.keys, numbers)
        self._memory, self._most = template.memory(longest), len(template.arc_lines) + 64 * template.n_between
        if self._most > MOST_FEATURES:
            raise InputError(
                f"the template has {template.n_between} lines with b, l or r; give at most 1,000"
            )
        self._kinds = {lines.rank: (lines, lines.memory(longest)) for lines in template.part_lines}
        self._forest = ForestMemory(longest, sizes.max(0, initial=1)) if self._kinds else None
        self._ids = np.empty(BLOCK, dtype=np.int32)

    def encode(self, s: int, keep: Kept) -> tuple[Ints, Ints]:
        """Return the number of features of each part of a sentence, and the ids of all."""
        ptr, n_kept = np.zeros(len(keep) + 1, dtype=np.int64), int(np.count_nonzero(keep))
        own, words = (
            (self._template.struct, self._words.struct, self._memory, s, self._table),
            self._words.struct,
        )
        n = bindings.arcs_encode(*own, keep, ptr, self._reserve(0, n_kept * self._most))
        counts = [np.diff(ptr)]
        if self._forest is not None and len(keep):
            bindings.forest_build(int(self._words.lengths[s]), keep, self._forest.struct)
            for rank, many in enumerate(self._forest.counts if 2 in self._kinds else self._forest.counts[:2]):
                ptr = np.zeros(many + 1, dtype=np.int64)
                if rank in self._kinds:
                    lines, memory = self._kinds[rank]
                    parts, space = self._forest.parts[rank][: 4 * many], self._reserve(n, many * len(lines))
                    n += bindings.part_features_encode(
                        lines.struct, words, memory, s, self._table, parts, ptr, space
                    )
                counts.append(np.diff(ptr))
        return np.concatenate(counts), self._ids[:n]

    def _reserve(self, n: int, many: int) -> Ints:
        """Return space for more ids after the first n."""
        if n + many > len(self._ids):
            self._ids = np.concatenate([self._ids[:n], np.empty(n + 2 * many, dtype=np.int32)])
        return self._ids[n : n + many]


def encode_parts(words: Words, template: ArcTemplate, known: Known, keep: Kept | None = None) -> PartFeatures:
    """Encode the kept arcs (None: all), and of orders 2 and 3 the parts over them."""
    first_arc = words.first_arc
    keep, sizes = every_arc(words) if keep is None else keep, np.zeros((0, 6), dtype=np.int64)
    if template.part_lines:
        sizes = forest_sizes(words.lengths, first_arc, keep)
    encoder, places = PartEncoder(words, template, known, sizes), np.full(len(known.keys), -1, dtype=np.int32)
    counts, numbers, steps = GrowingArray(np.uint16), GrowingArray(np.uint16), GrowingArray(np.uint8)
    starts = np.zeros((3, len(words.lengths) + 1), dtype=np.int64)
    row_counts = np.zeros(len(words.lengths), dtype=np.int32)
    for s, (a, b) in enumerate(pairwise(first_arc.tolist())):
        own, ids = encoder.encode(s, keep[a:b])
        rows = np.empty(len(ids), dtype=np.int32)
        rows = np.sort(rows[: bindings.arc_loss_distinct(ids, places, rows)])
        bindings.arc_loss_number(ids, rows, places)
        row_counts[s] = len(rows)
        counts.append(own)
        steps.append(steps_of(rows))
        numbers.append(ids.view(np.uint16) if len(rows) > NARROW else ids)
        starts[:, s + 1] = counts.n, steps.n, numbers.n
    first_part, first_step, first_number = starts
    sentences = words.sentence_ptr, first_arc, keep, first_part, counts.close(), row_counts
    return PartFeatures(*sentences, first_step, steps.close(), first_number, numbers.close(), sizes)


def locate(
    words: Words, heads: Ints, template: ArcTemplate, table: AttributeTable, keep: Kept | None = None
) -> tuple[Ints, Offsets]:
    """Find the first occurrence of each feature on kept arcs and in trees, and its sentence.

    An occurrence is (head, child, line, word between or sibling, grandparent).
    """
    memory = template.memory(int(words.lengths.max(initial=1)))
    places = np.full((len(table), 4), -1, dtype=np.int32)
    sentences = np.zeros(len(table), dtype=np.int32)
    keep = every_arc(words) if keep is None else keep
    for s, (a, b) in enumerate(pairwise(words.first_arc.tolist())):
        own = template.struct, words.struct, memory, s, table.slots
        bindings.arcs_locate(*own, keep[a:b], places, sentences)
    found, above = sentences.astype(np.int64), np.zeros((len(table), 1), dtype=np.int32)
    whole = np.hstack([places, above])
    if template.part_lines:
        locate_parts(words, heads, template, table, whole, found)
    return whole, found
