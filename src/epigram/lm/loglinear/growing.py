"""What training on a stream keeps: arrays that grow, a table of weights by n-gram, and the text by last word.

All three cost a constant for each thing added, averaged over all that were added so far.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram._core.native import family
from epigram.lm.loglinear.tree import ContextTree, Positions
from epigram.protocols import Floats, Ints, Offsets

Keys = npt.NDArray[np.uint64]


class Growing:
    """An array with room at its end.

    Examples
    --------
    >>> numbers = Growing(np.arange(3))
    >>> numbers.append([7, 8])
    >>> numbers.all.tolist()
    [0, 1, 2, 7, 8]
    """

    def __init__(self, first: npt.NDArray[Any]) -> None:
        self._room, self._size = first.copy(), first.size

    @property
    def all(self) -> npt.NDArray[Any]:
        """What it holds; a view that the next growth may leave behind."""
        return self._room[: self._size]

    def append(self, more: npt.ArrayLike) -> None:
        """Add at the end."""
        values = np.asarray(more, self._room.dtype)
        if self._size + values.size > self._room.size:
            room = np.empty(2 * (self._size + values.size), self._room.dtype)
            room[: self._size] = self.all
            self._room = room
        self._room[self._size : self._size + values.size] = values
        self._size += values.size


class WeightTable:
    """Numbers by the key of a pair (:func:`pair_keys`); what was never put is 0.

    Examples
    --------
    >>> table = WeightTable()
    >>> keys = np.array([5, 9], np.uint64)
    >>> table.put(keys, np.array([1.5, -2.0]))
    >>> table.get(np.array([9, 6, 5], np.uint64)).tolist()
    [-2.0, 0.0, 1.5]
    """

    def __init__(self) -> None:
        self._keys, self._values = np.zeros(1024, np.uint64), np.zeros(1024)
        self._n = 0

    def get(self, keys: Keys) -> Floats:
        """The number of each key."""
        out = np.empty(keys.size)
        family("loglinear").look_up(self._keys.size, self._keys, self._values, keys.size, keys, out)
        return out

    def put(self, keys: Keys, values: Floats) -> None:
        """Set the number of each key."""
        insert = family("loglinear").insert
        if 2 * (self._n + keys.size) > self._keys.size:
            size = 1 << int(np.ceil(np.log2(4 * (self._n + keys.size))))
            old = self._keys, self._values
            self._keys, self._values = np.zeros(size, np.uint64), np.zeros(size)
            insert(size, self._keys, self._values, old[0].size, *old)
        self._n += insert(self._keys.size, self._keys, self._values, keys.size, keys, values)


def pair_keys(parent: Ints, symbol: Ints, pair_ptr: Offsets, word: Ints) -> Keys:
    """A number for each pair of a tree that depends on its context and its word alone, not on the rest of the tree.

    In a collapsed tree a node goes by the first symbols on its path, so that its key says which node it is among
    those of the same text. Two pairs share a key with a chance of about 1 in 2^64.
    """
    out, nodes = np.empty(word.size, np.uint64), np.empty(parent.size, np.uint64)
    family("loglinear").pair_keys(parent.size, parent, symbol, pair_ptr, word.size, word, nodes, out)
    return out


def keys_of(tree: ContextTree) -> Keys:
    """:func:`pair_keys` of a context tree."""
    return pair_keys(tree.parent, tree.symbol, tree.pair_ptr, tree.word)


@dataclass(slots=True)
class Blocks:
    """Positions in blocks that are learnt together: how many each has, and how many of these were learnt.

    ``add`` puts positions at the end; ``due`` names the blocks whose turn it is.

    Examples
    --------
    >>> blocks = Blocks.empty()
    >>> blocks.add(np.array([0, 2, 0]))
    >>> blocks.due(10).tolist(), blocks.of(np.array([0, 2])).tolist()
    ([0, 2], [0, 2, 1])
    """

    total: Offsets
    learnt: Offsets
    _last: Offsets
    _previous: Growing

    @classmethod
    def empty(cls) -> Blocks:
        """No blocks yet."""
        none = np.empty(0, np.int64)
        return cls(none, none, none, Growing(none))

    def reserve(self, n_blocks: int) -> None:
        """Make room for so many blocks."""
        more = n_blocks - self.total.size
        if more > 0:
            self.total, self.learnt = (
                np.append(x, np.zeros(more, np.int64)) for x in (self.total, self.learnt)
            )
            self._last = np.append(self._last, np.full(more, -1))

    def add(self, block: npt.NDArray[Any]) -> None:
        """New positions, by the block of each."""
        self.reserve(int(block.max(initial=-1)) + 1)
        first = self._previous.all.size
        self._previous.append(np.empty(block.size, np.int64))
        family("loglinear").link(
            block.size, block.astype(np.int64), self._last.size, self._last, first, self._previous.all
        )
        self.total += np.bincount(block, minlength=self.total.size)

    def due(self, budget: int) -> Offsets:
        """Blocks with positions that were not learnt, those that grew most first, within a budget of positions."""
        waiting = np.flatnonzero(self.total > self.learnt)
        growth = (self.total - self.learnt)[waiting] / self.total[waiting]
        waiting = waiting[np.argsort(-growth, kind="stable")]
        return waiting[np.cumsum(self.total[waiting]) <= budget]

    def of(self, blocks: Offsets) -> Offsets:
        """Their positions, block by block, oldest first."""
        out = np.empty(int(self.total[blocks].sum()), np.int64)
        family("loglinear").follow(
            blocks.size, blocks, self.total.size, self.total, self._last, self._previous.all, out
        )
        return out

    def is_old(self, blocks: Offsets) -> npt.NDArray[np.bool_]:
        """Which of the positions of :meth:`of` were learnt before."""
        total = self.total[blocks]
        place = np.arange(int(total.sum())) - np.repeat(np.cumsum(total) - total, total)
        return np.asarray(place < np.repeat(self.learnt[blocks], total))


class TextSoFar:
    """All positions of a stream in the words of a vocabulary that may grow.

    Examples
    --------
    >>> from epigram.lm.corpus import Corpus
    >>> text = TextSoFar()
    >>> text.add(Positions.of(Corpus.of(["a b"])))
    >>> text.add(Positions.of(Corpus.of(["a"])))
    >>> text.positions(3).target.tolist(), text.stream.tolist()
    ([1, 2, 0, 1, 0], [0, 1, 2, 0, 1, 0])
    """

    def __init__(self) -> None:
        # Each text begins with the boundary that the one before ended with.
        self._history = Growing(np.zeros(1, np.int32))
        self._at = [Growing(np.empty(0, np.int32)) for _ in range(3)]

    def add(self, new: Positions) -> None:
        """Positions of a text whose history begins with a boundary."""
        shift = self._history.all.size - 1
        self._history.append(new.history[1:])
        for kept, more in zip(self._at, (new.end + np.int32(shift), new.length, new.target), strict=True):
            kept.append(more)

    @property
    def stream(self) -> Ints:
        """All words with boundaries around the sentences (:meth:`~epigram.lm.corpus.Corpus.stream`)."""
        return self._history.all

    def positions(self, n_words: int, at: Offsets | slice = slice(None)) -> Positions:
        """All positions, or those named."""
        end, length, target = (kept.all[at] for kept in self._at)
        return Positions(self.stream, end, length, target, n_targets=n_words, n_symbols=n_words)


def last_symbols(positions: Positions) -> Offsets:
    """The block of each position: 0 without context, else one more than the symbol just before it."""
    before = positions.history[positions.end - 1].astype(np.int64)
    return np.where(positions.length > 0, before + 1, 0)
