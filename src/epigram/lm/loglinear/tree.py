"""Context tree of a text: trie or collapsed tree (Nelakanti et al. 2013, 2.2), in arrays.

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

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from epigram._core import bindings
from epigram._core.arrays import ranges
from epigram.errors import InputError, at_least
from epigram.lm.corpus import Corpus
from epigram.protocols import Floats, Ints, Offsets

if TYPE_CHECKING:
    from epigram.lm.loglinear.loss import SuffixLoss


PER_POSITION, AT_LEAST = 50, 1 << 20  # symbols of contexts that an unbounded tree looks at


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

    def part(self, first: int, last: int) -> Positions:
        """The positions ``first .. last``, after the same history."""
        at = slice(first, last)
        root = None if self.root is None else self.root[at]
        return replace(self, end=self.end[at], length=self.length[at], target=self.target[at], root=root)

    def followed_by(self, other: Positions) -> Positions:
        """These positions and then others of the same roots."""
        roots = [np.zeros(at.target.size, np.int32) if at.root is None else at.root for at in (self, other)]
        return Positions(
            np.concatenate((self.history, other.history)),
            np.concatenate((self.end, other.end + np.int32(self.history.size))),
            np.concatenate((self.length, other.length)),
            np.concatenate((self.target, other.target)),
            max(self.n_targets, other.n_targets),
            max(self.n_symbols, other.n_symbols),
            np.concatenate(roots),
            self.n_roots,
        )

    def largest_order(self) -> int:
        """The order up to which a tree grows in linear time and memory; 0 where any will do.

        All contexts together have as many symbols as there are pairs at most. Without a limit one line of a million
        words would have 10^12 / 2; sentences of less than a hundred words meet none.

        Examples
        --------
        >>> Positions.of(Corpus.of(["a b", "b a b"])).largest_order()
        0
        >>> Positions.of(Corpus.of(["a b " * 50_000])).largest_order()
        51
        """
        longer = np.cumsum(np.bincount(self.length)[:0:-1])[::-1]  # positions with 1, 2, ... context symbols
        total = np.cumsum(longer)
        most = max(PER_POSITION * self.length.size, AT_LEAST)
        fits = int(np.searchsorted(total, most, side="right"))
        return 0 if fits == total.size else fits + 1

    def core(self, n_roots: int, order: int) -> Any:
        """The arrays for C, with contexts of at most ``order - 1`` symbols; 0 is unbounded."""
        n = self.target.size
        length = self.length if order == 0 else np.minimum(self.length, np.int32(order - 1))
        root = np.zeros(n, np.int32) if self.root is None else self.root
        found = bindings.Positions(self.history, self.end, length, self.target, root)
        misfit = bindings.loglinear_first_misfit(found, n_roots, self.n_targets)
        if misfit >= 0:
            raise InputError(
                f"position {misfit} has the target {self.target[misfit]} of {self.n_targets}, the root "
                f"{root[misfit]} of {n_roots} and {length[misfit]} of {self.end[misfit]} symbols before it."
            )
        return found


@dataclass(frozen=True)
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
        """Contexts of at most ``order - 1`` symbols; 0: :meth:`Positions.largest_order`.

        Examples
        --------
        >>> tree = ContextTree.grow(Positions.of(Corpus.of(["a b", "a b"])), order=3)
        >>> tree.n_trie, tree.n_tree, tree.n_contexts
        (8, 3, 6)
        >>> ContextTree.grow(Positions.of(Corpus.of(["a b", "a b"])), order=0, collapse=True).n_trie
        9
        """
        at_least(0, order, "order (0 is unbounded)")
        if positions.target.size == 0:
            raise InputError("no training positions: the text is empty.")
        return _Growth(positions, order or positions.largest_order(), collapse).tree()

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

    @cached_property
    def multiplicity(self) -> Ints:
        """Contexts that each node stands for; 1 everywhere in a trie."""
        above = np.where(self.parent >= 0, self.depth[self.parent], self.depth - 1)
        return (self.depth - above).astype(np.int32)

    @cached_property
    def pair_depth(self) -> Ints:
        """Context symbols of each pair."""
        return self.per_pair(self.depth)

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
        return int(bindings.loglinear_collapsed_pairs(self.pair_parent, self.count))

    @cached_property
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

    def core(self) -> Any:
        """The arrays as C takes them."""
        return bindings.Tree(
            n_roots=int(self.level_ptr[1]),
            history=self.history,
            parent=self.parent,
            symbol=self.symbol,
            depth=self.depth,
            example=self.example,
            terminal=self.terminal,
            multiplicity=self.multiplicity,
            child_ptr=self.child_ptr,
            pair_ptr=self.pair_ptr,
            word=self.word,
            count=self.count,
            pair_parent=self.pair_parent,
        )

    def per_pair(self, of_context: Ints) -> Ints:
        """A value of each context, repeated for its pairs."""
        return np.repeat(of_context, np.diff(self.pair_ptr))

    def carry_over(self, other: ContextTree, w: Floats) -> Floats:
        """Weights of another tree of the same symbols and roots, in these pairs; new pairs get 0.

        Where a chain of the other tree is split here, its weights go to all its parts.
        """
        out, node = np.zeros(self.n_pairs), np.empty(self.n_contexts, np.int32)
        bindings.loglinear_match_trees(self.core(), other.core(), w, node, out)
        return out

    def positions_of(self, pairs: Offsets, n_symbols: int) -> Positions:
        """One position for each of some pairs: its word after its (deepest) context."""
        node = (np.searchsorted(self.pair_ptr, pairs, side="right") - 1).astype(np.int32)
        length, root = self.depth[node], self.root_of[node]
        end = np.cumsum(length, dtype=np.int64)
        history, at = np.zeros(int(end[-1]) + 1 if end.size else 1, np.int32), end - length
        while (live := self.parent[node] >= 0).any():
            at, node = at[live], node[live]
            above = self.parent[node]
            size = self.depth[node] - self.depth[above]
            first = self.example[node].astype(np.int64) - self.depth[node]
            history[ranges(at, at + size)] = self.history[ranges(first, first + size)]
            at, node = at + size, above
        end32 = end.astype(np.int32)
        n_roots = int(self.level_ptr[1])
        return Positions(history, end32, length, self.word[pairs], self.n_targets, n_symbols, root, n_roots)

    def recount(self, positions: Positions) -> ContextTree:
        """This tree with the counts of positions whose contexts and pairs it all has."""
        found = Located(self, positions)
        count = np.bincount(found.pair, minlength=self.n_pairs)
        for first, last in pairwise(self.level_of_pair[:0:-1].tolist()):
            np.add.at(count, self.pair_parent[last:first], count[last:first])
        terminal = np.bincount(found.context, minlength=self.n_contexts)
        return replace(self, terminal=terminal.astype(np.int32), count=count.astype(np.int32))

    def needed_parts(self, w: Floats) -> tuple[Ints, Offsets]:
        """Contexts and pairs (of the root none) of a model with these weights, in order.

        A pair is kept if its weight is not 0, or if a context that is kept is spelled with it.
        """
        kept, needed = w != 0, np.zeros(self.n_contexts, bool)
        needed[0] = True
        if not self.collapsed:
            path = np.empty(self.level_ptr.size, np.int32)
            bindings.loglinear_close_prefixes(self.core(), path, needed, kept)
        else:
            needed[self.per_pair(np.arange(self.n_contexts, dtype=np.int32))[kept]] = True
            for level in range(self.level_ptr.size - 2, 0, -1):
                here = slice(int(self.level_ptr[level]), int(self.level_ptr[level + 1]))
                needed[self.parent[here][needed[here]]] = True
        below = int(self.pair_ptr[1])
        return np.flatnonzero(needed).astype(np.int32), below + np.flatnonzero(kept[below:])

    def context(self, node: int) -> Ints:
        """The symbols of the deepest context of a node, oldest first."""
        out = np.empty(int(self.depth[node]), np.int32)
        while node >= 0 and self.depth[node] > 0:
            above = int(self.parent[node])
            start, stop = int(self.depth[above]), int(self.depth[node])
            end = int(self.example[node])
            # An example spells the symbols that its own node adds, wherever they stand in the history.
            out[out.size - stop : out.size - start] = self.history[end - stop : end - start]
            node = above
        return out


class _Level:
    """Buffers of one level while it grows; slots are positions on their way down."""

    def __init__(self, n_contexts: int, n_slots: int) -> None:
        of_contexts, of_pairs = np.empty((3, n_contexts), np.int32), np.empty((3, n_slots), np.int32)
        self.contexts = dict(zip(("parent", "symbol", "depth"), of_contexts, strict=True))
        self.pairs = dict(zip(("word", "count", "pair_parent"), of_pairs, strict=True))
        self.slot_ptr, self.pair_ptr = np.empty((2, n_contexts + 1), np.int64)
        self.slots, pair_of_slot = np.empty((2, n_slots), np.int32)
        self.core = bindings.Level(
            **self.contexts,
            slot_ptr=self.slot_ptr,
            pair_ptr=self.pair_ptr,
            **self.pairs,
            slots=self.slots,
            pair_of_slot=pair_of_slot,
        )


class _Growth:
    """Work arrays of one growth; each level's output is trimmed and kept."""

    def __init__(self, positions: Positions, order: int, collapse: bool) -> None:
        self.positions, self.order, self.collapse = positions, order, collapse
        self.core = positions.core(positions.n_roots, order)
        n, n_symbols = positions.target.size, max(positions.n_symbols, 1)
        keys, values, spare_keys, spare_values = np.empty((4, n), np.int32)
        bins = np.empty(n_symbols, np.int64)
        self.sorting = bindings.Sorting(keys, values, spare_keys, spare_values, bins)
        self.parts: dict[str, list[np.ndarray]] = {}

    def keep(self, level: _Level, n_contexts: int, n_pairs: int) -> None:
        """The arrays of a level, without the room left."""
        for arrays, n in ((level.contexts, n_contexts), (level.pairs, n_pairs)):
            for name, array in arrays.items():
                self.parts.setdefault(name, []).append(array[:n].copy())

    def tree(self) -> ContextTree:
        at = self.positions
        level = _Level(at.n_roots, at.target.size)
        first = np.empty(at.n_targets + 1, np.int64)
        n_contexts, n_pairs = at.n_roots, bindings.loglinear_plant(self.core, first, self.sorting, level.core)
        self.keep(level, n_contexts, n_pairs)
        n_unseen = (at.n_targets - np.diff(level.pair_ptr)).astype(np.int32)
        self.parts["example"], self.parts["terminal"] = [np.zeros(at.n_roots, np.int32)], []
        pair_ptrs, levels = [level.pair_ptr], [0, at.n_roots]
        first_pair, sizes = 0, np.empty(2, np.int64)
        while True:
            terminal, live = np.empty(n_contexts, np.int32), int(level.slot_ptr[n_contexts])
            below = _Level(live, live)
            wrong = bindings.loglinear_grow(
                self.core,
                level.core,
                levels[-2],
                first_pair,
                self.collapse,
                self.sorting,
                terminal,
                below.core,
                sizes,
            )
            if wrong >= 0:
                raise InputError(f"a context of the text holds a symbol that is none of the {at.n_symbols}.")
            self.parts["terminal"].append(terminal)
            first_pair += n_pairs
            level, (n_contexts, n_pairs) = below, sizes.tolist()
            if n_contexts == 0:
                break
            if first_pair + n_pairs >= 2**31:
                raise InputError("over 2^31 pairs of context and word; use a lower order or less text.")
            self.keep(level, n_contexts, n_pairs)
            self.parts["example"].append(at.end[level.slots[level.slot_ptr[:n_contexts]]])
            pair_ptrs.append(level.pair_ptr[1 : n_contexts + 1] + first_pair)
            levels.append(levels[-1] + n_contexts)
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


class Located:
    """Positions of another text, located in a tree, to evaluate weights without a model.

    After a sweep down the probability of a position is exp s / Z, two look-ups.

    Examples
    --------
    >>> from epigram.lm.corpus import Corpus
    >>> from epigram.lm.loglinear.loss import SuffixLoss
    >>> corpus = Corpus.of(["a b", "a c"])
    >>> tree = ContextTree.grow(Positions.of(corpus), order=2)
    >>> held_out = Located(tree, Positions.of(Corpus.of(["a a"], corpus.vocabulary)))
    >>> round(held_out.perplexity(SuffixLoss(tree), np.zeros(tree.n_pairs)), 6)  # uniform over 4 words
    4.0
    """

    def __init__(self, tree: ContextTree, positions: Positions) -> None:
        self.tree, self.positions = tree, positions
        n = positions.target.size
        self.context, self.matched, self.pair = np.empty((3, n), np.int32)
        at = positions.core(int(tree.level_ptr[1]), tree.order)
        bindings.loglinear_locate(tree.core(), at, self.context, self.matched, self.pair)

    def log_probabilities(self, loss: SuffixLoss, w: Floats) -> Floats:
        """Natural log-probability of each position; runs the sweep down."""
        if (loss.tree.n_contexts, loss.tree.n_pairs) != (self.tree.n_contexts, self.tree.n_pairs):
            raise ValueError("these positions were located in another tree than that of the loss.")
        loss.value(w)
        out = np.empty(self.context.size)
        bindings.loglinear_log_probabilities(
            loss.core, loss.sums, self.context, self.matched, self.pair, w, out
        )
        return out

    def perplexity(self, loss: SuffixLoss, w: Floats) -> float:
        """exp of the mean of -log P; NaN where nothing could be predicted."""
        return float(np.exp(-self.log_probabilities(loss, w).mean())) if self.context.size else float("nan")
