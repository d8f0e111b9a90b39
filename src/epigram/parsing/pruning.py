"""Selects the arcs that survive pruning, and allocates the arrays for parsing over them.

An arc is kept if its probability by a small first-order model is at least ``prune`` times that of the word's likeliest
head. The arcs of that model's best tree are kept too, so that there always is a tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from epigram._core import bindings
from epigram.errors import InputError
from epigram.parsing.arc_loss import Kept
from epigram.protocols import Floats, Ints, Offsets

MOST_HEADS = 16  # of a word, besides those of the best tree
MOST_EDGES = 1 << 31


def likely_arcs(p: Floats, best: Ints, prune: float) -> Kept:
    """Mark the kept arcs of a sentence, by their probabilities and the heads of the best tree."""
    n = p.shape[1]
    least = prune * p.max(0)
    if n > MOST_HEADS:
        least = np.maximum(least, np.partition(p, n - MOST_HEADS, axis=0)[n - MOST_HEADS + 1])
    keep: Kept = ((p >= least) & (p > 0.0)).astype(np.uint8)
    keep[best, np.arange(n)] = 1
    return keep


def forest_sizes(lengths: Sequence[int] | Offsets, first_arc: Offsets, keep: Kept) -> Offsets:
    """Count kept arcs, trios, grands, links, nodes and edges of each sentence."""
    sizes = np.zeros((len(lengths), 6), dtype=np.int64)
    for s, n in enumerate(lengths):
        if not n:
            continue
        bindings.forest_sizes(int(n), keep[first_arc[s] :], sizes[s])
        if sizes[s].max() >= MOST_EDGES // 4:
            raise InputError(
                f"sentence {s} has {n} words, too many to keep so many arcs; give a larger prune, such as 0.01"
            )
    return sizes


class ForestMemory:
    """Working memory of C for sentences up to the given number of words and sizes.

    ``parts`` are the trios, grands and links; ``counts`` has the number of each.
    """

    def __init__(self, n_words: int, sizes: Offsets) -> None:
        n, (kept, trios, grands, links, nodes, edges) = n_words, sizes.tolist()
        index = (
            *(n * n + n, 2 * kept, 2 * n + 3, kept, n + 2, 2 * kept, 2 * kept, 2 * kept, kept, 2 * n + 2),
            *(kept * n + kept, grands, trios, 4 * trios, 4 * grands, 4 * links, 3 * links),
        )
        arrays = [np.zeros(size, dtype=np.int32) for size in index]
        self.room = np.array([n, *sizes.tolist()])
        self.all_counts = np.zeros(6, dtype=np.int64)
        self.parts: list[Ints] = arrays[-4:-1]
        others: list[Any] = [np.zeros(nodes + 1, dtype=np.int64), np.zeros(3 * edges, dtype=np.int32)]
        others += [np.zeros(size) for size in (links, links, nodes, nodes)]
        others.append(np.zeros(nodes, dtype=np.int64))
        self.struct: Any = bindings.Forest(self.all_counts, *(*arrays, *others))

    @property
    def counts(self) -> list[int]:
        """Numbers of trios, grands and links."""
        return [int(count) for count in self.all_counts[1:4]]

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self.all_counts[4])

    def fits(self, n_words: int, sizes: Offsets) -> bool:
        """Whether the memory is large enough for a sentence."""
        return bool((np.array([n_words, *sizes.tolist()]) <= self.room).all())
