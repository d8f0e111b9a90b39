"""Which arcs of a sentence are worth a model of third order, and working memory for the trees of those.

A small model of first order comes before: an arc is kept if its probability is at least ``prune`` times that of the
word's likeliest head. The arcs of the best tree of that model are kept too, so that there always is a tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram._core.native import family
from epigram.errors import InputError
from epigram.protocols import Floats, Ints, Offsets

core = family("forest")
Kept = npt.NDArray[np.uint8]
MOST_HEADS = 16  # of a word; those of the best tree come on top
MOST_EDGES = 1 << 31


def likely_arcs(p: Floats, best: Ints, prune: float) -> Kept:
    """1 for the arcs that are kept, of one sentence: p has the probabilities, ``best`` the heads of the best tree."""
    n = p.shape[1]
    least = prune * p.max(0)
    if n > MOST_HEADS:
        least = np.maximum(least, np.partition(p, n - MOST_HEADS, axis=0)[n - MOST_HEADS + 1])
    keep: Kept = ((p >= least) & (p > 0.0)).astype(np.uint8)
    keep[best, np.arange(n)] = 1
    return keep


def forest_sizes(lengths: Sequence[int] | Offsets, first_arc: Offsets, keep: Kept) -> Offsets:
    """Of each sentence the number of kept arcs, trios, grands, links, nodes and edges."""
    sizes = np.zeros((len(lengths), 6), dtype=np.int64)
    for s, n in enumerate(lengths):
        if not n:
            continue
        core.sizes(int(n), keep[first_arc[s] :], sizes[s])
        if sizes[s].max() >= MOST_EDGES // 4:
            raise InputError(
                f"sentence {s} has {n} words, too many for every arc; a larger prune keeps fewer (it is a share, 0.01)"
            )
    return sizes


class ForestMemory:
    """Working memory of C for sentences of up to so many words, and up to so much of everything.

    ``parts`` are the trios, grands and links, ``counts`` says how many there are of each.
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
        self.struct: Any = core.Forest(
            n, kept, trios, grands, links, nodes, edges,
            self.all_counts, *arrays,
            np.zeros(nodes + 1, dtype=np.int64), np.zeros(3 * edges, dtype=np.int32),
            *(np.zeros(size) for size in (links, links, nodes, nodes)),
            np.zeros(nodes, dtype=np.int64),
        )  # fmt: skip

    @property
    def counts(self) -> list[int]:
        """How many trios, grands and links there are."""
        return [int(count) for count in self.all_counts[1:4]]

    @property
    def n_nodes(self) -> int:
        """How many nodes there are."""
        return int(self.all_counts[4])

    def fits(self, n_words: int, sizes: Offsets) -> bool:
        """Whether there is room for a sentence."""
        return bool((np.array([n_words, *sizes.tolist()]) <= self.room).all())
