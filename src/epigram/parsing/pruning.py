"""Selects the arcs that survive pruning, and allocates the arrays for parsing over them.

An arc is kept if its probability by a small first-order model is at least ``prune`` times that of the word's likeliest
head. The arcs of that model's best tree are kept too, so that there always is a tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from epigram._core import bindings
from epigram.chain.loss import run_each
from epigram.errors import InputError
from epigram.parsing.arc_loss import Kept, span_memory
from epigram.parsing.arc_templates import ArcTemplate
from epigram.parsing.arc_words import Words
from epigram.protocols import Ints, Offsets

MOST_EDGES = 1 << 31
Allowed = Sequence[Sequence[Iterable[int] | None] | None]
"""For each sentence and word the heads to choose from; None for all."""


def permitted_arcs(words: Words, allowed: Allowed | None) -> Kept:
    """Mark the arcs to the heads that are allowed (None: all), of all sentences."""
    permitted = np.ones(int(words.first_arc[-1]), dtype=np.uint8)
    if allowed is None:
        return permitted
    if len(allowed) != len(words.lengths):
        raise InputError(
            f"allowed has {len(allowed)} sentences, the input has {len(words.lengths)}; give one list per sentence"
        )
    for s, own in enumerate(allowed):
        if own is not None:
            n = int(words.lengths[s])
            permit(permitted[words.first_arc[s] : words.first_arc[s + 1]].reshape(n + 1, n), own, s)
    return permitted


def permit(permitted: Kept, heads: Sequence[Iterable[int] | None], s: int) -> None:
    """Permit only the arcs from heads that are among those given for each word of sentence s."""
    n = permitted.shape[1]
    if len(heads) != n:
        raise InputError(
            f"allowed has {len(heads)} words for sentence {s}, which has {n}; give None for words with free heads"
        )
    for c, own in enumerate(heads):
        if own is None:
            continue
        chosen = list(own)
        if not chosen or min(chosen) < 0 or max(chosen) > n:
            raise InputError(f"allowed heads of sentence {s}, word {c + 1} are {chosen}; heads are 0 to {n}")
        mask = np.zeros(n + 1, dtype=np.uint8)
        mask[chosen] = 1
        permitted[:, c] &= mask


def likely_arcs(
    template: ArcTemplate, weights: Any, words: Words, share: float, permitted: Kept, threads: int = 1
) -> Kept:
    """Mark the kept arcs of all sentences, by a first-order model (``_core/pruning.h``)."""
    keep, shards = np.zeros_like(permitted), shards_of(words, threads)

    def run(sentences: Ints) -> None:
        room = int(words.lengths[sentences].max(initial=1))
        scores, best = np.empty(2 * room * (room + 1)), np.empty(room, dtype=np.int32)
        bindings.pruning_keep(
            template.struct, words.struct, weights, template.memory(room), span_memory(room), sentences,
            words.first_arc, permitted, share, scores, best, keep,
        )  # fmt: skip

    run_each(run, shards)
    return keep


def shards_of(words: Words, threads: int) -> list[Ints]:
    """Divide the sentences among threads, about the same number of arcs to each."""
    bounds = np.searchsorted(words.first_arc[1:], words.first_arc[-1] * np.arange(1, threads) / threads)
    return np.split(np.arange(len(words.lengths), dtype=np.int32), bounds)


def forest_sizes(lengths: Sequence[int] | Offsets, first_arc: Offsets, keep: Kept) -> Offsets:
    """Count kept arcs, trios, grands, links, nodes and edges of each sentence."""
    sizes = np.zeros((len(lengths), 6), dtype=np.int64)
    bindings.forest_sizes(np.asarray(lengths, dtype=np.int64), first_arc, keep, sizes.ravel())
    if sizes.max(initial=0) >= MOST_EDGES // 4:
        s = int(sizes.max(1).argmax())
        raise InputError(
            f"sentence {s} has {lengths[s]} words, too many to keep so many arcs; give a larger prune, such as 0.01"
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
