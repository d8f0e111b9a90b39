"""Scores one sentence and finds its best tree, marginals or k best trees."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from epigram._core import bindings
from epigram.chain.loss import run_each
from epigram.errors import InputError
from epigram.parsing.arc_loss import Kept, span_memory
from epigram.parsing.arc_templates import ArcTemplate
from epigram.parsing.arc_words import Words
from epigram.parsing.pruning import ForestMemory, forest_sizes, shards_of
from epigram.protocols import Floats, Ints

FORBIDDEN = -1e300


class Chart:
    """First-order scores of one sentence, chosen by :meth:`score`; has the memory of one thread."""

    def __init__(self, template: ArcTemplate, weights: Any, words: Words, keep: Kept) -> None:
        self.template, self.weights, self.words, self.keep = template, weights, words, keep
        room = int(words.lengths.max(initial=1))
        self._memory, self._spans = template.memory(room), span_memory(room)

    def score(self, s: int) -> None:
        """Score sentence s."""
        self.n, keep = int(self.words.lengths[s]), self._kept(s)
        scores = np.empty(len(keep))
        self._score_arcs(s, keep, scores)
        self.scores: Floats = np.where(keep.astype(bool), scores, FORBIDDEN).reshape(self.n + 1, self.n)

    def _kept(self, s: int) -> Kept:
        """Return the arcs that sentence s may have."""
        return self.keep[self.words.first_arc[s] : self.words.first_arc[s + 1]]

    def _score_arcs(self, s: int, keep: Kept, out: Floats) -> None:
        own = self.template.struct, self.words.struct, self._memory, s, self.weights
        bindings.arcs_scores(*own, keep, out)

    def log_z(self) -> float:
        """Return the logarithm of the sum over all trees."""
        z: float = bindings.eisner_inside(self.n, self.scores, self._spans)
        return z

    def marginals(self) -> tuple[Floats, float]:
        """Return the probability of every arc, and log Z."""
        out = np.empty_like(self.scores)
        return out, bindings.eisner_marginals(self.n, self.scores, self._spans, out)

    def best(self, heads: Ints) -> float:
        """Write the best tree to ``heads``; return its score."""
        value: float = bindings.eisner_best(self.scores, self._spans, heads)
        return value

    def most_expected(self, heads: Ints) -> float:
        """Write the tree with the most expected correct arcs to ``heads``; return their number."""
        p, _ = self.marginals()
        expected = np.where(self.scores > FORBIDDEN / 2, p, FORBIDDEN)
        value: float = bindings.eisner_best(expected, self._spans, heads)
        return value

    def k_best(self, k: int) -> tuple[Ints, Floats]:
        """Return the k best trees, or all if fewer, and their scores."""
        size = 3 * self.n * self.n * k
        lists = bindings.Lists(self.n, k, np.empty(size), np.zeros(size, dtype=np.int64))
        values, origins = np.empty(k), np.zeros(k, dtype=np.int64)
        heads = np.zeros((k, self.n), dtype=np.int32)
        found = bindings.eisner_k_best(self.n, self.scores, lists, values, origins, heads)
        return heads[:found], values[:found]


class ForestChart(Chart):
    """Second- and third-order scores over the kept arcs."""

    def __init__(self, template: ArcTemplate, weights: Any, words: Words, keep: Kept) -> None:
        super().__init__(template, weights, words, keep)
        room = int(words.lengths.max(initial=1))
        self._forest = ForestMemory(0, np.zeros(6, dtype=np.int64))
        self._parts = [(lines, lines.memory(room)) for lines in template.part_kinds]

    def score(self, s: int) -> None:
        n, keep = int(self.words.lengths[s]), self._kept(s)
        self.n = n
        (sizes,) = forest_sizes([n], np.array([0, len(keep)]), keep)
        if not self._forest.fits(n, sizes):
            self._forest = ForestMemory(n, sizes)
        bindings.forest_build(n, keep, self._forest.struct)
        bounds = np.cumsum([len(keep), *self._forest.counts]).tolist()
        values = np.empty(bounds[-1])
        self._score_arcs(s, keep, values[: len(keep)])
        for rank, (lines, memory) in enumerate(self._parts):
            parts = self._forest.parts[rank][: 4 * self._forest.counts[rank]]
            given = lines.struct, self.words.struct, memory, s, self.weights, parts
            bindings.part_features_scores(*given, values[bounds[rank] : bounds[rank + 1]])
        bindings.forest_score(n, values, self._forest.struct)

    def log_z(self) -> float:
        z: float = bindings.forest_inside(self._forest.struct)
        return z

    def marginals(self) -> tuple[Floats, float]:
        n, forest = self.n, self._forest.struct
        z: float = bindings.forest_marginals(forest)
        out = np.zeros(n * (n + 1) + sum(self._forest.counts[:2]))
        bindings.forest_collect(n, forest, out)
        return out[: n * (n + 1)].reshape(n + 1, n), z

    def best(self, heads: Ints) -> float:
        value: float = bindings.forest_best(self._forest.struct, heads)
        return value

    def k_best(self, k: int) -> tuple[Ints, Floats]:
        size = self._forest.n_nodes * k
        values, heads = np.empty(k), np.zeros((k, self.n), dtype=np.int32)
        back = np.zeros(size, dtype=np.int64)
        found = bindings.forest_k_best(self.n, self._forest.struct, np.empty(size), back, values, heads)
        return heads[:found], values[:found]


def expected_heads(template: ArcTemplate, weights: Any, words: Words, keep: Kept, threads: int = 1) -> Ints:
    """Return the trees of order 2 or 3 with most expected correct arcs."""
    heads = np.zeros(int(words.sentence_ptr[-1]), dtype=np.int32)
    sizes = forest_sizes(words.lengths, words.first_arc, keep)

    def run(sentences: Ints) -> None:
        room, most = int(words.lengths[sentences].max(initial=1)), sizes[sentences].max(0, initial=1)
        scores = np.empty(2 * room * (room + 1) + int(most[1:4].sum()))
        pairs, grands, both = template.part_kinds
        s = bindings.forest_decode_expected(
            template.struct, pairs.struct, grands.struct, both.struct, words.struct, weights,
            template.memory(room), pairs.memory(room), grands.memory(room), both.memory(room),
            ForestMemory(room, most).struct, span_memory(room), sentences, words.first_arc, keep, scores, heads,
        )  # fmt: skip
        if s >= 0:
            refuse_sentence(s)

    run_each(run, shards_of(words, threads))
    return heads


def refuse_sentence(s: int) -> NoReturn:
    """Raise an InputError for a sentence without a tree."""
    raise InputError(f"sentence {s} has no projective tree of the allowed arcs; allow more heads")
