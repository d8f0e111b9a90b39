"""One shard of a log-linear model: subtree, loss and solver state.

Contexts that end in different words share no weight but those of the root. A shard is grown from its own positions of
the text; shared pairs come first in it, all others are its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from epigram.lm.loglinear.loss import SuffixLoss
from epigram.lm.loglinear.penalties import Strength, build_penalty
from epigram.lm.loglinear.tree import ContextTree, Located
from epigram.lm.outofcore.join import ContextLevel
from epigram.lm.outofcore.partition import SubtreeRecipe
from epigram.outofcore.memory import Room
from epigram.outofcore.sharded import Shard
from epigram.protocols import Floats, Ints, Offsets
from epigram.solvers.proximal import LocalProblem

NUMBERS = ("strength", "depth_weight", "ridge", "side")
AT_REST = ("parent", "symbol", "terminal", "pair_ptr", "word", "count", "pair_parent")


def widen(tree: ContextTree, node: int, words: Ints) -> ContextTree:
    """Add pairs at ``node``, so that it has one for each of ``words`` (rising)."""
    first, last = tree.pair_ptr[node : node + 2].tolist()
    place = first + np.searchsorted(words, tree.word[first:last])
    delta = len(words) - (last - first)
    moved = np.arange(tree.n_pairs + 1, dtype=np.int64)  # one more, for -1
    moved[last:-1] += delta
    moved[first:last], moved[-1] = place, -1
    above = moved[tree.pair_parent]
    own = np.full(len(words), -1, np.int64)
    if node:
        start, stop = tree.pair_ptr[tree.parent[node] : tree.parent[node] + 2].tolist()
        own = start + np.searchsorted(tree.word[start:stop], words)
    count = np.zeros(len(words), np.int32)
    count[place - first] = tree.count[first:last]
    ptr = tree.pair_ptr.copy()
    ptr[node + 1 :] += delta
    unseen = tree.n_unseen if node else np.array([tree.n_targets - len(words)], np.int32)

    def put(old: Any, new: Any) -> Ints:
        return np.concatenate([old[:first], new, old[last:]]).astype(np.int32)

    return replace(
        tree,
        word=put(tree.word, words),
        count=put(tree.count, count),
        pair_parent=put(above, own),
        pair_ptr=ptr,
        n_unseen=unseen,
    )


class TreeShard(Shard):
    """The subtree of a recipe with its part of the solver's vectors; it travels as its recipe.

    Where the recipe names a folder for them (``room``), all its arrays are in a file there between two questions.
    """

    def __init__(self, recipe: SubtreeRecipe) -> None:
        self.recipe, self.strength = recipe, recipe.strength
        self.n_shared = sum(
            words.size for words in (recipe.root_words, recipe.followers) if words is not None
        )
        tree = widen(ContextTree.grow(recipe.positions(), recipe.order), 0, recipe.root_words)
        if recipe.followers is not None:
            tree = widen(tree, 1, recipe.followers)
        self.located: Located | None = None
        self.room = None if recipe.room is None else Room(recipe.room)
        self.has_best = False
        self._open(tree)
        if self.room is not None:
            none: Any = np.empty(0, np.int32)
            empty = dict.fromkeys(("history", "depth", "example", *AT_REST), none)
            self.skeleton = replace(tree, **empty)
            for name in AT_REST:
                self.room[name] = getattr(tree, name)
            self._close()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.recipe,)

    def answer(self, *question: Any) -> Any:
        """As of a shard; what is in a file is in memory for as long as it takes."""
        if self.room is None:
            return super().answer(*question)
        self._open(self._read(self.room))
        try:
            return super().answer(*question)
        finally:
            self._close()

    def _open(self, tree: ContextTree) -> None:
        """Loss and penalty of the tree."""
        self.tree, recipe, self.loss = tree, self.recipe, SuffixLoss(tree)
        penalty = copy(build_penalty(recipe.penalty, tree, self.strength, recipe.nonnegative))
        for name in ("weights", "ridge_weights"):
            setattr(penalty, name, getattr(penalty, name)[self.n_shared :])
        tree.__dict__.pop("pair_depth", None)  # the penalty has what it needs of it
        if hasattr(self, "problem"):
            self.problem.loss, self.problem.penalty = self.loss, penalty
        else:
            self.problem = LocalProblem(self.loss, penalty, vectors=self.room, n_shared=self.n_shared)

    def _close(self) -> None:
        del self.tree, self.loss, self.problem.loss, self.problem.penalty
        self.located = None

    def _read(self, room: Room) -> ContextTree:
        """The tree without what only its growth needs: where in the text a context is spelled."""
        n = np.diff(self.skeleton.level_ptr)
        depth = np.repeat(np.arange(n.size, dtype=np.int32), n)
        arrays: dict[str, Any] = {name: room[name] for name in AT_REST}
        tree = replace(self.skeleton, depth=depth, example=depth, **arrays)
        tree.__dict__["multiplicity"] = np.ones(depth.size, np.int32)
        return tree

    def begin(self, strength: Strength, is_best: bool) -> None:
        """Start a fit with another strength at the best weights: of the last fit if ``is_best``."""
        if is_best:
            self.problem.vectors["best"] = self.weights().copy()
            self.has_best = True
        best = self.problem.vectors["best"]
        self.problem.restore({"x": best.copy(), "y": best.copy()})
        self.strength, self.tried = strength, False
        self._open(self.tree)

    def state(self) -> dict[str, Floats]:
        """As of a shard, with the strength of the penalty and the best weights before."""
        best = {"best": self.problem.vectors["best"]} if self.has_best else {}
        return {
            **super().state(),
            **best,
            "strength": np.array([[getattr(self.strength, name) for name in NUMBERS]]),
        }

    def put(self, state: dict[str, Floats]) -> None:
        """Continue from a state; from an empty one, as the recipe says."""
        numbers = dict(zip(NUMBERS, state.pop("strength")[0].tolist(), strict=True)) if state else {}
        self.strength = replace(self.recipe.strength, **numbers)
        self.has_best = "best" in state
        super().put(state)
        self._open(self.tree)

    def judged(self, of_best: bool, factors: Sequence[float] | None) -> tuple[float, int]:
        """Sum of log-probabilities of the held-out positions, and their number."""
        held_out = self.recipe.held_out
        if held_out is None or not held_out.target.size:
            return 0.0, 0
        if self.located is None:
            self.located = Located(self.tree, held_out)
        w = self.scaled(self.problem.vectors["best"] if of_best else self.weights(), factors)
        return float(self.located.log_probabilities(self.loss, w).sum()), held_out.target.size

    def sizes(self, of_best: bool) -> Offsets:
        """Own weights that are not 0, of each depth."""
        w = self.problem.vectors["best"] if of_best else self.weights()
        depth = self.tree.pair_depth[self.n_shared :]
        return np.bincount(depth[w[self.n_shared :] != 0], minlength=self.recipe.order)

    def scaled(self, w: Floats, factors: Sequence[float] | None) -> Floats:
        """Weights times the factor of their depth; the last factor is also that of all deeper ones."""
        if factors is None:
            return w
        return np.asarray(w * np.array(factors)[np.minimum(self.tree.pair_depth, len(factors) - 1)])

    def kept(self, factors: Sequence[float] | None = None) -> list[ContextLevel]:
        """Of each level from 1 on, contexts that have weights, or others below them that have."""
        tree, w = self.tree, self.scaled(self.weights(), factors)
        kept = w != 0.0
        sizes = np.add.reduceat(np.append(kept, False), tree.pair_ptr[:-1]) * (np.diff(tree.pair_ptr) > 0)
        needed = sizes > 0
        levels = list(pairwise(tree.level_ptr.tolist()))
        for first, last in reversed(levels[1:]):
            needed[tree.parent[first:last][needed[first:last]]] = True
        if len(levels) > 1 and self.recipe.followers is not None:
            needed[1] = True
        number = np.cumsum(needed) - 1
        found = []
        for (above, _), (first, last) in pairwise(levels):
            mine = np.flatnonzero(needed[first:last]) + first
            pairs = slice(int(tree.pair_ptr[first]), int(tree.pair_ptr[last]))
            chosen = kept[pairs]
            found.append(
                ContextLevel(
                    (number[tree.parent[mine]] - np.count_nonzero(needed[:above])).astype(np.int32),
                    tree.symbol[mine],
                    sizes[mine].astype(np.int32),
                    tree.word[pairs][chosen],
                    w[pairs][chosen],
                )
            )
        return found
