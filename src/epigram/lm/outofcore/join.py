"""Joins the shards' trees into one model, with one shard's part in memory at a time.

A model keeps the weights that are not 0, the contexts they stand in, and the pairs that contexts are spelled with: of
a context s_k .. s_1 the pair of s_1 after s_k .. s_2, which may be in another shard. Missing pairs are
requested from the shards that own them, longest contexts first, because adding one may require a shorter one.

Ranges of words stand in order, and so do those before a split word; level by level, the shards' contexts follow each
other as they do in the whole tree.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from epigram.lm.loglinear.storage import model_file, tree_of
from epigram.lm.vocabulary import Vocabulary
from epigram.outofcore.memory import Room
from epigram.protocols import Floats, Ints, Offsets
from epigram.storage import ModelFile

if TYPE_CHECKING:
    from epigram.lm.loglinear.tree import ContextTree
    from epigram.lm.outofcore.partition import Split


class ContextLevel(NamedTuple):
    """Contexts of one length: index of the parent, oldest word, and pairs."""

    parent: Ints
    symbol: Ints
    sizes: Ints
    word: Ints
    weight: Floats


NONE = np.empty(0, np.int32)
NOTHING = ContextLevel(NONE, NONE, NONE, NONE, np.empty(0))


@dataclass(frozen=True)
class Joined:
    """The tree of all shards in a file: contexts with their pairs and weights.

    ``root`` are the weights without context, one for each word.
    """

    room: Room
    root: Floats
    order: int
    n_pairs: int
    n_nonzero: int

    @classmethod
    def of(
        cls, split: Split, shared: Floats, found: Iterable[list[ContextLevel]], folder: str | PathLike[str]
    ) -> Joined:
        """Join the levels of the shards and the shared weights, in a file of ``folder``."""
        shards = _Shards(split, found, folder)
        for length in range(split.shared.order - 1, 1, -1):
            shards.spell(length)
        top = split.shared
        root = np.zeros(top.n_targets)
        root[top.word[: top.pair_ptr[1]]] = shared[: top.pair_ptr[1]]
        room, nonzero = shards.end_to_end(folder), int(np.count_nonzero(root))
        return cls(room, root, top.order, root.size + shards.n_pairs, nonzero + shards.n_nonzero)

    def tree(self) -> tuple[ContextTree, Floats]:
        """All of it in memory, with the weight of each pair."""
        parent, symbol, sizes, word = (self.room[name] for name in ("parent", "symbol", "sizes", "word"))
        tree = tree_of(parent, symbol, sizes, word, self.root.size, self.order)
        return tree, np.concatenate((self.root, self.room["weight"]))

    def to_model_file(self, vocabulary: Vocabulary, header: dict[str, Any], bits: int) -> ModelFile:
        """The model file."""
        return model_file(vocabulary, header, self.root, self.room.__getitem__, bits)


class _Shards:
    """The levels of each shard, in a file."""

    def __init__(
        self, split: Split, found: Iterable[list[ContextLevel]], folder: str | PathLike[str]
    ) -> None:
        self.split, self.room, self.n_words = split, Room(folder), split.shared.n_targets
        self.n_pairs = self.n_nonzero = 0
        self.depth = [0] * len(split.recipes)
        self.wishes: dict[tuple[int, int], list[int]] = {}
        for k, levels in enumerate(found):
            if split.is_again[k] and levels:  # the shard before has the pairs of this word already
                levels[0] = levels[0]._replace(
                    sizes=np.zeros_like(levels[0].sizes), word=NOTHING.word, weight=NOTHING.weight
                )
            self.put(k, levels)

    def put(self, k: int, levels: list[ContextLevel]) -> None:
        """Keep the levels of a shard."""
        self.depth[k] = len(levels)
        for number, level in enumerate(levels):
            for name, array in level._asdict().items():
                self.room[k, number, name] = array

    def level(self, k: int, number: int) -> ContextLevel:
        """One level of a shard; nothing below its last."""
        if number >= self.depth[k]:
            return NOTHING
        return ContextLevel(*(self.room[k, number, name] for name in ContextLevel._fields))

    def spell(self, length: int) -> None:
        """Have the shards keep the pairs that contexts of this length are spelled with."""
        for k in range(len(self.depth)):
            rows = np.empty((1, 0), np.int32)
            for number in range(length):
                parent, symbol = self.level(k, number)[:2]
                rows = np.concatenate((rows[parent], symbol[:, None]), axis=1)
            if len(rows):
                self._wish(k, length, rows)
        for k in range(len(self.depth)):
            if (length, k) not in self.wishes:
                continue
            asked = np.concatenate([self.room[length, source, k] for source in self.wishes.pop((length, k))])
            levels = [self.level(k, number) for number in range(max(self.depth[k], length - 1))]
            self.put(k, with_pairs(levels, asked.reshape(-1, length), self.n_words))

    def _wish(self, k: int, length: int, rows: Ints) -> None:
        """Request the pairs that spell some contexts (newest word first)."""
        whom = self.split.shard_of(rows[:, 1], rows[:, 2] if length > 2 else None)
        order = np.argsort(whom, kind="stable")
        ends = np.searchsorted(whom[order], np.unique(whom), side="right")
        for mine in np.split(order, ends[:-1]):
            target = int(whom[mine[0]])
            self.room[length, k, target] = rows[mine].ravel()
            self.wishes.setdefault((length, target), []).append(k)

    def end_to_end(self, folder: str | PathLike[str]) -> Room:
        """All levels of all shards as one tree, whose root is 0 and not among them."""
        out, n = Room(folder), 1
        for name, array in NOTHING._asdict().items():
            out.append(name, array)
        above = [0] * len(self.depth)  # the number in the whole of the first context of the level above
        for number in range(max(self.depth, default=0)):
            for k in range(len(self.depth)):
                if number == 0 and self.split.is_again[k]:
                    above[k] = n - 1
                    continue
                level = self.level(k, number)
                level = level._replace(parent=level.parent + np.int32(above[k]))
                for name, array in level._asdict().items():
                    out.append(name, array)
                above[k], n = n, n + level.parent.size
                self.n_pairs += level.word.size
                self.n_nonzero += int(np.count_nonzero(level.weight))
        return out


def with_pairs(levels: list[ContextLevel], asked: Ints, n_words: int) -> list[ContextLevel]:
    """Add a pair of weight 0 for each row of ``asked``: a word, then its context, newest first.

    Examples
    --------
    >>> level = ContextLevel(*(np.array(x, np.int32) for x in ([0], [2], [1], [5])), np.array([0.5]))
    >>> (new,) = with_pairs([level], np.array([[1, 2], [5, 2], [4, 0]]), n_words=6)
    >>> new.symbol.tolist(), new.sizes.tolist(), new.word.tolist(), new.weight.tolist()
    ([0, 2], [1, 2], [4, 1, 5], [0.0, 0.0, 0.5])
    """
    moved: Offsets = np.zeros(1, np.int64)  # where contexts of the level above are now
    at: Offsets = np.zeros(len(asked), np.int64)  # the context asked for, as far as this level goes
    found = []
    for length, level in enumerate(levels, 1):
        keys = moved[level.parent] * n_words + level.symbol
        all_keys = keys
        if length < asked.shape[1]:
            wanted = at * n_words + asked[:, length]
            all_keys = np.union1d(keys, wanted)
            at = np.searchsorted(all_keys, wanted)
        moved = np.searchsorted(all_keys, keys)
        pairs, weight = np.repeat(moved, level.sizes) * n_words + level.word, level.weight
        if length == asked.shape[1] - 1:
            new = np.setdiff1d(at * n_words + asked[:, 0], pairs)
            pairs, weight = np.concatenate((pairs, new)), np.concatenate((weight, np.zeros(new.size)))
            order = np.argsort(pairs, kind="stable")
            pairs, weight = pairs[order], weight[order]
        counts = np.bincount(pairs // n_words, minlength=all_keys.size)
        numbers = (all_keys // n_words, all_keys % n_words, counts, pairs % n_words)
        parent, symbol, sizes, word = (array.astype(np.int32) for array in numbers)
        found.append(ContextLevel(parent, symbol, sizes, word, weight))
    return found
