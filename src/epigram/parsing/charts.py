"""All trees of one sentence at a time: scores of its arcs and parts; sums, maxima and k best."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from epigram._core.native import family
from epigram.errors import InputError
from epigram.parsing.arc_loss import sibling_span_memory, span_memory
from epigram.parsing.forests import ForestMemory, Kept, forest_sizes, likely_arcs
from epigram.parsing.templates import ArcTemplate
from epigram.parsing.words import Words
from epigram.protocols import Floats, Ints
from epigram.tagging.attributes import Fingerprints

if TYPE_CHECKING:
    from epigram.parsing.arc_model import Pruner

arcs, trees, forests, parts = family("arcs"), family("eisner"), family("forest"), family("part_features")
siblings, sibling_trees = family("sibling_features"), family("siblings")
FORBIDDEN = -1e300


class Chart:
    """First order. Working memory of one thread; :meth:`score` chooses the sentence."""

    def __init__(self, template: ArcTemplate, slots: Fingerprints, words: Words) -> None:
        self.template, self.slots, self.words = template, slots, words
        room = int(words.lengths.max(initial=1))
        self._memory, self._spans = template.memory(room), span_memory(room)

    def score(self, s: int, allowed: Sequence[Iterable[int] | None] | None) -> None:
        """Look at sentence s; ``allowed`` has the heads that its words may have."""
        self.n = int(self.words.lengths[s])
        self.scores: Floats = np.empty((self.n + 1, self.n))
        arcs.scores(
            self.template.struct,
            self.words.struct,
            self._memory,
            s,
            len(self.slots),
            self.slots,
            self.scores.size,
            np.ones(self.scores.size, dtype=np.uint8),
            self.scores,
        )
        if allowed is not None:
            forbid(self.scores, allowed, s)

    def log_z(self) -> float:
        """The logarithm of the sum over all trees."""
        z: float = trees.inside(self.n, self.scores, self._spans)
        return z

    def marginals(self) -> tuple[Floats, float]:
        """The probability of every arc, and log Z. Siblings have no scores any more after it."""
        out = np.empty_like(self.scores)
        return out, trees.marginals(self.n, self.scores, self._spans, out)

    def best(self, heads: Ints) -> float:
        """The best tree to ``heads``; its score."""
        value: float = trees.best(self.n, self.scores, self._spans, heads)
        return value

    def most_expected(self, heads: Ints) -> float:
        """The tree with the most arcs to be expected right to ``heads``; their number."""
        p, _ = self.marginals()
        expected = np.where(self.scores > FORBIDDEN / 2, p, FORBIDDEN)
        value: float = trees.best(self.n, expected, self._spans, heads)
        return value

    def k_best(self, k: int) -> tuple[Ints, Floats]:
        """The k best trees, or all where they are fewer, and their scores."""
        size = 3 * self.n * self.n * k
        lists = trees.Lists(self.n, k, np.empty(size), np.zeros(size, dtype=np.int64))
        values, origins = np.empty(k), np.zeros(k, dtype=np.int64)
        heads = np.zeros((k, self.n), dtype=np.int32)
        found = trees.k_best(self.n, self.scores, lists, k, values, origins, heads)
        return heads[:found], values[:found]


class SiblingChart(Chart):
    """Second order."""

    def __init__(self, template: ArcTemplate, slots: Fingerprints, words: Words) -> None:
        super().__init__(template, slots, words)
        room = int(words.lengths.max(initial=1))
        self._sibling_memory, self._sibling_spans = template.sibling_memory(room), sibling_span_memory(room)

    def score(self, s: int, allowed: Sequence[Iterable[int] | None] | None) -> None:
        super().score(s, allowed)
        n = self.n
        self.trios, self.stops = np.empty(n * (n * n - 1) // 3), np.empty(n * n + n)
        siblings.scores(
            self.template.sibling_struct,
            self.words.struct,
            self._sibling_memory,
            s,
            len(self.slots),
            self.slots,
            len(self.trios),
            self.trios,
            len(self.stops),
            self.stops,
        )

    def _given(self) -> tuple[Any, ...]:
        return self.n, self.scores, len(self.trios), self.trios, self.stops

    def log_z(self) -> float:
        z: float = sibling_trees.inside(*self._given(), self._sibling_spans)
        return z

    def marginals(self) -> tuple[Floats, float]:
        out = np.empty_like(self.scores)
        return out, sibling_trees.marginals(*self._given(), self._sibling_spans, out)

    def best(self, heads: Ints) -> float:
        value: float = sibling_trees.best(*self._given(), self._sibling_spans, heads)
        return value

    def k_best(self, k: int) -> tuple[Ints, Floats]:
        size = 4 * self.n * self.n * k
        lists = sibling_trees.SiblingLists(self.n, k, np.empty(size), np.zeros(size, dtype=np.int64))
        values, origins = np.empty(k), np.zeros(k, dtype=np.int64)
        heads = np.zeros((k, self.n), dtype=np.int32)
        found = sibling_trees.k_best(*self._given(), lists, k, values, origins, heads)
        return heads[:found], values[:found]


class ForestChart(Chart):
    """Third order, over the arcs that a model of first order keeps; all of them without one."""

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
        forests.build(n, keep, self._forest.struct)
        n_arcs, many = n * (n + 1), self._forest.counts
        if 2 not in self._parts:
            many = many[:2]
        values = np.zeros(n_arcs + sum(many))
        start = self.template.struct, self.words.struct, self._memory, s, len(self.slots), self.slots
        arcs.scores(*start, n_arcs, keep, values)
        for rank, (lines, memory) in self._parts.items():
            own = values[n_arcs + sum(many[:rank]) :]
            given = lines.struct, self.words.struct, memory, s, len(self.slots), self.slots
            parts.scores(*given, many[rank], self._forest.parts[rank], own)
        self.scores = np.where(keep.astype(bool), values[:n_arcs].reshape(n + 1, n), FORBIDDEN)
        forests.score(n, len(values), values, self._forest.struct)

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
        z: float = forests.inside(self._forest.struct)
        return z

    def marginals(self) -> tuple[Floats, float]:
        n, forest = self.n, self._forest.struct
        z: float = forests.marginals(forest)
        out = np.zeros(n * (n + 1) + sum(self._forest.counts[:2]))
        forests.collect(n, forest, len(out), out)
        return out[: n * (n + 1)].reshape(n + 1, n), z

    def best(self, heads: Ints) -> float:
        value: float = forests.best(self.n, self._forest.struct, heads)
        return value

    def k_best(self, k: int) -> tuple[Ints, Floats]:
        size = self._forest.n_nodes * k
        values, heads = np.empty(k), np.zeros((k, self.n), dtype=np.int32)
        back = np.zeros(size, dtype=np.int64)
        found = forests.k_best(self.n, self._forest.struct, k, size, np.empty(size), back, values, heads)
        return heads[:found], values[:found]


def forbid(scores: Floats, heads: Sequence[Iterable[int] | None], s: int) -> None:
    """Forbid the arcs from heads that are not among those given for each word."""
    n = scores.shape[1]
    if len(heads) != n:
        raise InputError(
            f"allowed has {len(heads)} words for sentence {s}, which has {n}; use None for free ones"
        )
    for c, own in enumerate(heads):
        if own is None:
            continue
        chosen = list(own)
        if not chosen or min(chosen) < 0 or max(chosen) > n:
            raise InputError(f"allowed heads of sentence {s}, word {c + 1}: {chosen}; heads are 0 to {n}")
        mask = np.ones(n + 1, dtype=bool)
        mask[chosen] = False
        scores[mask, c] = FORBIDDEN
