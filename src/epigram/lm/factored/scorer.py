"""Scores text with fitted class or word weights, from the weights that are not 0."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from epigram._core import bindings
from epigram._core.arrays import offsets
from epigram.lm.factored.contexts import Contexts, FactorExamples
from epigram.lm.factored.loss import FactorLoss
from epigram.lm.loglinear.tree import ContextTree
from epigram.protocols import Floats, Ints, Offsets
from epigram.storage.quantise import differences, narrow, pack_weights, unpack_weights
from epigram.storage.schema import Array, Schema, damaged
from epigram.storage.schema import weights as weights_schema

LARGEST_WEIGHT, LARGEST_SCORE = 100.0, 400.0
"""Of a weight of a file, and of what a candidate's can add up to: C multiplies their exponentials."""
IN_PLACE = {
    "choices": Array(np.int32, ("roots",)),
    "parent": Array(np.int32, ("contexts",), least=-1),
    "symbol": Array(np.int32, ("contexts",), least=-1),
    "pair_ptr": Array(np.int64, ("contexts+1",)),
    "candidate": Array(np.int32, ("kept",)),
    "w": Array(np.float64, ("kept",), most=LARGEST_WEIGHT),
    "row_at": Array(np.int32, ("contexts",), least=-1),
    "steps": Array(np.int32, ("steps", 4), least=-(2**31)),
    "pairs": Array(np.int64, ("kept", 2)),
    "rows": Array(np.float64, ("rows",), infinite="any"),
}
"""The arrays of a scorer as it uses them: those of :class:`FactorScorer`, then :class:`ScoringTables`."""
ARRAYS = {
    "choices": Array(np.int64, ("roots",), below=2.0**31),
    "parents": Array(np.int64, ("below",), steps=True, parents="top"),
    "symbols": Array(np.int64, ("below",), per_parent="parents", below="symbols"),
    "pairs": Array(np.int64, ("top+below",), total="kept"),
    "targets": Array(np.int64, ("kept",), per_count="pairs", below=2.0**31),
    **weights_schema("kept", most=LARGEST_WEIGHT),
}


@dataclass(frozen=True)
class ContextStep:
    """One context of a probability: its tree, depth and weight, and the probability after it.

    ``count``: occurrences of the candidate there; None in a model from a file, and where the weight is 0.
    """

    tree: int
    depth: int
    weight: float
    count: int | None
    probability: float


@dataclass(frozen=True)
class Factors:
    """Multiplies the odds of ``candidate[e]`` of row r by ``f[e]``, as :class:`.FeatureEntries`."""

    row_ptr: Offsets = field(repr=False)
    candidate: Ints = field(repr=False)
    f: Floats = field(repr=False)

    @cached_property
    def _core(self) -> Any:
        return bindings.Factors(self.row_ptr, self.candidate, self.f)


class ScoringTables(NamedTuple):
    """ScoringTables of C made from the weights; ``_core/factored_scorer.h`` describes them."""

    row_at: Ints
    steps: Ints
    pairs: npt.NDArray[np.uint8]
    rows: Floats


@dataclass(frozen=True)
class FactorScorer:
    """Contexts in level order (the roots of all trees first) and their pairs."""

    contexts: Contexts
    n_candidates: Ints = field(repr=False)
    parent: Ints = field(repr=False)
    symbol: Ints = field(repr=False)
    pair_ptr: Offsets = field(repr=False)
    candidate: Ints = field(repr=False)
    w: Floats = field(repr=False)
    count: Ints | None = field(default=None, repr=False)

    def tree(self) -> ContextTree:
        """The contexts and pairs as a tree without counts."""
        return ContextTree(
            history=self.symbol,
            level_ptr=offsets(np.bincount(self.depth)),
            parent=self.parent,
            symbol=self.symbol,
            depth=self.depth,
            example=np.arange(self.depth.size, dtype=np.int32) + self.depth,
            terminal=np.zeros(self.depth.size, np.int32),
            pair_ptr=self.pair_ptr,
            word=self.candidate,
            count=np.zeros(self.candidate.size, np.int32),
            pair_parent=np.full(self.candidate.size, -1, np.int32),
            n_unseen=np.zeros(0, np.int32),
            order=0,
            collapsed=False,
            n_targets=int(self.n_candidates.max()),
        )

    @classmethod
    def of(cls, loss: FactorLoss, contexts: Contexts, w: Floats) -> FactorScorer:
        """The fitted weights of a loss, without those that are 0."""
        tree = loss.tree
        needed = np.zeros(tree.n_contexts, bool)
        needed[: loss.n_roots * loss.n_trees] = True
        bindings.factored_scorer_keep_paths(tree.parent, tree.pair_ptr, w, needed)
        number = np.cumsum(needed) - 1
        kept = w != 0
        kept[int(tree.pair_ptr[loss.n_roots]) : int(tree.pair_ptr[loss.n_roots * loss.n_trees])] = False
        owner = np.repeat(np.arange(tree.n_contexts), np.diff(tree.pair_ptr))[kept]
        parent = tree.parent[needed]
        return cls(
            contexts,
            loss.n_candidates,
            np.where(parent >= 0, number[parent], -1).astype(np.int32),
            tree.symbol[needed],
            offsets(np.bincount(number[owner], minlength=parent.size)),
            tree.word[kept],
            w[kept],
            tree.count[kept],
        )

    @property
    def n_roots(self) -> int:
        """Of each tree."""
        return self.n_candidates.size

    @cached_property
    def child_ptr(self) -> Offsets:
        """The children of context c are ``child_ptr[c] .. child_ptr[c + 1]``, sorted by symbol."""
        top = self.n_roots * self._n_trees
        return np.concatenate(
            ([top], top + np.cumsum(np.bincount(self.parent[top:], minlength=self.parent.size)))
        )

    @cached_property
    def _tables(self) -> ScoringTables:
        """The trees, and rows of the densest contexts."""
        f, n = np.exp(self.w), self.parent.size
        trees = self.n_candidates, self.parent, self.pair_ptr
        root, row_at = np.empty((2, n), np.int32)
        rows = np.empty(bindings.factored_scorer_place_rows(*trees, root, row_at))
        bindings.factored_scorer_fill_rows(*trees, self.candidate, f, root, row_at, rows)
        n_bits = self._n_bits
        steps, pairs = np.empty(4 << n_bits, np.int32), np.empty(16 * f.size, np.uint8)
        tables = self.child_ptr, self.pair_ptr, row_at, self.candidate, f, n_bits, steps, pairs
        bindings.factored_scorer_pack(self.parent, self.symbol, *tables)
        return ScoringTables(row_at, steps, pairs, rows)

    @property
    def _n_bits(self) -> int:
        """Of a table of all contexts that is at most three quarters full."""
        return (4 * self.parent.size // 3).bit_length()

    @cached_property
    def _core(self) -> Any:
        """The tables as C takes them."""
        return bindings.Weights(self._n_trees, self._n_bits, self.n_candidates, *self._tables)

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: value
            for name, value in self.__dict__.items()
            if name not in ("_core", "_tables", "_levels")
        }

    @property
    def _n_trees(self) -> int:
        return len(self.contexts.trees)

    def _room(self) -> Ints:
        """Buffer for the paths of positions down the trees."""
        trees = self.contexts.trees
        return np.empty(bindings.factored_scorer_room(len(trees), sum(map(len, trees))), np.int32)

    def log_probabilities(
        self,
        examples: FactorExamples,
        factors: Factors | None = None,
        row_of: Ints | None = None,
        expected: Floats | None = None,
    ) -> Floats:
        """Log-probability of each choice; with factors, those of row ``row_of[i]`` for choice i.

        ``expected`` gathers the probabilities of the candidates that have factors.
        """
        out, room = np.empty(examples.candidate.size), self._room()
        at = examples.root, examples.candidate, examples.history, self._n_trees, examples.end, examples.length
        x = np.empty(int(self.n_candidates.max()))
        if factors is None:
            bindings.factored_scorer_score(self._core, *at, room, x, out)
        else:
            assert row_of is not None
            gathered = np.empty(0) if expected is None else expected
            bindings.factored_scorer_score_with(
                self._core, factors._core, row_of, *at, room, x, gathered, out
            )
        return out

    def distributions(self, examples: FactorExamples, factors: Factors | None = None) -> Floats:
        """Probabilities of all candidates, root by root, after the contexts of the first position.

        Factors have a row for each root.
        """
        out, room = np.empty(int(self.n_candidates.sum())), self._room()
        at = examples.history, examples.end[0], examples.length[0]
        if factors is None:
            bindings.factored_scorer_distributions(self._core, *at, room, out)
        else:
            bindings.factored_scorer_distributions_with(self._core, factors._core, *at, room, out)
        return out

    def steps(self, examples: FactorExamples) -> list[ContextStep]:
        """All known contexts of the first position, tree by tree, and the probability after each."""
        root, candidate = int(examples.root[0]), int(examples.candidate[0])
        scores = np.zeros(int(self.n_candidates[root]))
        out = []
        for tree in range(self._n_trees):
            for depth, node in enumerate(self._path(tree, root, examples)):
                if tree and not depth:
                    continue  # side trees have no weights at their roots: the main tree has them
                pairs = slice(int(self.pair_ptr[node]), int(self.pair_ptr[node + 1]))
                scores[self.candidate[pairs]] += self.w[pairs]
                found = pairs.start + np.flatnonzero(self.candidate[pairs] == candidate)
                weight = float(self.w[found].sum())
                count = int(self.count[found[0]]) if self.count is not None and found.size else None
                p = np.exp(scores - scores.max())
                out.append(ContextStep(tree, depth, weight, count, float(p[candidate] / p.sum())))
        return out

    def _path(self, tree: int, root: int, examples: FactorExamples) -> Iterator[int]:
        node, end = tree * self.n_roots + root, int(examples.end[0, tree])
        yield node
        for depth in range(int(examples.length[0, tree])):
            children = slice(int(self.child_ptr[node]), int(self.child_ptr[node + 1]))
            wanted = examples.history[end - 1 - depth]
            node = children.start + int(np.searchsorted(self.symbol[children], wanted))
            if node == children.stop or self.symbol[node] != wanted:
                return
            yield node

    def heaviest(self, k: int, name: Callable[[int], str]) -> list[tuple[str, int, int, float]]:
        """The largest weights beyond the roots: context, root, candidate, weight."""
        top = int(self.pair_ptr[self.n_roots * self._n_trees])
        best = top + np.argsort(-np.abs(self.w[top:]), kind="stable")[:k]
        rows = []
        for pair in best.tolist():
            node = int(np.searchsorted(self.pair_ptr, pair, side="right")) - 1
            symbols = []
            while self.parent[node] >= 0:
                symbols.append(int(self.symbol[node]))
                node = int(self.parent[node])
            kinds = self.contexts.trees[node // self.n_roots]
            spelled = " ".join(
                f"{kind}{lag}={name(symbol)}"
                for (kind, lag), symbol in zip(kinds, symbols[::-1], strict=False)
            )
            rows.append((spelled, node % self.n_roots, int(self.candidate[pair]), float(self.w[pair])))
        return rows

    @cached_property
    def _levels(self) -> tuple[Ints, Ints]:
        """Depth and root of each context."""
        depth, root = np.zeros(self.parent.size, np.int32), np.arange(self.parent.size, dtype=np.int32)
        above, longest = self.parent, max(map(len, self.contexts.trees))
        while (above >= 0).any():
            depth += above >= 0
            root = np.where(above >= 0, above, root)
            above = np.where(above >= 0, self.parent[above], -1)
            if depth.max() > longest:
                damaged("a tree is deeper than its contexts are long")
        return depth, root

    @property
    def depth(self) -> Ints:
        """Symbols of each context."""
        return self._levels[0]

    @property
    def root_of(self) -> Ints:
        """The root above each context; tree t has the roots ``t * n_roots ..``."""
        return self._levels[1]

    @property
    def tree_of(self) -> Ints:
        """The tree each context belongs to."""
        return self.root_of // np.int32(self.n_roots)

    def tensors(self, bits: int) -> dict[str, Any]:
        """For a model file."""
        top = self.n_roots * self._n_trees
        parent, sizes = self.parent[top:].astype(np.int64), np.diff(self.pair_ptr)
        owner = np.repeat(np.arange(sizes.size), sizes)
        return {
            "choices": narrow(self.n_candidates),
            "parents": narrow(np.diff(parent, prepend=0)),
            "symbols": narrow(differences(self.symbol[top:], parent)),
            "pairs": narrow(sizes),
            "targets": narrow(differences(self.candidate, owner)),
            **pack_weights(self.w, bits),
        }

    def in_place(self) -> dict[str, Any]:
        """Return the arrays as they are used, for a file that is not compressed."""
        tables = self._tables
        arrays = self.n_candidates, self.parent, self.symbol, self.pair_ptr, self.candidate, self.w
        steps, pairs = tables.steps.reshape(-1, 4), tables.pairs.view(np.int64).reshape(-1, 2)
        return dict(zip(IN_PLACE, (*arrays, tables.row_at, steps, pairs, tables.rows), strict=True))

    @classmethod
    def use_in_place(
        cls, contexts: Contexts, tensors: Mapping[str, Any], prefix: str, n_symbols: int
    ) -> FactorScorer:
        """Return the scorer of the arrays of :meth:`in_place`: checked, not copied."""
        found = Schema({}, IN_PLACE).read_arrays(tensors, prefix)
        n_candidates, parent, symbol, pair_ptr, candidate, w, row_at, steps, pairs, rows = found.values()
        model = cls(contexts, n_candidates, parent, symbol, pair_ptr, candidate, w)
        if steps.size != 4 << model._n_bits or row_at.size < model.n_roots * model._n_trees:
            damaged("its tables have other sizes than its trees")
        tables = ScoringTables(row_at, steps.ravel(), pairs.view(np.uint8).ravel(), rows)
        model.__dict__["_tables"] = tables
        longest, (root, depth) = max(map(len, contexts.trees)), np.empty((2, parent.size), np.int32)
        trees = parent, symbol, n_symbols, longest, pair_ptr, row_at, candidate
        if not bindings.factored_scorer_is_packed(model._core, *trees, root, depth):
            damaged("its trees and tables do not fit together")
        model._check_scores()
        if rows.size and not (rows.min() > 0.0 and np.log(rows.max()) * model._n_trees <= LARGEST_SCORE):
            damaged("products of exponentials that are too large")
        return model

    @classmethod
    def from_tensors(
        cls, contexts: Contexts, tensors: Mapping[str, Any], prefix: str = "", n_symbols: int = 1 << 31
    ) -> FactorScorer:
        """The scorer of :meth:`tensors`, under a prefix of a file; symbols are below ``n_symbols``."""
        packed = f"{prefix}choices"
        top = tensors[packed].size * len(contexts.trees) if packed in tensors else 0
        found = Schema({}, ARRAYS).read_arrays(tensors, prefix, top=top, symbols=n_symbols)
        n_candidates, parent, sizes = found["choices"].astype(np.int32), found["parents"], found["pairs"]
        roots = np.full(top, -1, np.int32)
        model = cls(
            contexts,
            n_candidates,
            np.concatenate((roots, parent)).astype(np.int32),
            np.concatenate((roots, found["symbols"])).astype(np.int32),
            offsets(sizes),
            found["targets"].astype(np.int32),
            unpack_weights(found),
        )
        limits = n_candidates[model.root_of % n_candidates.size] if top else n_candidates
        if (model.candidate >= np.repeat(limits, sizes)).any():
            damaged("a weight of a class or word that there is not")
        model._check_scores()
        return model

    def _check_scores(self) -> None:
        """Refuse weights that add up to a score whose exponential is no number."""
        sizes = np.diff(self.pair_ptr)
        largest = np.zeros(self.parent.size)  # that contexts and those above them can give a candidate
        if self.w.size:
            largest[sizes > 0] = np.maximum.reduceat(np.abs(self.w), self.pair_ptr[:-1][sizes > 0])
        depth, tree_of = self.depth, self.tree_of
        for level in range(1, int(depth.max(initial=0)) + 1):
            nodes = np.flatnonzero(depth == level)
            largest[nodes] += largest[self.parent[nodes]]
        score = sum(float(largest[tree_of == tree].max(initial=0.0)) for tree in range(self._n_trees))
        if score > LARGEST_SCORE:
            damaged(f"weights that can add up to {score:g}")
