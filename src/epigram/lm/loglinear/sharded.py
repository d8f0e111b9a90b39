"""The log-linear language model in shards: its contexts split by their last word, heavy words by their second too.

Contexts that end in different words share no weight but those of the root, so a shard is the subtree of a range of
last words, grown from its own positions of the text (:mod:`epigram.lm.sharding`); it reads the whole stream, 4 bytes a
token, and nothing is shuffled. A word that is too heavy for one shard is split by the word before it; its shards then
share the pairs of that word too. Shared pairs come first in every shard, all others are its own, and its part of the
solver's vectors stays with it (:mod:`epigram.scale.parts`).
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram.errors import InputError
from epigram.lm.loglinear.joining import joined
from epigram.lm.loglinear.loss import SuffixLoss
from epigram.lm.loglinear.model import LogLinearLM
from epigram.lm.loglinear.penalty import Strength, build_penalty, first_weights, named
from epigram.lm.loglinear.tree import ContextTree, Positions
from epigram.lm.sharding import read_vocabulary
from epigram.penalties import TreeL2
from epigram.protocols import Callback, Floats, Ints, Offsets, ProximalPenalty
from epigram.scale.engine import Engine, Here
from epigram.scale.folder import Manifest, Record, map_arrays
from epigram.scale.grouped import GroupedPart, SharedGroups
from epigram.scale.memory import Room, available
from epigram.scale.parts import Part, Separate, Talk, minimise

BLOCK = 1 << 22  # positions of the stream looked at in one go
SHARD_TOKENS = 1 << 20
BYTES = 60  # that a token takes for each order: subtrees with their part of the solver's vectors
Share = tuple[int, int, tuple[int, int] | None]
PENALTIES = ("elastic", "l1", "l2", "tree-l2")


@dataclass(frozen=True, slots=True)
class Recipe:
    """A range of last words, ``low`` to ``high``; of a split word, a range of words before it as well."""

    folder: str
    stream: Record
    low: int
    high: int
    before: tuple[int, int] | None
    order: int
    n_words: int
    root_words: Ints
    followers: Ints | None
    penalty: str
    strength: Strength
    nonnegative: bool
    room: str | None = None

    def positions(self) -> Positions:
        """The positions of the text whose context ends so."""
        stream = map_arrays(Path(self.folder) / "common", self.stream)["stream"]
        ends = np.concatenate([
            self._found(stream, first) for first in range(1, stream.size, BLOCK)
        ] or [np.empty(0, np.int32)])  # fmt: skip
        return positions_at(stream, ends, self.order, self.n_words)

    def _found(self, stream: Ints, first: int) -> Ints:
        last = np.asarray(stream[first - 1 : min(first - 1 + BLOCK, stream.size - 1)])
        kept = (last >= self.low) & (last < self.high)
        at = np.flatnonzero(kept) + first
        if self.before is not None:
            second = stream[at - 2]
            at = at[(second >= self.before[0]) & (second < self.before[1])]
        return at.astype(np.int32)


def positions_at(stream: Ints, ends: Ints, order: int, n_words: int) -> Positions:
    """Some positions of a stream with the words before them, back to the start of the sentence or up to an order."""
    length, inside = np.ones(ends.size, np.int32), stream[ends - 1] != 0
    for back in range(2, order):
        length += inside
        inside &= stream[np.maximum(ends - back, 0)] != 0
    return Positions(stream, ends, length, np.asarray(stream[ends]), n_words, n_words)


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

    Where the recipe names a folder for them (``room``), all its arrays live in files there.
    """

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        room = None if recipe.room is None else Room(recipe.room)
        tree = widen(ContextTree.grow(recipe.positions(), recipe.order), 0, recipe.root_words)
        if recipe.followers is not None:
            tree = widen(tree, 1, recipe.followers)
        if room is not None:
            tree = moved(tree, room)
        self.tree, self.suffix = tree, SuffixLoss(tree)
        self.suffix.n_shared = len(recipe.root_words) + (  # type: ignore[attr-defined]
            0 if recipe.followers is None else len(recipe.followers)
        )
        n = self.suffix.n_shared  # type: ignore[attr-defined]
        whole = build_penalty(recipe.penalty, tree, recipe.strength, recipe.nonnegative)
        penalty: Any = self.own_penalty(whole, n)
        tree.__dict__.pop("pair_depth", None)  # the penalty has what it needs of it
        if room is None:
            super().__init__(self.suffix, penalty)  # type: ignore[arg-type]
            return
        for thing, names in ((self.suffix, "ezr"), (penalty, ("weights", "ridge_weights"))):
            for name in names:
                if hasattr(thing, name):
                    setattr(thing, name, room.keep(getattr(thing, name)))
        super().__init__(self.suffix, penalty, room.zeros)  # type: ignore[arg-type]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.recipe,)

    def own_penalty(self, whole: Any, n: int) -> ProximalPenalty:
        """A penalty of all weights of the subtree without its first n, which are shared."""
        rest = copy(whole)
        rest.weights = whole.weights[n:]
        rest.ridge_weights = whole.ridge_weights[n:]
        return rest  # type: ignore[no-any-return]

    def kept(self) -> tuple[list[Ints], list[Ints], list[Ints], Ints, Floats]:
        """Contexts of level 1 and below that have weights below them: parents, symbols, pairs; words, weights."""
        tree, w = self.tree, self.weights()
        kept = w != 0.0
        needed = np.zeros(tree.n_contexts, bool)
        needed[np.repeat(np.arange(tree.n_contexts), np.diff(tree.pair_ptr))[kept]] = True
        levels = [
            slice(a, b)
            for a, b in zip(tree.level_ptr[1:-1].tolist(), tree.level_ptr[2:].tolist(), strict=True)
        ]
        for here in reversed(levels):
            needed[tree.parent[here][needed[here]]] = True
        if levels and self.recipe.followers is not None:
            needed[1] = True
        number = np.cumsum(needed) - 1
        counts = np.add.reduceat(np.append(kept, False), tree.pair_ptr[:-1]) * (np.diff(tree.pair_ptr) > 0)
        parents, symbols, pairs = [], [], []
        for here in levels:
            mine = np.flatnonzero(needed[here]) + here.start
            parents.append(number[tree.parent[mine]].astype(np.int32))
            symbols.append(tree.symbol[mine])
            pairs.append(counts[mine].astype(np.int32))
        below = slice(int(tree.pair_ptr[1]), None)
        return parents, symbols, pairs, tree.word[below][kept[below]], w[below][kept[below]]


def moved(tree: ContextTree, room: Room) -> ContextTree:
    """The tree with all that grows with the text in files."""
    names = ["parent", "symbol", "depth", "example", "terminal", "pair_ptr", "word", "count", "pair_parent"]
    kept: dict[str, Any] = {name: room.keep(getattr(tree, name)) for name in names}
    tree = replace(tree, **kept)
    for name in ("multiplicity", "child_ptr"):
        tree.__dict__[name] = room.keep(getattr(tree, name))
    return tree


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


@dataclass(frozen=True)
class Split:
    """How a stream is split: the recipes of its shards, and what they share."""

    recipes: list[Recipe]
    shared: ContextTree
    places: list[npt.NDArray[np.int64]]

    @classmethod
    def of(
        cls,
        manifest: Manifest,
        n_shards: int,
        order: int,
        penalty: str,
        strength: Strength,
        nonnegative: bool,
        room: str | None = None,
    ) -> Split:
        """Shards of about the same number of positions; ``room`` is a folder for arrays that memory cannot hold."""
        counts, stream = manifest.shared("counts", "stream")
        n_words = counts.size
        root_words = np.flatnonzero(counts).astype(np.int32)
        shares = _shares(counts, stream, n_shards, order)
        heavy = sorted({low for low, _, before in shares if before is not None})
        followers = {v: _followers(stream, v, n_words) for v in heavy}
        words, found = [root_words], [counts[root_words]]
        first = {}
        for v in heavy:
            first[v] = sum(map(len, words))
            words.append(np.flatnonzero(followers[v]).astype(np.int32))
            found.append(followers[v][words[-1]])
        shared = _shared_tree(words, found, heavy, n_words, order)
        recipes, places = [], []
        for low, high, before in shares:
            mine = None if before is None else words[1 + heavy.index(low)]
            recipes.append(
                Recipe(
                    str(manifest.folder.resolve()),
                    {"stream": manifest.common["stream"]},
                    low,
                    high,
                    before,
                    order,
                    n_words,
                    root_words,
                    mine,
                    penalty,
                    strength,
                    nonnegative,
                    room,
                )
            )
            own = np.empty(0, np.int64) if mine is None else first[low] + np.arange(len(mine))
            places.append(np.concatenate([np.arange(len(root_words)), own]))
        return cls(recipes, shared, places)


def _shares(counts: Offsets, stream: Ints, n_shards: int, order: int) -> list[Share]:
    """Ranges of last words of about the same weight; a word above it is cut by the words before it."""
    fair = max(1.0, counts.sum() / n_shards)
    shares: list[Share] = []
    n_words, low, weight = counts.size, 0, 0.0
    for word in range(n_words):
        heavy = (
            word > 0 and order > 2 and counts[word] > 1.5 * fair
        )  # the start of a sentence has no word before it
        if (heavy or weight + counts[word] > 1.25 * fair) and weight:
            shares.append((low, word, None))
            low, weight = word, 0.0
        if not heavy:
            weight += float(counts[word])
            continue
        before = _words_before(stream, word, n_words)
        wanted = np.arange(1, round(counts[word] / fair)) * fair
        inner = np.searchsorted(np.cumsum(before), wanted) + 1
        cuts = np.unique(np.concatenate([[0], inner, [n_words]])).tolist()
        parts = [(a, b) for a, b in pairwise(cuts) if before[a:b].sum()]
        shares += [(word, word + 1, part) for part in parts]
        low, weight = word + 1, 0.0
    if weight:
        shares.append((low, n_words, None))
    return shares


def _followers(stream: Ints, word: int, n_words: int) -> Offsets:
    return np.bincount(np.asarray(stream[1:])[np.asarray(stream[:-1]) == word], minlength=n_words)


def _words_before(stream: Ints, word: int, n_words: int) -> Offsets:
    at = np.flatnonzero(np.asarray(stream[:-1]) == word)  # never the first: that is the boundary
    return np.bincount(stream[at - 1], minlength=n_words)


def _shared_tree(
    words: list[Ints], counts: list[Any], heavy: list[int], n_words: int, order: int
) -> ContextTree:
    """The root, and below it the split words, as a tree of their own: what the driver keeps."""
    n = len(words)
    ptr = np.cumsum([0, *map(len, words)]).astype(np.int64)
    levels = np.array([0, 1, n] if n > 1 else [0, 1], np.int64)
    root = words[0]
    above = [np.full(len(root), -1), *(np.searchsorted(root, some) for some in words[1:])]
    return ContextTree(
        history=np.array([0, *heavy], np.int32),
        level_ptr=levels,
        parent=np.array([-1, *[0] * (n - 1)], np.int32),
        symbol=np.array([-1, *heavy], np.int32),
        depth=np.array([0, *[1] * (n - 1)], np.int32),
        example=np.array([0, *range(2, n + 1)], np.int32),
        terminal=np.zeros(n, np.int32),
        pair_ptr=ptr,
        word=np.concatenate(words).astype(np.int32),
        count=np.concatenate(counts).astype(np.int32),
        pair_parent=np.concatenate(above).astype(np.int32),
        n_unseen=np.array([n_words - len(root)], np.int32),
        order=order,
        collapsed=False,
        n_targets=n_words,
    )


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


def fit_stream(
    model: LogLinearLM,
    manifest: Manifest,
    engine: Engine | None = None,
    n_shards: int | None = None,
    callback: Callback | None = None,
) -> LogLinearLM:
    """Train a model on a folder of text; it becomes an ordinary model of the weights that are not 0.

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
    found = talk.ask("kept")
    tree, w = joined(split, result.w, found)
    fit = {
        "objective": result.objective, "n_iter": result.iterations, "reason": result.reason, "positions": tokens,
    }  # fmt: skip
    model.restore(read_vocabulary(manifest), SuffixLoss(tree), w, strength, fit)
    model.scales_, model._online, model._behind = None, None, False
    return model
