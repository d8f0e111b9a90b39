"""Loss of choosing a class, or a word within its class, with exact gradient.

    P(u | x, r) = exp( sum over trees t of s_t[c_t(x), u] ) / Z      u one of the candidates of the root r

Each tree has its own view of the history, so no sweep over one tree gives Z; but with a few hundred candidates Z is a
sum of that many products. One pass goes down and up the main tree (the first) depth first, with one row of candidates a
level; side trees keep one row for each of their contexts. The class given the history (one root) and the word given its
class (a root for each class) are both such choices (:class:`Factor`): P(w | h) = P(c(w) | h) P(w | c(w), h). Their
weights are separate, so they are fitted one after the other. Roots are independent, so threads take roots, or subtrees
of one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TypeVar

import numpy as np

from epigram._core import bindings
from epigram._core.arrays import offsets
from epigram._core.threads import Parts
from epigram.lm.factored.classes import WordClasses
from epigram.lm.factored.contexts import Contexts, FactorExamples
from epigram.lm.loglinear.tree import ContextTree, Located, Positions
from epigram.protocols import Floats, Ints, Offsets

S = TypeVar("S")
T = TypeVar("T")

PARTS = ("class", "word")


class FactorLoss:
    """Sum of -log P(choice | root, contexts); a :class:`~epigram.protocols.BatchLoss`.

    ``tree`` holds all trees: its roots are those of the main tree, then those of each side tree.

    Parameters
    ----------
    examples : training positions
    n_candidates : candidates of each root
    others : positions whose contexts and pairs the tree gets as well, uncounted
    """

    def __init__(
        self,
        examples: FactorExamples,
        n_candidates: Ints,
        threads: int = 1,
        others: Positions | None = None,
    ) -> None:
        self.examples, self.n_candidates, self.threads = examples, n_candidates, threads
        self.n_roots, self.n_samples = n_candidates.size, examples.candidate.size
        positions = examples.positions(self.n_roots, int(n_candidates.max()))
        if others is None:
            tree = ContextTree.grow(positions, order=0)
        else:
            tree = ContextTree.grow(others.followed_by(positions), order=0).recount(positions)
        self.n_trees = positions.n_roots // self.n_roots
        seen = np.diff(tree.pair_ptr[: positions.n_roots + 1])
        n_unseen = (np.tile(n_candidates, self.n_trees) - seen).astype(np.int32)
        self.tree = replace(tree, n_unseen=n_unseen)
        self.n_weights = tree.n_pairs
        found = Located(tree, positions).context.reshape(self.n_trees, self.n_samples)
        self.contexts: Ints = np.ascontiguousarray(found.T)
        self._lay_out()

    def _lay_out(self) -> None:
        """Rows of the side contexts, root by root; positions in the order of their main contexts."""
        tree, n_roots = self.tree, self.n_roots
        root = tree.root_of
        side = np.flatnonzero(root >= n_roots)
        owner = root[side] % n_roots
        order = np.argsort(owner, kind="stable")
        side_context = side[order].astype(np.int32)
        self._side_ptr = np.searchsorted(owner[order], np.arange(n_roots + 1))
        side_row = np.full(tree.n_contexts, -1, np.int32)
        side_row[side_context] = np.arange(side.size, dtype=np.int32)
        main = self.contexts[:, 0]
        by_context = np.argsort(main, kind="stable")
        self._child_ptr = tree.child_ptr
        self._core = bindings.Trees(
            self.n_samples,
            self.n_trees - 1,
            tree.parent,
            self._child_ptr,
            tree.pair_ptr,
            tree.word,
            tree.count,
            np.searchsorted(main[by_context], np.arange(tree.n_contexts + 1)),
            np.ascontiguousarray(side_row[self.contexts[by_context, 1:]]),
            side_context,
            side_row,
        )
        self._width = (-(-self.n_candidates.astype(np.int64) // 8) * 8).tolist()
        # Dear roots come first, so that no thread is left with one at the end.
        cost = np.bincount(self.examples.root, minlength=n_roots) * np.array(self._width)
        self._active = np.argsort(-cost, kind="stable")[: np.count_nonzero(cost)].tolist()
        self._team = Parts(self.n_weights, self.threads)
        self._shares = self._shared_children() if n_roots == 1 and self.threads > 1 else None

    def value(self, w: Floats) -> float:
        """The loss alone."""
        return self._sweep(w, None)

    def value_and_gradient(self, w: Floats, out: Floats) -> float:
        """Loss and gradient (expected count - count)."""
        out[:] = 0.0
        return self._sweep(w, out)

    def batch_value_and_gradient(
        self, samples: Offsets, scale: float, w: Floats, out: Floats, touched: Ints
    ) -> tuple[float, Ints]:
        """``scale`` times the loss of some positions, with its gradient.

        ``out`` must be zero but for the paths of the positions ``touched`` by the call before; returns those of
        this one.
        """
        mine = samples.astype(np.int32)
        bindings.factored_clear_paths(self._core, touched.astype(np.int32), self.n_trees, self.contexts, out)
        value = bindings.factored_batch(
            self._core,
            mine,
            self.n_trees,
            self.contexts,
            self.n_candidates,
            self.examples.root,
            self.examples.candidate,
            scale,
            w,
            np.empty(int(self.n_candidates.max())),
            out,
        )
        return value, mine

    def curvature(self, gradient: Floats) -> Floats:
        """The larger of count and expected count, as of :class:`.SuffixLoss`."""
        return np.asarray(self.tree.count + np.maximum(gradient, 0.0))

    @cached_property
    def is_side(self) -> np.ndarray:
        """Whether a context is one of a side tree."""
        return self.tree.root_of >= self.n_roots

    def _sweep(self, w: Floats, out: Floats | None) -> float:
        f = np.empty_like(w)
        # Side trees have no weights at their roots.
        first, last = self.tree.pair_ptr[[self.n_roots, self.n_roots * self.n_trees]].tolist()

        def begin(part: slice) -> float:
            np.exp(w[part], out=f[part])
            if out is not None:
                out[part] = 0.0
            spans = (part.start, min(part.stop, first)), (max(part.start, last), part.stop)
            return float(sum(bindings.factored_seen(self._core, *span, w) for span in spans))

        seen = sum(self._team.each(begin))
        if self.n_roots == 1:
            return self._root(0, f, out, self.threads) - seen
        return sum(self._team.run(lambda root: self._root(root, f, out, 1), self._active)) - seen

    def _root(self, root: int, f: Floats, out: Floats | None, split: int) -> float:
        """The part of one root, its children split among threads."""
        tree, width, upward = self.tree, self._width[root], out is not None
        first = int(self._side_ptr[root])
        n_rows = int(self._side_ptr[root + 1]) - first
        E = np.empty((n_rows, width))
        shape = self._core, first, n_rows, width
        columns = list(pairwise([k * (width // 8) // split * 8 for k in range(split + 1)]))
        self._team.run(lambda some: bindings.factored_side_down(*shape, *some, f, E), columns)
        top = slice(int(tree.pair_ptr[root]), int(tree.pair_ptr[root + 1]))
        s = np.zeros(width)
        s[: int(self.n_candidates[root])] = 1.0
        s[tree.word[top]] = f[top]
        g = np.empty(0) if out is None else out
        shares = self._shares or [np.arange(*self._child_ptr[root : root + 2], dtype=np.int32)]
        depth, blocks = tree.level_ptr.size, np.empty((split, n_rows if upward else 0, width))

        def part(k: int) -> tuple[float, Floats]:
            S, G = np.zeros((2, depth, width))
            S[0] = s
            H, x = blocks[k], np.empty(width)
            H[:] = 0.0
            total = 0.0
            if k == 0:
                total += bindings.factored_choose_at_root(
                    self._core, root, first, n_rows, E, upward, H, s, x, G[0]
                )
            total += bindings.factored_sweep(
                self._core,
                root,
                shares[k],
                first,
                n_rows,
                f,
                E,
                upward,
                H,
                np.empty(2 * depth, np.int64),
                S,
                G,
                x,
                g,
            )
            return total, G[0]

        parts = self._team.run(part, range(split))
        if out is not None:
            out[top] = sum(G for _, G in parts)[tree.word[top]] - tree.count[top]  # type: ignore[index]
            self._team.run(lambda some: bindings.factored_side_up(*shape, *some, split, blocks, out), columns)
        return sum(total for total, _ in parts)

    def _shared_children(self) -> list[Ints]:
        """The children of the one root for each thread, balanced by cost."""
        low, high = self._child_ptr[:2].tolist()
        pair_ptr = self.tree.pair_ptr[low : high + 1]
        counts = self.tree.count[int(pair_ptr[0]) : int(pair_ptr[-1])]
        cost = np.diff(offsets(counts)[pair_ptr - pair_ptr[0]])
        shares: list[list[int]] = [[] for _ in range(self.threads)]
        load = [0] * self.threads
        for child in np.argsort(-cost, kind="stable").tolist():
            k = load.index(min(load))
            load[k] += int(cost[child])
            shares[k].append(low + child)
        return [np.array(sorted(share), np.int32) for share in shares]


@dataclass(frozen=True)
class Factor:
    """One of the two choices: ``class`` or ``word``.

    Examples
    --------
    >>> from epigram.lm.corpus import Corpus
    >>> corpus = Corpus.of(["a b", "a c"])
    >>> classes = WordClasses(corpus.vocabulary, np.array([0, 1, 2, 2], np.int32))
    >>> word = Factor("word", classes, Contexts.parse("c1 w1"))
    >>> word.n_candidates.tolist(), word.rank.tolist()
    ([1, 1, 2], [0, 0, 0, 1])
    >>> chosen = word.examples(Positions.of(corpus))
    >>> chosen.root.tolist(), chosen.candidate.tolist()
    ([1, 2, 0, 1, 2, 0], [0, 0, 0, 0, 1, 0])
    """

    name: str
    classes: WordClasses
    contexts: Contexts

    @cached_property
    def n_candidates(self) -> Ints:
        """Candidates of each root."""
        if self.name == "class":
            return np.array([self.classes.n_classes], np.int32)
        return self.classes.sizes.astype(np.int32)

    @cached_property
    def by_class(self) -> Offsets:
        """The words, class by class."""
        return np.argsort(self.classes.class_of, kind="stable")

    @cached_property
    def rank(self) -> Ints:
        """The number of each word within its class."""
        sizes = self.classes.sizes
        out = np.empty(self.by_class.size, np.int32)
        out[self.by_class] = np.arange(self.by_class.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return out

    def examples(self, words: Positions) -> FactorExamples:
        """The choices made at the positions of a text."""
        of_class = self.classes.class_of[words.target]
        if self.name == "class":
            root, candidate = np.zeros_like(of_class), of_class
        else:
            root, candidate = of_class, self.rank[words.target]
        n_classes = self.classes.n_classes
        symbols = self.contexts.of(words, self.classes.class_of, n_classes)
        return FactorExamples(root, candidate, *symbols, n_symbols=n_classes + words.n_symbols)

    def loss(self, words: Positions, threads: int = 1, others: Positions | None = None) -> FactorLoss:
        """The loss over the positions that have a choice: a class of one word leaves none."""
        examples = self.examples(words)
        free = self.n_candidates[examples.root] > 1
        free[0] |= not free.any()  # a loss needs a position, also where every class has one word
        return FactorLoss(examples if free.all() else examples.take(free), self.n_candidates, threads, others)
