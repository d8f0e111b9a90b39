"""The log-linear language model in shards, split by the last word of contexts (:mod:`epigram.lm.loglinear.splitting`).

Contexts that end in different words share no weight but those of the root, so a shard is the subtree of a range of
last words, grown from its own positions of the text. Shared pairs come first in every shard, all others are its own,
and its part of the solver's vectors stays with it (:mod:`epigram.scale.parts`).
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from os import PathLike
from typing import Any

import numpy as np

from epigram.errors import InputError
from epigram.lm.loglinear.joining import Joined, Level
from epigram.lm.loglinear.loss import SuffixLoss
from epigram.lm.loglinear.model import LogLinearLM
from epigram.lm.loglinear.penalty import Strength, build_penalty, first_weights, named
from epigram.lm.loglinear.splitting import Recipe, Split
from epigram.lm.loglinear.storage import header_of
from epigram.lm.loglinear.tree import ContextTree
from epigram.lm.sharding import read_vocabulary
from epigram.penalties import TreeL2
from epigram.protocols import Callback, Ints, ProximalPenalty, Result
from epigram.scale.engine import Engine, Here
from epigram.scale.folder import Manifest
from epigram.scale.grouped import GroupedPart, SharedGroups
from epigram.scale.memory import Room, available
from epigram.scale.parts import Message, Part, Separate, Talk, minimise

SHARD_TOKENS = 1 << 20
BYTES = 60  # that a token takes for each order: subtrees with their part of the solver's vectors
PENALTIES = ("elastic", "l1", "l2", "tree-l2")
AT_REST = ("parent", "symbol", "terminal", "pair_ptr", "word", "count", "pair_parent")


def widen(tree: ContextTree, node: int, words: Ints) -> ContextTree:
    """The tree with a pair at ``node`` for each of ``words`` (rising), count 0 where it had none."""
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


class TreeShard(Part):
    """The subtree of a recipe with its part of the solver's vectors; it travels as its recipe.

    Where the recipe names a folder for them (``room``), all its arrays are in a file there between two questions.
    """

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.n_shared = sum(
            words.size for words in (recipe.root_words, recipe.followers) if words is not None
        )
        tree = widen(ContextTree.grow(recipe.positions(), recipe.order), 0, recipe.root_words)
        if recipe.followers is not None:
            tree = widen(tree, 1, recipe.followers)
        self.room = None if recipe.room is None else Room(recipe.room)
        super().__init__(tree.n_pairs, self.room)
        if self.room is None:
            self._open(tree)
        else:
            self.level_ptr, self.n_unseen = tree.level_ptr, tree.n_unseen
            for name in AT_REST:
                self.room[name] = getattr(tree, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.recipe,)

    def hear(self, message: Message) -> Any:
        """As of a part; what is in a file is in memory for as long as it takes."""
        if self.room is None:
            return super().hear(message)
        self._open(self._read(self.room))
        try:
            return super().hear(message)
        finally:
            del self.tree, self.loss, self.penalty

    def _open(self, tree: ContextTree) -> None:
        """Loss and penalty of the tree."""
        self.tree, recipe = tree, self.recipe
        loss: Any = SuffixLoss(tree)
        loss.n_shared = self.n_shared
        self.loss = loss
        whole: Any = build_penalty(recipe.penalty, tree, recipe.strength, recipe.nonnegative)
        self.penalty = self.own_penalty(whole, self.n_shared)
        tree.__dict__.pop("pair_depth", None)  # the penalty has what it needs of it

    def _read(self, room: Room) -> ContextTree:
        """The tree without what only its growth needs: where in the text a context is spelled."""
        n, recipe = np.diff(self.level_ptr), self.recipe
        depth = np.repeat(np.arange(n.size, dtype=np.int32), n)
        tree = ContextTree(
            history=np.empty(0, np.int32),
            level_ptr=self.level_ptr,
            depth=depth,
            example=depth,
            n_unseen=self.n_unseen,
            order=recipe.order,
            collapsed=False,
            n_targets=recipe.n_words,
            **{name: room[name] for name in AT_REST},
        )
        tree.__dict__["multiplicity"] = np.ones(depth.size, np.int32)
        return tree

    def own_penalty(self, whole: Any, n: int) -> ProximalPenalty:
        """A penalty of all weights of the subtree without its first n, which are shared."""
        rest = copy(whole)
        rest.weights = whole.weights[n:]
        rest.ridge_weights = whole.ridge_weights[n:]
        return rest  # type: ignore[no-any-return]

    def kept(self) -> list[Level]:
        """Of each level from 1 on, contexts that have weights, or others below them that have."""
        tree, w = self.tree, self.weights()
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
                Level(
                    (number[tree.parent[mine]] - np.count_nonzero(needed[:above])).astype(np.int32),
                    tree.symbol[mine],
                    sizes[mine].astype(np.int32),
                    tree.word[pairs][chosen],
                    w[pairs][chosen],
                )
            )
        return found


class GroupedTreeShard(GroupedPart, TreeShard):
    """A subtree under tree-l2, whose groups go on in what is shared."""

    def own_penalty(self, whole: TreeL2, n: int) -> ProximalPenalty:
        """The norm of the own trees, each of which hangs below a shared pair (``above``)."""
        parent = self.tree.pair_parent
        above = parent.copy()
        for first, last in pairwise(np.maximum(self.tree.level_of_pair[1:], n).tolist()):
            here = above[first:last]
            here[here >= n] = above[here[here >= n]]
        self.above = above[n:]
        own = np.where(parent[n:] < n, -1, parent[n:] - n)
        v = None if whole.feature_weights is None else whole.feature_weights[n:]
        return TreeL2(whole.strength, own, whole.group_weights[n:], whole.nonnegative, v)


def check_sharded(model: LogLinearLM) -> Strength:
    """The strength of the penalty, if the model's settings are such as shards can do."""
    strength, free = model._first_strength()
    if free:
        asked = ", ".join(f"--{name.replace('_', '-')}" for name in free)
        raise InputError(
            f"shards need the numbers of the penalty ({asked}); choose them on a part of the text"
        )
    if named(model.penalty)[0] not in PENALTIES:
        raise InputError(
            f"{model.penalty} stays on one machine: its prox sorts all weights of a word; use {', '.join(PENALTIES)}"
        )
    if model.order < 2 or model.collapse or model.max_weights is not None or model.solver != "fista":
        raise InputError("shards take an order of 2 or more, fista, and neither collapse nor max_weights")
    return strength


@dataclass(frozen=True)
class Solution:
    """A fit whose weights are still with the shards: it becomes a model in memory, or a model file part by part."""

    model: LogLinearLM
    manifest: Manifest
    strength: Strength
    split: Split
    talk: Talk
    result: Result

    def fitted(self) -> LogLinearLM:
        """An ordinary model of the weights that are not 0."""
        model, joined = self.model, self.joined
        tree, w = joined.tree()
        model.restore(read_vocabulary(self.manifest), SuffixLoss(tree), w, self.strength, self._fit)
        model.scales_, model._online, model._behind = None, None, False
        return model

    def save(self, path: str | PathLike[str], bits: int = 0) -> None:
        """Write the file of that model; no more than one of its arrays is in memory at a time."""
        joined = self.joined
        known = {"nonzero": joined.n_nonzero, "parameters": joined.n_pairs}
        header = header_of(self.model, self.strength, bits, {**self._fit, **known})
        joined.to_model_file(read_vocabulary(self.manifest), header, bits).save(path)

    @cached_property
    def joined(self) -> Joined:
        """What the shards have, as one tree."""
        return Joined.of(self.split, self.result.w, self.talk.in_turn("kept"), self.manifest.folder)

    @property
    def _fit(self) -> dict[str, Any]:
        result = self.result
        return {
            "objective": result.objective,
            "n_iter": result.iterations,
            "reason": result.reason,
            "positions": int(self.manifest.header["tokens"]),
        }

    @property
    def record(self) -> dict[str, Any]:
        """The fit as the command reports it."""
        joined, strength = self.joined, self.strength
        return {
            "parameters": joined.n_pairs,
            "nonzero": joined.n_nonzero,
            "iterations": self.result.iterations,
            "objective": self.result.objective,
            "words": int(self.manifest.header["words"]),
            "positions": int(self.manifest.header["tokens"]),
            "shards": len(self.split.recipes),
            "stopped": self.result.reason,
            "strength": strength.strength,
            "depth_weight": strength.depth_weight,
            "ridge": strength.ridge,
        }


def solve_stream(
    model: LogLinearLM,
    manifest: Manifest,
    engine: Engine | None = None,
    n_shards: int | None = None,
    callback: Callback | None = None,
) -> Solution:
    """Fit a model's weights on a folder of text; they stay with the shards.

    The numbers of the penalty must be given: they are chosen on held-out text on one machine.
    """
    strength = check_sharded(model)
    engine = engine or Here(model.threads)
    tokens = int(manifest.header["tokens"])
    wanted = n_shards or max(1, -(-tokens // SHARD_TOKENS))
    name = named(model.penalty)[0]
    tight = isinstance(engine, Here) and BYTES * model.order * tokens > available() // 2
    room = str(manifest.folder.resolve()) if tight else None
    split = Split.of(manifest, wanted, model.order, name, strength, model.nonnegative, room)
    shared = split.shared
    start = first_weights(shared, strength, model.nonnegative)
    start[int(shared.pair_ptr[1]) :] = 0.0
    norm = build_penalty(name, shared, strength, model.nonnegative)
    penalty = SharedGroups(norm, shared.pair_parent) if isinstance(norm, TreeL2) else Separate(norm)
    shards = engine.make(GroupedTreeShard if isinstance(norm, TreeL2) else TreeShard, split.recipes)
    talk = Talk(engine, shards, split.places)
    most = model.max_iterations or 500
    counts = shared.count.astype(np.float64)
    result = minimise(talk, start, counts, penalty, model.tolerance, most, callback)
    return Solution(model, manifest, strength, split, talk, result)


def fit_stream(
    model: LogLinearLM,
    manifest: Manifest,
    engine: Engine | None = None,
    n_shards: int | None = None,
    callback: Callback | None = None,
) -> LogLinearLM:
    """Train a model on a folder of text (:func:`solve_stream`); it becomes an ordinary model of the weights not 0."""
    return solve_stream(model, manifest, engine, n_shards, callback).fitted()
