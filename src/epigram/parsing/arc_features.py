"""From words to the features of arcs: which ones a parser has weights for, and their ids on every arc.

Features of the trees' own arcs and siblings that are met at least ``min_count`` times, and others that are met often
enough on any arc: what never happens in a tree is worth knowing too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from epigram._core.native import family, offsets
from epigram.parsing.arc_loss import ArcFeatures
from epigram.parsing.forests import Kept
from epigram.parsing.part_features import learn_parts, locate_parts
from epigram.parsing.templates import ArcTemplate
from epigram.parsing.words import Words
from epigram.protocols import Ints, Offsets
from epigram.tagging.attributes import AttributeTable, Fingerprints, Strings, renumbering

core = family("arcs")
COUNTERS = 1 << 26
BLOCK = 1 << 20


class Known(NamedTuple):
    """The table of all features, and the keys of those of parts."""

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
    """The features of trees, and of those met ``often`` on any arc (None: no others).

    Features that are ``known`` already come first and stay.
    """
    table, memory = AttributeTable(known), template.memory(int(words.lengths.max(initial=1)))
    most = len(template.arc_lines) + 64 * template.n_between
    keys = np.empty(max(BLOCK, most * int(words.lengths.max(initial=1))), dtype=np.uint64)
    done, s = np.zeros(1, dtype=np.int64), 0
    table.add_source(Strings([]))
    while s < words.columns.n_sentences:
        s = core.gold_keys(template.struct, words.struct, memory, len(heads), heads, s, len(keys), keys, done)
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
        found = core.count_keys(
            template.struct, words.struct, memory, s, len(counters), counters, often, len(keys), keys
        )
        table.intern_more(keys[:found])
    return Known(table, parts)


def encode_arcs(
    words: Words, template: ArcTemplate, table: AttributeTable, kept: Kept | None = None
) -> ArcFeatures:
    """The ids of the known features of every arc, or of those kept."""
    lengths = words.lengths
    memory = template.memory(int(lengths.max(initial=1)))
    first_arc = offsets(lengths * (lengths + 1))
    ptr = np.zeros(int(first_arc[-1]) + 1, dtype=np.int64)
    most = len(template.arc_lines) + 64 * template.n_between
    usual = len(template.arc_lines) + 8 * template.n_between
    largest = int((lengths * (lengths + 1)).max(initial=0)) * most
    keep = np.ones(int(first_arc[-1]), dtype=np.uint8) if kept is None else kept
    ids = np.empty(
        int(np.count_nonzero(keep)) * usual + largest, dtype=np.int32
    )  # pages that are not used are not there
    used = 0
    for s, n in enumerate(lengths.tolist()):
        own = ptr[first_arc[s] : first_arc[s] + n * (n + 1) + 1]
        if used + n * (n + 1) * most > len(ids):
            ids = np.concatenate([ids[:used], np.empty(len(ids) - used + largest, dtype=np.int32)])
        used += core.encode(
            template.struct,
            words.struct,
            memory,
            s,
            len(table.slots),
            table.slots,
            n * (n + 1),
            keep[first_arc[s] :],
            own,
            len(ids) - used,
            ids[used:],
        )
    return ArcFeatures(words.sentence_ptr, first_arc, ptr, ids[:used])


def locate(words: Words, heads: Ints, template: ArcTemplate, table: AttributeTable) -> tuple[Ints, Offsets]:
    """Where each feature is met first: (head, child, line, word between or sibling, grandparent), and the sentence."""
    memory = template.memory(int(words.lengths.max(initial=1)))
    places = np.full((len(table), 4), -1, dtype=np.int32)
    sentences = np.zeros(len(table), dtype=np.int32)
    for s in range(words.columns.n_sentences):
        core.locate(
            template.struct,
            words.struct,
            memory,
            s,
            len(table.slots),
            table.slots,
            len(table),
            places,
            sentences,
        )
    found, above = sentences.astype(np.int64), np.zeros((len(table), 1), dtype=np.int32)
    whole = np.hstack([places, above])
    if template.part_lines:
        locate_parts(words, heads, template, table, whole, found)
    return whole, found
