"""Selects the arc features that get a weight and encodes every arc as feature ids.

These are the features that occur at least ``min_count`` times in the training trees, and those that occur at least
``often`` times on any candidate arc: a feature never seen in a training tree is evidence against an arc.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from epigram._core import bindings
from epigram._core.arrays import offsets
from epigram.features.attributes import AttributeTable, Fingerprints, Strings, renumbering
from epigram.parsing.arc_loss import ArcFeatures
from epigram.parsing.arc_templates import ArcTemplate
from epigram.parsing.arc_words import Words
from epigram.parsing.part_features import learn_parts, locate_parts
from epigram.parsing.pruning import Kept
from epigram.protocols import Ints, Offsets

COUNTERS = 1 << 26
BLOCK = 1 << 20


class Known(NamedTuple):
    """The table of all features, and the keys of those of second and third order."""

    table: AttributeTable
    parts: Fingerprints


def learn_features(
    words: Words,
    heads: Ints,
    template: ArcTemplate,
    min_count: int,
    often: int | None,
    known: Fingerprints | None = None,
) -> Known:
    """Select features of the training trees, and those seen ``often`` on any arc (None: none).

    Features that are ``known`` already come first and are kept.
    """
    table, memory = AttributeTable(known), template.memory(int(words.lengths.max(initial=1)))
    most = len(template.arc_lines) + 64 * template.n_between
    keys = np.empty(max(BLOCK, most * int(words.lengths.max(initial=1))), dtype=np.uint64)
    done, s = np.zeros(1, dtype=np.int64), 0
    table.add_source(Strings([]))
    while s < words.columns.n_sentences:
        s = bindings.arcs_gold_keys(template.struct, words.struct, memory, heads, s, keys, done)
        table.intern_more(keys[: done[0]])
    parts = np.empty(0, dtype=np.uint64)
    if template.part_lines:
        parts = learn_parts(words, heads, template, table)
    if min_count > 1:
        table.renumber(renumbering(table.counts, min_count))
    if often is None:
        return Known(table, parts)
    counters = np.zeros(COUNTERS, dtype=np.uint8)
    for s, n in enumerate(words.lengths.tolist()):
        if n * (n + 1) * most > len(keys):
            keys = np.empty(n * (n + 1) * most, dtype=np.uint64)
        found = bindings.arcs_count_keys(template.struct, words.struct, memory, s, counters, often, keys)
        table.intern_more(keys[:found])
    return Known(table, parts)


class GrowingIds:
    """A buffer of feature ids that grows in place, so that no second copy of it is ever needed."""

    def __init__(self) -> None:
        self._ids, self.n = np.empty(BLOCK, dtype=np.int32), 0

    def reserve(self, many: int) -> Ints:
        """Return space for ``many`` more ids; use it before the next call, then add to ``n``."""
        if self.n + many > len(self._ids):
            self._ids.resize(max(self.n + many, len(self._ids) + len(self._ids) // 8), refcheck=False)
        return self._ids[self.n : self.n + many]

    def close(self) -> Ints:
        """Return all ids."""
        self._ids.resize(self.n, refcheck=False)
        return self._ids


class ArcEncoder:
    """Encodes the arcs of one sentence after the other."""

    def __init__(self, words: Words, template: ArcTemplate, table: AttributeTable) -> None:
        self._words, self._template, self._slots = words, template, table.slots
        self._memory = template.memory(int(words.lengths.max(initial=1)))
        self._most = len(template.arc_lines) + 64 * template.n_between

    def encode(self, s: int, keep: Kept, ptr: Offsets, ids: GrowingIds) -> None:
        """Append the ids of the kept arcs of a sentence; ``ptr`` gets the offsets of all its arcs."""
        space = ids.reserve(int(np.count_nonzero(keep)) * self._most)
        ptr[0] = ids.n
        ids.n += bindings.arcs_encode(
            self._template.struct,
            self._words.struct,
            self._memory,
            s,
            self._slots,
            keep,
            ptr,
            space,
        )


def encode_arcs(words: Words, template: ArcTemplate, table: AttributeTable) -> ArcFeatures:
    """Encode every arc as the ids of its known features."""
    encoder, ids = ArcEncoder(words, template, table), GrowingIds()
    first_arc = offsets(words.lengths * (words.lengths + 1))
    ptr = np.zeros(int(first_arc[-1]) + 1, dtype=np.int64)
    keep = np.ones(int(np.diff(first_arc).max(initial=0)), dtype=np.uint8)
    for s, (a, b) in enumerate(pairwise(first_arc.tolist())):
        encoder.encode(s, keep[: b - a], ptr[a : b + 1], ids)
    return ArcFeatures(words.sentence_ptr, first_arc, ptr, ids.close())


def locate(words: Words, heads: Ints, template: ArcTemplate, table: AttributeTable) -> tuple[Ints, Offsets]:
    """Find the first occurrence of each feature, and its sentence.

    An occurrence is (head, child, line, word between or sibling, grandparent).
    """
    memory = template.memory(int(words.lengths.max(initial=1)))
    places = np.full((len(table), 4), -1, dtype=np.int32)
    sentences = np.zeros(len(table), dtype=np.int32)
    for s in range(words.columns.n_sentences):
        bindings.arcs_locate(
            template.struct,
            words.struct,
            memory,
            s,
            table.slots,
            places,
            sentences,
        )
    found, above = sentences.astype(np.int64), np.zeros((len(table), 1), dtype=np.int32)
    whole = np.hstack([places, above])
    if template.part_lines:
        locate_parts(words, heads, template, table, whole, found)
    return whole, found
