"""A trie of n-grams of token numbers in one hash table: insert, count, find, walk."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from epigram._core.native import family
from epigram.protocols import Ints, Offsets
from epigram.rerank.nbest import offsets

core = family("rerank")
BLOCK = 1 << 18


class GramTable:
    """A trie of n-grams: node 0 is the root, (parent, token) -> node in one hash table.

    Examples
    --------
    >>> table = GramTable(order=2)
    >>> table.insert(np.array([5, 6, 5], np.int32), np.array([0, 2, 3]))
    >>> table.n_nodes, table.counts[:4].tolist(), table.gram(2)
    (4, [0, 2, 1, 1], (5, 6))
    """

    def __init__(self, order: int) -> None:
        self.order = order
        self.n_nodes = 1
        self.keys = np.zeros(1024, np.int64)
        self.counts = np.zeros(1024, np.int32)
        self.table_keys = np.full(2048, -1, np.int64)
        self.table_nodes = np.zeros(2048, np.int32)

    def insert(self, tokens: Ints, token_ptr: Offsets) -> None:
        """Enter all n-grams of up to ``order`` tokens, and count them."""
        n = len(token_ptr) - 1
        first = 0
        while first < n:
            last = int(np.searchsorted(token_ptr, token_ptr[first] + BLOCK, side="right")) - 1
            last = min(max(last, first + 1), n)
            self._reserve(self.n_nodes + self.order * int(token_ptr[last] - token_ptr[first]))
            self.n_nodes = core.insert_grams(
                last - first, token_ptr[first : last + 1], len(tokens), tokens, self.order, self.n_nodes,
                len(self.table_keys), self.table_keys, self.table_nodes, len(self.keys), self.counts, self.keys,
            )  # fmt: skip
            first = last

    def _reserve(self, n_nodes: int) -> None:
        """Room for ``n_nodes`` nodes at a load of at most one half."""
        if n_nodes > len(self.keys):
            grow = max(n_nodes, 2 * len(self.keys)) - len(self.keys)
            self.keys = np.concatenate([self.keys, np.zeros(grow, np.int64)])
            self.counts = np.concatenate([self.counts, np.zeros(grow, np.int32)])
        if 2 * n_nodes > len(self.table_keys):
            size = 1 << (2 * n_nodes - 1).bit_length()
            old_keys, old_nodes = self.table_keys, self.table_nodes
            self.table_keys = np.full(size, -1, np.int64)
            self.table_nodes = np.zeros(size, np.int32)
            core.rehash(len(old_keys), old_keys, old_nodes, size, self.table_keys, self.table_nodes)

    @property
    def parents(self) -> Offsets:
        """The parent of each node."""
        return self.keys[: self.n_nodes] >> 32

    @property
    def last_tokens(self) -> Offsets:
        """The last token of each node's n-gram."""
        return self.keys[: self.n_nodes] & 0xFFFFFFFF

    @property
    def depths(self) -> Offsets:
        """Tokens of each node's n-gram; a parent always comes before its children."""
        parents = self.parents
        depth = np.zeros(self.n_nodes, np.int64)
        node = np.arange(self.n_nodes)
        while node.any():
            depth += node != 0
            node = parents[node]
        return depth

    def find(self, gram: Sequence[int]) -> int:
        """The node of an n-gram, or -1."""
        node = 0
        for token in gram:
            if token < 0:
                return -1
            place = core.find_gram(len(self.table_keys), self.table_keys, (node << 32) | token)
            if self.table_keys[place] == -1:
                return -1
            node = int(self.table_nodes[place])
        return node

    def gram(self, node: int) -> tuple[int, ...]:
        """Tokens of one node."""
        tokens: list[int] = []
        while node:
            tokens.append(int(self.keys[node] & 0xFFFFFFFF))
            node = int(self.keys[node] >> 32)
        return tuple(reversed(tokens))


def grams_of(table: GramTable, nodes: Offsets) -> Ints:
    """Token numbers of nodes, one row each, filled up with -1."""
    out = np.full((len(nodes), table.order), -1, np.int32)
    for row, node in enumerate(nodes.tolist()):
        gram = table.gram(node)
        out[row, : len(gram)] = gram
    return out


def enter_grams(table: GramTable, grams: Ints) -> Offsets:
    """Insert whole n-grams (and so their prefixes); returns the node of each."""
    lengths = (grams >= 0).sum(axis=1)
    token_ptr = offsets(lengths)
    tokens = np.ascontiguousarray(grams[grams >= 0], dtype=np.int32)
    table.insert(tokens, token_ptr)
    table.counts[:] = 0
    rows = zip(grams.tolist(), lengths.tolist(), strict=True)
    return np.array([table.find(gram[:length]) for gram, length in rows], dtype=np.int64)


def copy_grams(source: GramTable, nodes: Offsets, target: GramTable) -> Offsets:
    """Insert the n-grams of some nodes into another trie; returns their nodes there."""
    return enter_grams(target, grams_of(source, nodes))


def walk(table: GramTable, feature: Ints, tokens: Ints, token_ptr: Offsets) -> tuple[Offsets, Ints]:
    """Features of each candidate of a token stream: (offsets, feature), one entry an occurrence."""
    ptr = np.zeros(len(token_ptr), np.int64)
    arguments = (
        len(token_ptr) - 1, token_ptr, len(tokens), tokens, table.order,
        len(table.table_keys), table.table_keys, table.table_nodes, table.n_nodes, feature, ptr,
    )  # fmt: skip
    core.walk_grams(*arguments, 0, np.zeros(0, np.int32))
    out = np.empty(ptr[-1], np.int32)
    if out.size:
        core.walk_grams(*arguments, out.size, out)
    return ptr, out
