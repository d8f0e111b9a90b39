"""Scores one sentence and finds its best tree, marginals or k best trees."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from epigram._core import bindings
from epigram.errors import InputError
from epigram.features.attributes import Fingerprints
from epigram.parsing.arc_loss import Kept, span_memory
from epigram.parsing.arc_templates import ArcTemplate
from epigram.parsing.arc_words import Words
from epigram.parsing.pruning import ForestMemory, forest_sizes, likely_arcs
from epigram.protocols import Floats, Ints

if TYPE_CHECKING:
    from epigram.parsing.arc_model import Pruner

FORBIDDEN = -1e300


class Chart:
    """First-order scores of one sentence, chosen by :meth:`score`; has the memory of one thread."""

    def __init__(self, template: ArcTemplate, slots: Fingerprints, words: Words) -> None:
        self.template, self.slots, self.words = template, slots, words
        room = int(words.lengths.max(initial=1))
        self._memory, self._spans = template.memory(room), span_memory(room)

    def score(self, s: int, allowed: Sequence[Iterable[int] | None] | None) -> None:
        """Score sentence s; ``allowed`` has the heads that its words may have."""
        self.n = int(self.words.lengths[s])
        self.scores: Floats = np.empty((self.n + 1, self.n))
        bindings.arcs_scores(
            self.template.struct,
            self.words.struct,
            self._memory,
            s,
            self.slots,
            np.ones(self.scores.size, dtype=np.uint8),
            self.scores,
        )
        if allowed is not None:
            forbid(self.scores, allowed, s)

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
    """Second- and third-order scores over the arcs that the pruner keeps; all without one."""

    def __init__(
        self, template: ArcTemplate, slots: Fingerprints, words: Words, pruner: Pruner | None
    ) -> None:
        super().__init__(template, slots, words)
        self._pruner = None if pruner is None else pruner.model.chart(words)
        self._prune = 0.0 if pruner is None else pruner.share
        room = int(words.lengths.max(initial=1))
        self._forest = ForestMemory(0, np.zeros(6, dtype=np.int64))
        self._parts = {lines.rank: (lines, lines.memory(room)) for lines in template.part_lines}

    def score(self, s: int, allowed: Sequence[Iterable[int] | None] | None) -> None:
        n = self.n = int(self.words.lengths[s])
        keep = self._kept(s, allowed)
        (sizes,) = forest_sizes([n], np.zeros(2, dtype=np.int64), keep.ravel())
        if not self._forest.fits(n, sizes):
            self._forest = ForestMemory(n, sizes)
        bindings.forest_build(n, keep, self._forest.struct)
        n_arcs, many = n * (n + 1), self._forest.counts
        if 2 not in self._parts:
            many = many[:2]
        values = np.zeros(n_arcs + sum(many))
        bindings.arcs_scores(
            self.template.struct, self.words.struct, self._memory, s, self.slots, keep, values[:n_arcs]
        )
        for rank, (lines, memory) in self._parts.items():
            first, parts = n_arcs + sum(many[:rank]), self._forest.parts[rank][: 4 * many[rank]]
            given = lines.struct, self.words.struct, memory, s, self.slots, parts
            bindings.part_features_scores(*given, values[first : first + many[rank]])
        self.scores = np.where(keep.astype(bool), values[:n_arcs].reshape(n + 1, n), FORBIDDEN)
        bindings.forest_score(n, values, self._forest.struct)

    def _kept(self, s: int, allowed: Sequence[Iterable[int] | None] | None) -> Kept:
        n = self.n
        if self._pruner is None:
            scores = np.zeros((n + 1, n))
            if allowed is not None:
                forbid(scores, allowed, s)
            return (scores > FORBIDDEN / 2).astype(np.uint8)
        self._pruner.score(s, allowed)
        p, best = self._pruner.marginals()[0], np.zeros(n, dtype=np.int32)
        if self._pruner.best(best) < FORBIDDEN / 2:
            return np.zeros((n + 1, n), dtype=np.uint8)
        return likely_arcs(p, best, self._prune)

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


def forbid(scores: Floats, heads: Sequence[Iterable[int] | None], s: int) -> None:
    """Forbid the arcs from heads that are not among those given for each word."""
    n = scores.shape[1]
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
        mask = np.ones(n + 1, dtype=bool)
        mask[chosen] = False
        scores[mask, c] = FORBIDDEN
