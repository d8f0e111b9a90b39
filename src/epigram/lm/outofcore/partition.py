"""Splits a text into shards by the last context word, frequent words also by the one before.

A shard finds its own positions in the whole stream (:mod:`epigram.lm.outofcore.encode`), 4 bytes a token; nothing is
shuffled. A word that is too heavy for one shard is split by the word before it; its shards then share the pairs of
that word, as all share those of the root.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram.lm.loglinear.penalties import Strength
from epigram.lm.loglinear.tree import ContextTree, Positions
from epigram.outofcore.dataset import Manifest, Record, map_arrays
from epigram.protocols import Ints, Offsets

BLOCK = 1 << 22  # positions of the stream looked at in one go
Share = tuple[int, int, tuple[int, int] | None]


@dataclass(frozen=True, slots=True)
class SubtreeRecipe:
    """Range of last words; for a split word also a range of the words before it."""

    folder: str
    stream: Record
    order: int
    n_words: int
    root_words: Ints
    penalty: str
    strength: Strength
    nonnegative: bool
    room: str | None = None
    low: int = 0
    high: int = 0
    before: tuple[int, int] | None = None
    followers: Ints | None = None
    held_out: Positions | None = None
    """Positions of another text that this shard judges."""

    def positions(self) -> Positions:
        """The positions of the text whose context ends so."""
        stream = _checked(self.folder, json.dumps(self.stream))
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


@lru_cache(maxsize=1)
def _checked(folder: str, record: str) -> Ints:
    """Map the stream of a folder; its digest is compared once a process."""
    return map_arrays(Path(folder) / "common", json.loads(record))["stream"]


def positions_at(stream: Ints, ends: Ints, order: int, n_words: int) -> Positions:
    """Positions of a stream with the words before them, up to the order."""
    length, inside = np.ones(ends.size, np.int32), stream[ends - 1] != 0
    for back in range(2, order):
        length += inside
        inside &= stream[np.maximum(ends - back, 0)] != 0
    return Positions(stream, ends, length, np.asarray(stream[ends]), n_words, n_words)


@dataclass(frozen=True)
class Split:
    """Split of a stream: recipes of the shards, and the tree that they share."""

    recipes: list[SubtreeRecipe]
    shared: ContextTree
    places: list[npt.NDArray[np.int64] | slice]

    @cached_property
    def is_again(self) -> list[bool]:
        """Of each shard, whether its word is split and the shard before has the same."""
        lows = [-1, *(recipe.low for recipe in self.recipes)]
        return [a == b for a, b in pairwise(lows)]

    def shard_of(self, last: Ints, before: Ints | None) -> Offsets:
        """The shard of contexts by their last word and the one before it, if there is one."""
        firsts, lows, starts = self._ranges
        found = firsts[np.searchsorted(lows, last, side="right") - 1]
        if before is None:
            return found
        for k, begins in starts.items():
            here = found == k
            found[here] += np.maximum(np.searchsorted(begins, before[here], side="right") - 1, 0)
        return found

    def judging(self, stream: Ints, order: int) -> Split:
        """Add positions of held-out text, each to the shard that has its context, or the first."""
        n_words = self.shared.n_targets
        whole = Positions.of_stream(stream, n_words)
        back = np.arange(order - 1, 0, -1)
        contexts = stream[np.maximum(whole.end[:, None] - back, 0)]
        length = np.minimum(whole.length, np.int32(order - 1))
        last, before = contexts[:, -1], np.where(length > 1, contexts[:, -min(2, order - 1)], -1)
        shard = np.where(length > 0, self.shard_of(np.maximum(last, 0), before), 0)
        recipes = []
        for k, recipe in enumerate(self.recipes):
            mine = np.flatnonzero(shard == k)
            end = (np.arange(1, mine.size + 1) * (order - 1)).astype(np.int32)
            held_out = Positions(
                contexts[mine].ravel(), end, length[mine], whole.target[mine], n_words, n_words
            )
            recipes.append(replace(recipe, held_out=held_out))
        return replace(self, recipes=recipes)

    @cached_property
    def _ranges(self) -> tuple[Offsets, Offsets, dict[int, list[int]]]:
        """First shard and first word of each range, and the starts of split words."""
        firsts = [k for k, again in enumerate(self.is_again) if not again]
        starts: dict[int, list[int]] = {}
        for recipe, first in zip(self.recipes, np.cumsum(~np.array(self.is_again)) - 1, strict=True):
            if recipe.before is not None:
                starts.setdefault(firsts[first], []).append(recipe.before[0])
        return np.array(firsts), np.array([self.recipes[k].low for k in firsts]), starts

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
        """Split into shards of similar size; ``room`` is a folder for arrays beyond memory."""
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
        whole = SubtreeRecipe(
            folder=str(manifest.folder.resolve()),
            stream={"stream": manifest.common["stream"]},
            order=order,
            n_words=n_words,
            root_words=root_words,
            penalty=penalty,
            strength=strength,
            nonnegative=nonnegative,
            room=room,
        )
        for low, high, before in shares:
            mine = None if before is None else words[1 + heavy.index(low)]
            recipes.append(replace(whole, low=low, high=high, before=before, followers=mine))
            root = np.arange(len(root_words))
            places.append(
                slice(0, root.size) if mine is None else np.append(root, first[low] + np.arange(mine.size))
            )
        return cls(recipes, shared, places)


def _shares(counts: Offsets, stream: Ints, n_shards: int, order: int) -> list[Share]:
    """Cut ranges of last words of similar weight; split heavier words by the word before."""
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
