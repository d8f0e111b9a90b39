"""Sibling and grandparent parts of trees and their feature ids.

A part is (grandparent, head, sibling, child): a child with the child of the same head before it, from the inside to
the outside, and with the head of its head. Words count from 1, and grandparent 0 is the root. A first child has its
head as sibling; child 0 on the left and n + 1 on the right are the ends after the last child.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram._core import bindings
from epigram.features.attributes import AttributeTable, Fingerprints
from epigram.parsing.arc_templates import ArcTemplate, PartLines
from epigram.parsing.arc_words import Words
from epigram.protocols import Ints, Offsets

Part = tuple[int, int, int, int]


def tree_parts(heads: Sequence[int]) -> list[Part]:
    """List the parts of a tree; the child of the root has none.

    Examples
    --------
    >>> tree_parts([2, 0])
    [(2, 1, 1, 0), (2, 1, 1, 3), (0, 2, 2, 1), (0, 2, 1, 0), (0, 2, 2, 3)]
    """
    n = len(heads)
    sides: list[tuple[list[int], list[int]]] = [([], []) for _ in range(n + 1)]
    for child, head in enumerate(heads, 1):
        sides[head][head < child].append(child)
    found = []
    for head, (left, right) in enumerate(sides[1:], 1):
        for chain in ([head, *left[::-1], 0], [head, *right, n + 1]):
            found += [(heads[head - 1], head, sibling, child) for sibling, child in pairwise(chain)]
    return found


def part_keys(words: Words, lines: PartLines, s: int, parts: Sequence[Part]) -> Fingerprints:
    """Compute the key of every part by every line."""
    out = np.empty((len(parts), len(lines)), dtype=np.uint64)
    given = np.array(parts, dtype=np.int32).reshape(-1, 4)
    bindings.part_features_keys(
        lines.struct, words.struct, lines.memory(int(words.lengths[s])), s, given, out
    )
    return out


def seen_by(lines: PartLines, n: int, parts: Sequence[Part]) -> list[Part]:
    """Keep the parts that lines read: lines without a sibling read no ends."""
    return list(parts) if lines.see_ends else [part for part in parts if 1 <= part[3] <= n]


def _gold(
    words: Words, heads: Ints, template: ArcTemplate
) -> Iterator[tuple[int, PartLines, list[Part], Fingerprints]]:
    """Yield the parts of each tree and their keys, by kind of lines."""
    for s, (a, b) in enumerate(pairwise(words.sentence_ptr.tolist())):
        parts = tree_parts(heads[a:b].tolist())
        for lines in template.part_lines:
            chosen = seen_by(lines, b - a, parts)
            yield s, lines, chosen, part_keys(words, lines, s, chosen)


def tree_part_keys(words: Words, heads: Ints, template: ArcTemplate) -> Iterator[Fingerprints]:
    """Yield the keys of the features of parts of all trees."""
    if template.part_lines:
        yield from (keys.ravel() for _, _, _, keys in _gold(words, heads, template))


def hash_table(keys: Fingerprints, numbers: npt.NDArray[np.uint32]) -> Any:
    """Return the 32-bit numbers of keys as the table of C; keys whose number is 0 are left out."""
    scale = max(4, (3 * len(keys) // 2).bit_length())
    slots, present = np.zeros(1 << scale, dtype=np.uint64), np.zeros(1 << scale - 4, dtype=np.uint64)
    table = bindings.ArcTable(slots, present)
    bindings.arcs_fill(keys, numbers, table)
    return table


def locate_parts(
    words: Words, heads: Ints, template: ArcTemplate, table: AttributeTable, places: Ints, sentences: Offsets
) -> None:
    """Find the first (head, child, line, sibling, grandparent) of each feature of parts."""
    if not len(places):
        return
    for s, lines, parts, keys in _gold(words, heads, template):
        ids: npt.NDArray[np.int32] = table.look_up(keys.ravel()).reshape(keys.shape)
        for k, line in np.argwhere((ids >= 0) & (places[ids, 0] < 0)).tolist():
            grand, head, sibling, child = parts[k]
            if places[ids[k, line], 0] < 0:
                places[ids[k, line]] = head, child, lines.first + line, sibling, grand
                sentences[ids[k, line]] = s
