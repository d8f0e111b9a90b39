"""The context trie S and the collapsed tree T of Nelakanti et al. 2013, section 2.2, as arrays.

A node is a context: the last d symbols of a history. Its pairs (c, u) are the predicted symbols u seen after
it, one weight each, so |S| of the paper is the number of pairs of the trie. Contexts stand in level order,
and within a level by parent and then symbol; so the children of a context, and its pairs, are contiguous,
parents come in the order of their children, and every sweep streams through memory.

Contexts and predicted symbols are separate alphabets, and there may be several roots: the tree does not know
what a word is. It grows level by level: the positions of a context, sorted by target, are split by their
next older symbol with a stable sort. That costs O(n) a level; a position leaves when its context ends.

Differs from the paper: T merges a context with its only extension when *every* occurrence extends so; then
the two have the same gradient for every word, and the collapse is exact. The paper merges nodes of one
word's trie (``n_tree`` counts these, its |T|), where the true gradients differ as soon as another word
follows the shorter context elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from epigram.errors import InputError
from epigram.lm.corpus import Corpus
from epigram.protocols import Floats, Ints, Offsets


@dataclass(frozen=True, slots=True)
class Positions:
    """Training positions: what was seen, after which history.

    Position i has the target ``target[i]`` and the context ``history[end[i] - 1], history[end[i] - 2], ...``,
    at most ``length[i]`` symbols; ``root[i]`` names the tree it belongs to.
    """

    history: Ints = field(repr=False)
    end: Ints = field(repr=False)
    length: Ints = field(repr=False)
    target: Ints = field(repr=False)
    n_targets: int
    n_symbols: int
    root: Ints | None = field(default=None, repr=False)
    n_roots: int = 1

    @classmethod
    def of(cls, corpus: Corpus) -> Positions:
        """Every word and every end of sentence, after the words back to the start of its sentence.

        Examples
        --------
        >>> positions = Positions.of(Corpus.of(["a b"]))
        >>> positions.target.tolist(), positions.length.tolist()
        ([1, 2, 0], [1, 2, 3])
        """
        return cls.of_stream(corpus.stream(), len(corpus.vocabulary))

    @classmethod
    def of_stream(cls, history: Ints, n: int) -> Positions:
        """The same from ids of ``n`` words with a boundary before the first (:meth:`Corpus.stream`)."""
        at = np.arange(history.size)
        # A word outside the vocabulary is no target and cuts the context; <s> itself is context.
        edge = np.maximum.accumulate(np.where(history == 0, at, np.where(history < 0, at + 1, 0)))
        end = np.flatnonzero(history[1:] >= 0) + 1
        length = end - edge[end - 1]
        return cls(
            history,
            end.astype(np.int32),
            length.astype(np.int32),
            history[end],
            n_targets=n,
            n_symbols=n,
        )


@dataclass(frozen=True, slots=True)
class ContextTree:
    """Contexts in level order and their pairs; see the module docstring.

    Attributes
    ----------
    level_ptr : contexts of level k are ``level_ptr[k] .. level_ptr[k + 1]``; level 0 holds the roots
    parent, symbol : of each context; the parent of a root is -1. ``symbol`` is the first (newest) one it adds
    depth : context symbols at the deepest of the contexts a node stands for
    example : the symbols a node adds are ``history[example - depth] .. history[example - depth of parent -
    1]``
    terminal : positions whose longest context this is
    pair_ptr, word, count, pair_parent : the pairs of each context, sorted by predicted symbol
    n_unseen : predicted symbols without a pair at each root; they keep the weight 0. In a tree of a part of a text,
        the sum of exp of their weights
    """

    history: Ints = field(repr=False)
    level_ptr: Offsets
    parent: Ints = field(repr=False)
    symbol: Ints = field(repr=False)
    depth: Ints = field(repr=False)
    example: Ints = field(repr=False)
    terminal: Ints = field(repr=False)
    pair_ptr: Offsets = field(repr=False)
    word: Ints = field(repr=False)
    count: Ints = field(repr=False)
    pair_parent: Ints = field(repr=False)
    n_unseen: Ints | Floats = field(repr=False)
    order: int
    collapsed: bool
    n_targets: int

    @classmethod
    def grow(cls, positions: Positions, order: int = 5, collapse: bool = False) -> ContextTree:
        """Contexts of at most ``order - 1`` symbols; ``order`` 0 is unbounded.

        Examples
        --------
        >>> tree = ContextTree.grow(Positions.of(Corpus.of(["a b", "a b"])), order=3)
        >>> tree.n_trie, tree.n_tree, tree.n_contexts
        (8, 3, 6)
        >>> ContextTree.grow(Positions.of(Corpus.of(["a b", "a b"])), order=0, collapse=True).n_trie
        9
        """
        if order < 0:
            raise InputError(f"the order must be 1 or more, or 0 for unbounded, not {order}.")
        if positions.target.size == 0:
            raise InputError("no training positions: the text is empty.")
        return _Growth(positions, order, collapse).tree()

    @property
    def n_contexts(self) -> int:
        """Nodes."""
        return self.parent.size

    @property
    def n_pairs(self) -> int:
        """Pairs of a context and a symbol seen after it: the weights of a model."""
        return self.word.size

    @property
    def n_positions(self) -> int:
        """Training positions."""
        return int(self.terminal.sum(dtype=np.int64))

    @property
    def multiplicity(self) -> Ints:
        """Contexts that each node stands for; 1 everywhere in a trie."""
        above = np.where(self.parent >= 0, self.depth[self.parent], self.depth - 1)
        return (self.depth - above).astype(np.int32)

    @property
    def level_of_pair(self) -> Offsets:
        """Pairs of level k are ``level_of_pair[k] .. level_of_pair[k + 1]``."""
        return self.pair_ptr[self.level_ptr]

    @property
    def n_trie(self) -> int:
        """|S|, counted from either form."""
        return int(np.diff(self.pair_ptr) @ self.multiplicity)

    @property
    def n_tree(self) -> int:
        """|T| as the paper counts it: nodes of the collapsed tries of each word."""
        from epigram.lm.loglinear.tree_kernels import collapsed_pairs

        return int(collapsed_pairs(self.pair_parent, self.count))

    @property
    def child_ptr(self) -> Offsets:
        """The children of context c are ``child_ptr[c] .. child_ptr[c + 1]``, sorted by symbol."""
        n_roots = int(self.level_ptr[1])
        n_children = np.bincount(self.parent[n_roots:], minlength=self.n_contexts)
        return np.concatenate(([n_roots], n_roots + np.cumsum(n_children)))

    @property
    def root_of(self) -> Ints:
        """The root above each context."""
        out = np.arange(self.n_contexts, dtype=np.int32)
        for first, last in zip(self.level_ptr[1:-1].tolist(), self.level_ptr[2:].tolist(), strict=True):
            out[first:last] = out[self.parent[first:last]]
        return out

    def per_pair(self, of_context: Ints) -> Ints:
        """A value of each context, repeated for its pairs."""
        return np.repeat(of_context, np.diff(self.pair_ptr))

    def carry_over(self, other: ContextTree, w: Floats) -> Floats:
        """Weights of another tree of the same symbols and roots, in this one's pairs; new pairs get 0.

        Where a chain of the other tree is split here, its weights go to all its parts.
        """
        from epigram.lm.loglinear.tree_kernels import match_trees

        out = np.zeros(self.n_pairs)
        match_trees(
            self.history,
            self.example,
            self.depth,
            self.parent,
            self.symbol,
            self.pair_ptr,
            self.word,
            int(self.level_ptr[1]),
            other.history,
            other.example,
            other.depth,
            other.child_ptr,
            other.symbol,
            other.pair_ptr,
            other.word,
            w,
            np.empty(self.n_contexts, np.int32),
            out,
        )
        return out

    def context(self, node: int) -> Ints:
        """The symbols of a node, oldest first (its deepest context, where it stands for several)."""
        out = np.empty(int(self.depth[node]), np.int32)
        while node >= 0 and self.depth[node] > 0:
            above = int(self.parent[node])
            start, stop = int(self.depth[above]), int(self.depth[node])
            end = int(self.example[node])
            # An example spells the symbols that its own node adds, wherever they stand in the history.
            out[out.size - stop : out.size - start] = self.history[end - stop : end - start]
            node = above
        return out


class _Growth:
    """Work arrays of one growth; each level's output is trimmed and kept."""

    def __init__(self, positions: Positions, order: int, collapse: bool) -> None:
        self.positions, self.order, self.collapse = positions, order, collapse
        n = positions.target.size
        self.length = positions.length if order == 0 else np.minimum(positions.length, np.int32(order - 1))
        self.keys, self.spare_keys = np.empty((2, n), np.int32)
        self.values, self.spare_values = np.empty((2, n), np.int32)
        self.bins = np.empty(max(positions.n_symbols, 1), np.int64)
        self.parts: dict[str, list[np.ndarray]] = {}

    def keep(self, **arrays: np.ndarray) -> None:
        for name, array in arrays.items():
            self.parts.setdefault(name, []).append(array)

    def tree(self) -> ContextTree:
        from epigram.lm.loglinear.tree_kernels import grow, plant

        at = self.positions
        n = at.target.size
        root = np.zeros(n, np.int32) if at.root is None else at.root
        slots, pair_of_slot = np.empty((2, n), np.int32)
        slot_ptr, pair_ptr = np.empty((2, at.n_roots + 1), np.int64)
        word, count = np.empty((2, n), np.int32)
        n_pairs = plant(
            root, at.target, at.n_roots, at.n_targets, slots, pair_of_slot, slot_ptr, pair_ptr, word, count
        )
        depth = np.zeros(at.n_roots, np.int32)
        self.keep(
            parent=np.full(at.n_roots, -1, np.int32),
            symbol=np.full(at.n_roots, -1, np.int32),
            depth=depth,
            example=np.zeros(at.n_roots, np.int32),
            word=word[:n_pairs].copy(),
            count=count[:n_pairs].copy(),
            pair_parent=np.full(n_pairs, -1, np.int32),
        )
        pair_ptrs, levels = [pair_ptr], [0, at.n_roots]
        n_unseen = (at.n_targets - np.diff(pair_ptr)).astype(np.int32)
        first_pair, total_pairs = 0, n_pairs
        while True:
            terminal = np.empty(depth.size, np.int32)
            live = slots.size
            contexts = np.empty((3, live), np.int32)
            pairs = np.empty((3, live), np.int32)
            new_slot_ptr, new_pair_ptr = np.empty((2, live + 1), np.int64)
            new_slots, new_pair_of_slot = np.empty((2, live), np.int32)
            n_contexts, n_pairs = grow(
                depth,
                slot_ptr,
                slots,
                pair_of_slot,
                levels[-2],
                first_pair,
                at.history,
                at.end,
                self.length,
                at.target,
                self.collapse,
                self.bins,
                self.keys,
                self.values,
                self.spare_keys,
                self.spare_values,
                terminal,
                contexts[0],
                contexts[1],
                contexts[2],
                new_slot_ptr,
                new_pair_ptr,
                pairs[0],
                pairs[1],
                pairs[2],
                new_slots,
                new_pair_of_slot,
            )
            self.keep(terminal=terminal)
            if n_contexts == 0:
                break
            slot_ptr = new_slot_ptr[: n_contexts + 1].copy()
            slots, pair_of_slot = new_slots[: slot_ptr[-1]].copy(), new_pair_of_slot[: slot_ptr[-1]].copy()
            depth = contexts[2, :n_contexts].copy()
            first_pair = total_pairs
            pair_ptrs.append(new_pair_ptr[1 : n_contexts + 1] + total_pairs)
            total_pairs += n_pairs
            levels.append(levels[-1] + n_contexts)
            self.keep(
                parent=contexts[0, :n_contexts].copy(),
                symbol=contexts[1, :n_contexts].copy(),
                depth=depth,
                example=at.end[slots[slot_ptr[:-1]]],
                word=pairs[0, :n_pairs].copy(),
                count=pairs[1, :n_pairs].copy(),
                pair_parent=pairs[2, :n_pairs].copy(),
            )
            if total_pairs >= 2**31:
                raise InputError("over 2^31 pairs of context and word; use a lower order or less text.")
        joined = {name: np.concatenate(parts) for name, parts in self.parts.items()}
        return ContextTree(
            history=at.history,
            level_ptr=np.array(levels, np.int64),
            pair_ptr=np.concatenate(pair_ptrs),
            n_unseen=n_unseen,
            order=self.order,
            collapsed=self.collapse,
            n_targets=at.n_targets,
            **joined,
        )
