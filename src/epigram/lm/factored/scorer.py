"""Score text with a fitted choice of classes or words, from the weights that are not 0."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from epigram._core.native import family, offsets
from epigram.lm.factored.loss import Contexts, FactorExamples, FactorLoss
from epigram.protocols import Floats, Ints, Offsets
from epigram.storage.arrays import (
    PACKED,
    Array,
    Schema,
    damaged,
    differences,
    pack_integers,
    pack_weights,
    packed_size,
    unpack_weights,
)
from epigram.storage.arrays import weights as weights_schema

core = family("factored_scorer")
MAPPED = {
    "choices": Array(np.int32, ("roots",)),
    "parent": Array(np.int32, ("contexts",), least=-1),
    "symbol": Array(np.int32, ("contexts",), least=-1),
    "pair_ptr": Array(np.int64, ("contexts+1",)),
    "candidate": Array(np.int32, ("kept",)),
    "w": Array(np.float64, ("kept",)),
    "row_at": Array(np.int32, ("contexts",), least=-1),
    "steps": Array(np.int32, ("steps", 4), least=-(2**31)),
    "pairs": Array(np.int64, ("kept", 2)),
    "rows": Array(np.float64, ("rows",), infinite="any"),
}
"""The arrays of a scorer as it uses them: those of :class:`FactorScorer`, then :class:`Tables`."""
ARRAYS = {
    "choices": Array(PACKED, ("roots",), below=2.0**31),
    "parents": Array(PACKED, ("below",), steps=True, parents="top"),
    "symbols": Array(PACKED, ("below",), per_parent="parents", below="symbols"),
    "pairs": Array(PACKED, ("top+below",), total="kept"),
    "targets": Array(PACKED, ("kept",), per_count="pairs", below=2.0**31),
    **weights_schema("kept"),
}


@dataclass(frozen=True)
class Step:
    """One context on the way to a probability: of which tree, how deep, and what it does for the candidate.

    ``count``: how often it was seen there; None in a model from a file, and where the weight is 0.
    """

    tree: int
    depth: int
    weight: float
    count: int | None
    probability: float


@dataclass(frozen=True)
class Factors:
    """Makes candidate ``candidate[e]`` of row r ``f[e]`` times as likely, for e in ``row_ptr[r] .. row_ptr[r + 1]``."""

    row_ptr: Offsets = field(repr=False)
    candidate: Ints = field(repr=False)
    f: Floats = field(repr=False)

    @cached_property
    def _core(self) -> Any:
        return core.Factors(self.row_ptr.size - 1, self.candidate.size, self.row_ptr, self.candidate, self.f)


class Tables(NamedTuple):
    """What C scores with, made from the weights: ``_core/factored_scorer.h`` says how."""

    row_at: Ints
    steps: Ints
    pairs: npt.NDArray[np.uint8]
    rows: Floats


@dataclass(frozen=True)
class FactorScorer:
    """Contexts in level order (the roots of all trees first) and their pairs; ``count`` is not kept in files."""

    contexts: Contexts
    n_candidates: Ints = field(repr=False)
    parent: Ints = field(repr=False)
    symbol: Ints = field(repr=False)
    pair_ptr: Offsets = field(repr=False)
    candidate: Ints = field(repr=False)
    w: Floats = field(repr=False)
    count: Ints | None = field(default=None, repr=False)

    @classmethod
    def of(cls, loss: FactorLoss, contexts: Contexts, w: Floats) -> FactorScorer:
        """The fitted weights of a loss, without those that are 0."""
        tree = loss.tree
        needed = np.zeros(tree.n_contexts, bool)
        needed[: loss.n_roots * loss.n_trees] = True
        core.keep_paths(tree.n_contexts, tree.parent, tree.pair_ptr, w, needed)
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
    def _tables(self) -> Tables:
        """The trees, and rows of the densest contexts."""
        f, n = np.exp(self.w), self.parent.size
        sizes = self.n_roots, self.n_candidates, n, self.parent, self.pair_ptr
        root, row_at = np.empty((2, n), np.int32)
        rows = np.empty(core.place_rows(*sizes, root, row_at))
        core.fill_rows(*sizes, self.candidate, f, root, row_at, rows)
        n_bits = self._n_bits
        steps, pairs = np.empty(4 << n_bits, np.int32), np.empty(16 * f.size, np.uint8)
        trees = self.parent, self.symbol, self.child_ptr, self.pair_ptr, row_at
        core.pack(n, *trees, f.size, self.candidate, f, n_bits, steps, pairs)
        return Tables(row_at, steps, pairs, rows)

    @property
    def _n_bits(self) -> int:
        """Of a table of all contexts that is at most three quarters full."""
        return (4 * self.parent.size // 3).bit_length()

    @cached_property
    def _core(self) -> Any:
        """The tables as C takes them."""
        tables = self._tables
        sizes = self.n_roots, self._n_trees, self._n_bits, self.w.size, tables.rows.size
        return core.Weights(*sizes, self.n_candidates, *tables)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_core", "_tables")}

    @property
    def _n_trees(self) -> int:
        return len(self.contexts.trees)

    def _room(self) -> Ints:
        """For the paths of positions down the trees."""
        trees = self.contexts.trees
        return np.empty(core.room(len(trees), sum(map(len, trees))), np.int32)

    def log_probabilities(
        self,
        examples: FactorExamples,
        factors: Factors | None = None,
        row_of: Ints | None = None,
        expected: Floats | None = None,
    ) -> Floats:
        """Natural log-probability of each choice; with factors, those of row ``row_of[i]`` for choice i.

        ``expected`` gathers the probabilities of the candidates that have factors.
        """
        n, widest, room = examples.candidate.size, int(self.n_candidates.max()), self._room()
        out = np.empty(n)
        at = examples.root, examples.candidate, examples.history, self._n_trees, examples.end, examples.length
        own = room.size, room, widest, np.empty(widest)
        if factors is None:
            core.score(self._core, n, *at, *own, out)
        else:
            gathered = np.empty(0) if expected is None else expected
            core.score_with(self._core, factors._core, n, row_of, *at, *own, gathered.size, gathered, out)
        return out

    def distributions(self, examples: FactorExamples, factors: Factors | None = None) -> Floats:
        """Probabilities of all candidates of all roots, root by root, after the contexts of the first position.

        Factors have a row for each root.
        """
        out, room = np.empty(int(self.n_candidates.sum())), self._room()
        at = examples.history, self._n_trees, examples.end[0], examples.length[0]
        if factors is None:
            core.distributions(self._core, *at, room.size, room, out)
        else:
            core.distributions_with(self._core, factors._core, *at, room.size, room, out)
        return out

    def steps(self, examples: FactorExamples) -> list[Step]:
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
                out.append(Step(tree, depth, weight, count, float(p[candidate] / p.sum())))
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
            spelled = [
                f"{kind}{lag}={name(symbol)}"
                for (kind, lag), symbol in zip(kinds, symbols[::-1], strict=False)
            ]
            rows.append(
                (" ".join(spelled), node % self.n_roots, int(self.candidate[pair]), float(self.w[pair]))
            )
        return rows

    @property
    def depth(self) -> Ints:
        """Symbols of each context."""
        out, above = np.zeros(self.parent.size, np.int32), self.parent
        while (above >= 0).any():
            out += above >= 0
            above = self._above(above)
        return out

    @property
    def root_of(self) -> Ints:
        """The root above each context; tree t has the roots ``t * n_roots ..``."""
        out, above = np.arange(self.parent.size, dtype=np.int32), self.parent
        for _ in range(1 + max(map(len, self.contexts.trees))):
            if not (above >= 0).any():
                return out
            out = np.where(above >= 0, above, out)
            above = self._above(above)
        damaged("a tree is deeper than its contexts are long")

    def _above(self, nodes: Ints) -> Ints:
        return np.where(nodes >= 0, self.parent[nodes], -1)

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
            "choices": pack_integers(self.n_candidates),
            "parents": pack_integers(np.diff(parent, prepend=0)),
            "symbols": pack_integers(differences(self.symbol[top:], parent)),
            "pairs": pack_integers(sizes),
            "targets": pack_integers(differences(self.candidate, owner)),
            **pack_weights(self.w, bits),
        }

    def mapped(self) -> dict[str, Any]:
        """For a model file that is mapped: the arrays as they are used."""
        tables = self._tables
        arrays = self.n_candidates, self.parent, self.symbol, self.pair_ptr, self.candidate, self.w
        packed = (
            tables.row_at,
            tables.steps.reshape(-1, 4),
            tables.pairs.view(np.int64).reshape(-1, 2),
            tables.rows,
        )
        return dict(zip(MAPPED, (*arrays, *packed), strict=True))

    @classmethod
    def from_mapped(
        cls, contexts: Contexts, tensors: Mapping[str, Any], prefix: str, n_symbols: int
    ) -> FactorScorer:
        """What :meth:`mapped` made, where it lies in the file: checked, not copied."""
        found = Schema({}, MAPPED).read_arrays(tensors, prefix)
        n_candidates, parent, symbol, pair_ptr, candidate, w, row_at, steps, pairs, rows = found.values()
        model = cls(contexts, n_candidates, parent, symbol, pair_ptr, candidate, w)
        if steps.size != 4 << model._n_bits or row_at.size < model.n_roots * model._n_trees:
            damaged("its tables have other sizes than its trees")
        tables = Tables(row_at, steps.ravel(), pairs.view(np.uint8).ravel(), rows)
        model.__dict__["_tables"] = tables
        n, longest, room = parent.size, max(map(len, contexts.trees)), np.empty((2, parent.size), np.int32)
        trees = n, parent, symbol, n_symbols, longest, pair_ptr, row_at, w.size, candidate
        if not core.is_packed(model._core, *trees, *room):
            damaged("its trees and tables do not fit together")
        return model

    @classmethod
    def from_tensors(
        cls, contexts: Contexts, tensors: Mapping[str, Any], prefix: str = "", n_symbols: int = 1 << 31
    ) -> FactorScorer:
        """What :meth:`tensors` made; in a file the arrays stand under a prefix, and symbols are below ``n_symbols``."""
        packed = f"{prefix}choices"
        top = packed_size(tensors[packed]) * len(contexts.trees) if packed in tensors else 0
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
        return model
