"""Index of the n-gram and named features of candidates.

Gao et al. 2006, sections 2 and 5: f_0 is the base score (see losses.py), the other features count word unigrams and
bigrams that occur more than once in the training set; headword bigrams are pairs of neighbouring content words.
Occurrences are counted over all candidates of the training lists. A candidate is read as ``<s> w_1 ... w_n </s>``.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from epigram._core import bindings
from epigram._core.arrays import offsets
from epigram.protocols import Floats, Ints, Offsets
from epigram.rerank.nbest import NBest

START, END = 0, 1
RESERVED = ("<s>", "</s>")
WORDS, HEADS, CHARS = range(3)
"""Kinds of n-grams."""
BLOCK = 1 << 18
"""Tokens inserted into a trie before its capacity is checked again."""


class GramTable:
    """Trie of n-grams in one hash table (parent, token) -> node; node 0 is the root.

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
        """Insert and count all n-grams of up to ``order`` tokens."""
        n = len(token_ptr) - 1
        first = 0
        while first < n:
            last = int(np.searchsorted(token_ptr, token_ptr[first] + BLOCK, side="right")) - 1
            last = min(max(last, first + 1), n)
            self._reserve(self.n_nodes + self.order * int(token_ptr[last] - token_ptr[first]))
            self.n_nodes = bindings.rerank_insert_grams(
                token_ptr[first : last + 1], tokens, self.order, self.n_nodes,
                self.table_keys, self.table_nodes, self.counts, self.keys,
            )  # fmt: skip
            first = last

    def _reserve(self, n_nodes: int) -> None:
        """Grow to a capacity of ``n_nodes`` nodes at a load of at most one half."""
        if n_nodes > len(self.keys):
            grow = max(n_nodes, 2 * len(self.keys)) - len(self.keys)
            self.keys = np.concatenate([self.keys, np.zeros(grow, np.int64)])
            self.counts = np.concatenate([self.counts, np.zeros(grow, np.int32)])
        if 2 * n_nodes > len(self.table_keys):
            size = 1 << (2 * n_nodes - 1).bit_length()
            old_keys, old_nodes = self.table_keys, self.table_nodes
            self.table_keys = np.full(size, -1, np.int64)
            self.table_nodes = np.zeros(size, np.int32)
            bindings.rerank_rehash(old_keys, old_nodes, self.table_keys, self.table_nodes)

    @property
    def parents(self) -> Offsets:
        """Parent of each node."""
        return self.keys[: self.n_nodes] >> 32

    @property
    def last_tokens(self) -> Offsets:
        """Last token of the n-gram of each node."""
        return self.keys[: self.n_nodes] & 0xFFFFFFFF

    @property
    def depths(self) -> Offsets:
        """Length of the n-gram of each node; a parent comes before its children."""
        parents = self.parents
        depth = np.zeros(self.n_nodes, np.int64)
        node = np.arange(self.n_nodes)
        while node.any():
            depth += node != 0
            node = parents[node]
        return depth

    def find(self, gram: Sequence[int]) -> int:
        """Node of an n-gram, or -1."""
        node = 0
        for token in gram:
            if token < 0:
                return -1
            slot = bindings.rerank_find_gram(self.table_keys, (node << 32) | token)
            if self.table_keys[slot] == -1:
                return -1
            node = int(self.table_nodes[slot])
        return node

    def gram(self, node: int) -> tuple[int, ...]:
        """N-gram of a node."""
        tokens: list[int] = []
        while node:
            tokens.append(int(self.keys[node] & 0xFFFFFFFF))
            node = int(self.keys[node] >> 32)
        return tuple(reversed(tokens))


@dataclass
class FeatureSpace:
    """Index of the features of candidates: n-grams of three kinds, and named features.

    ``tables`` holds the tries of word n-grams, headword bigrams and character n-grams (WORDS, HEADS, CHARS), ``nodes``
    the nodes of each that are features. Weights are numbered in this order, named features last.
    """

    vocabulary: list[str]
    tables: list[GramTable]
    nodes: list[Offsets]
    names: list[str]
    headwords: frozenset[str] | None = None
    headword_tags: frozenset[str] | None = None
    _ids: dict[str, int] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self._ids = {word: k for k, word in enumerate(self.vocabulary) if k >= len(RESERVED)}

    @property
    def n_weights(self) -> int:
        """Number of features without the base score."""
        return self._starts[-1] + len(self.names)

    @property
    def _starts(self) -> list[int]:
        """Number of the first feature of each kind; the last is that of the named features."""
        starts: list[int] = offsets([len(nodes) for nodes in self.nodes]).tolist()
        return starts

    @cached_property
    def _features(self) -> list[Ints]:
        """For each kind, the feature of each node, or -1."""
        out = [np.full(table.n_nodes, -1, np.int32) for table in self.tables]
        for feature, nodes, first in zip(out, self.nodes, self._starts, strict=False):
            feature[nodes] = np.arange(first, first + len(nodes))
        return out

    def _streams(self, lists: NBest) -> Iterator[tuple[GramTable, Ints, tuple[Ints, Offsets]]]:
        """Each kind of n-gram in use: trie, feature of each node, token stream."""
        for kind, table in enumerate(self.tables):
            if kind == WORDS or len(self.nodes[kind]):
                yield table, self._features[kind], self._stream(kind, lists)

    def _stream(self, kind: int, lists: NBest) -> tuple[Ints, Offsets]:
        """Token stream of one kind of n-grams."""
        return (self._word_stream, self._head_stream, _char_stream)[kind](lists)

    @classmethod
    def collect(
        cls,
        lists: NBest,
        ngrams: int = 2,
        min_count: int = 2,
        headwords: Collection[str] | None = None,
        headword_tags: Collection[str] | None = None,
        chars: int = 0,
        known: FeatureSpace | None = None,
    ) -> FeatureSpace:
        """Collect the features of training lists; keeps those of ``known`` whatever their count.

        Examples
        --------
        >>> lists = NBest.from_lists([{"candidates": [{"text": "a b", "score": 0}]}] * 2)
        >>> [FeatureSpace.collect(lists).name(k) for k in range(5)]
        ['a', 'b', '<s> a', 'a b', 'b </s>']
        """
        vocabulary = list(known.vocabulary) if known else list(RESERVED)
        tables = [GramTable(ngrams), GramTable(2), GramTable(max(chars, 1))]
        space = cls(vocabulary, tables, [_EMPTY] * 3, [], _frozen(headwords), _frozen(headword_tags))
        for word in lists.vocabulary:
            if space._ids.setdefault(word, len(vocabulary)) == len(vocabulary):
                vocabulary.append(word)
        wanted = True, headwords is not None or headword_tags is not None, chars > 0
        for kind, table in enumerate(tables):
            keep = enter_grams(table, known.grams(kind)) if known else _EMPTY
            if wanted[kind]:
                table.insert(*space._stream(kind, lists))
            space.nodes[kind] = _chosen(table, min_count, 2 if kind == HEADS else 1, keep)
        space.names = list(dict.fromkeys([*(known.names if known else []), *lists.names]))
        return space

    @classmethod
    def from_grams(
        cls,
        vocabulary: list[str],
        grams: Sequence[Ints],
        names: list[str],
        headwords: Collection[str] | None,
        headword_tags: Collection[str] | None,
    ) -> FeatureSpace:
        """Make a space from the n-grams of each kind, rows of token numbers filled up with -1."""
        tables = [GramTable(2 if kind == HEADS else max(rows.shape[1], 1)) for kind, rows in enumerate(grams)]
        nodes = [enter_grams(table, rows) for table, rows in zip(tables, grams, strict=True)]
        return cls(vocabulary, tables, nodes, names, _frozen(headwords), _frozen(headword_tags))

    def grams(self, kind: int) -> Ints:
        """Token numbers of the n-grams of one kind, one row each, filled up with -1."""
        return grams_of(self.tables[kind], self.nodes[kind])

    def ids_of(self, lists: NBest) -> Ints:
        """Numbers of the tokens of the lists in this space, -1 if unknown."""
        get = self._ids.get
        return np.array([get(word, -1) for word in lists.vocabulary], dtype=np.int32)

    def _word_stream(self, lists: NBest) -> tuple[Ints, Offsets]:
        """All words, with sentence ends."""
        ours = self.ids_of(lists)[lists.tokens] if len(lists.tokens) else lists.tokens
        return _with_ends(ours, np.diff(lists.token_ptr))

    def _head_stream(self, lists: NBest) -> tuple[Ints, Offsets]:
        """Content words only, by word list or by tag."""
        if self.headwords is not None:
            is_head = np.array([word in self.headwords for word in lists.vocabulary], bool)
            chosen = is_head[lists.tokens]
        else:
            chosen = np.zeros(len(lists.tokens), bool)
        if self.headword_tags is not None and lists.tags:
            for c, tags in enumerate(lists.tags):
                if tags is not None:
                    span = slice(lists.token_ptr[c], lists.token_ptr[c + 1])
                    chosen[span] |= [tag in self.headword_tags for tag in tags]
        before = offsets(chosen)
        return self.ids_of(lists)[lists.tokens[chosen]], before[lists.token_ptr]

    def extract(self, lists: NBest) -> tuple[Offsets, Ints, Floats]:
        """Features of each candidate as (offsets, feature, value), one entry per occurrence."""
        parts = [occurrences(table, feature, *stream) for table, feature, stream in self._streams(lists)]
        values = [np.ones(len(features)) for _, features in parts]
        if self.names and len(lists.named):
            ptr, features, value = self.named_features(lists)
            parts.append((ptr, features))
            values.append(value)
        if len(parts) == 1:
            return parts[0][0], parts[0][1], values[0]
        owner = np.concatenate([np.repeat(np.arange(len(ptr) - 1), np.diff(ptr)) for ptr, _ in parts])
        order = np.argsort(owner, kind="stable")
        features = np.concatenate([features for _, features in parts])[order]
        counts = np.bincount(owner, minlength=lists.n_candidates)
        return offsets(counts), features, np.concatenate(values)[order]

    def named_features(self, lists: NBest) -> tuple[Offsets, Ints, Floats]:
        """Named features of the lists that this space knows."""
        ours = {name: self._starts[-1] + k for k, name in enumerate(self.names)}
        number = np.array([ours.get(name, -1) for name in lists.names], np.int32)[lists.named]
        known = number >= 0
        before = offsets(known)
        return before[lists.named_ptr], number[known], lists.named_values[known]

    def score(self, lists: NBest, weights: Floats, base_weight: float) -> Floats:
        """Score every candidate by equation (2)."""
        out = base_weight * lists.scores
        for table, feature, (tokens, token_ptr) in self._streams(lists):
            node_weight = (
                np.where(feature >= 0, weights[feature], 0.0) if len(weights) else np.zeros(len(feature))
            )
            bindings.rerank_score_grams(
                token_ptr, tokens, table.order, table.table_keys, table.table_nodes, node_weight, out
            )
        if self.names and len(lists.named):
            ptr, features, values = self.named_features(lists)
            owner = np.repeat(np.arange(lists.n_candidates), np.diff(ptr))
            out += np.bincount(owner, weights[features] * values, minlength=lists.n_candidates)
        return out

    def numbers_of(self, other: FeatureSpace) -> Ints:
        """Numbers in this space of the features of another space, -1 for those it lacks."""
        translate = [self._ids.get(word, -1) for word in other.vocabulary]
        translate[: len(RESERVED)] = range(len(RESERVED))
        out = []
        for kind, table in enumerate(self.tables):
            for k in other.nodes[kind].tolist():
                gram = other.tables[kind].gram(k)
                node = table.find(gram if kind == CHARS else [translate[t] for t in gram])
                out.append(-1 if node < 0 else int(self._features[kind][node]))
        ours_by_name = {name: self._starts[-1] + k for k, name in enumerate(self.names)}
        return np.array(out + [ours_by_name.get(name, -1) for name in other.names], np.int32)

    def name(self, k: int) -> str:
        """Readable name: ``w1 w2``, ``w1 .. w2`` for headwords, ``[abc]`` for characters."""
        starts = self._starts
        kind = bisect(starts, k) - 1
        if kind == len(self.tables):
            return self.names[k - starts[-1]]
        gram = self.tables[kind].gram(int(self.nodes[kind][k - starts[kind]]))
        if kind == CHARS:
            return "[" + "".join(map(chr, gram)).replace("\0", "<s>").replace("\1", "</s>") + "]"
        return (" .. " if kind == HEADS else " ").join(self.vocabulary[t] for t in gram)

    def subset(self, features: Sequence[int] | Ints) -> FeatureSpace:
        """Make the space of some features (ascending numbers), with the tokens they need."""
        chosen = np.asarray(features, np.int64)
        *parts, named = np.split(chosen, np.searchsorted(chosen, self._starts[1:]))
        grams = [
            grams_of(table, nodes[part - first])
            for table, nodes, part, first in zip(self.tables, self.nodes, parts, self._starts, strict=False)
        ]
        used = np.unique(np.concatenate([[START, END], *(gram[gram >= 0] for gram in grams[:CHARS])]))
        renumber = np.full(len(self.vocabulary) + 1, -1, np.int32)
        renumber[used] = np.arange(len(used))
        return self.from_grams(
            [self.vocabulary[t] for t in used],
            [*(renumber[gram] for gram in grams[:CHARS]), grams[CHARS]],
            [self.names[k - self._starts[-1]] for k in named],
            self.headwords,
            self.headword_tags,
        )


def _frozen(words: Collection[str] | None) -> frozenset[str] | None:
    return None if words is None else frozenset(words)


def _char_stream(lists: NBest) -> tuple[Ints, Offsets]:
    """Code points of the texts, with ends."""
    points = np.frombuffer("".join(lists.texts).encode("utf-32-le", "surrogatepass"), np.int32)
    return _with_ends(points, np.array([len(text) for text in lists.texts], np.int64))


_EMPTY: Offsets = np.zeros(0, np.int64)


def _with_ends(tokens: Ints, lengths: Offsets) -> tuple[Ints, Offsets]:
    """Token stream with START and END around each candidate."""
    token_ptr = offsets(lengths + 2)
    out = np.empty(token_ptr[-1], np.int32)
    inner = np.ones(len(out), bool)
    inner[token_ptr[:-1]] = inner[token_ptr[1:] - 1] = False
    out[token_ptr[:-1]], out[token_ptr[1:] - 1] = START, END
    out[inner] = tokens
    return out, token_ptr


def _chosen(table: GramTable, min_count: int, least_depth: int, keep: Offsets) -> Offsets:
    """Nodes of n-grams that are frequent, long enough and no sentence end; shorter ones first."""
    depths, last = table.depths, table.last_tokens
    good = (table.counts[: table.n_nodes] >= min_count) & (depths >= least_depth)
    good &= ~((depths == 1) & (last < len(RESERVED)))
    good[keep] = True
    good[0] = False
    nodes = np.flatnonzero(good)
    return nodes[np.argsort(depths[nodes], kind="stable")]


def grams_of(table: GramTable, nodes: Offsets) -> Ints:
    """Token numbers of the n-grams of nodes, one row each, filled up with -1."""
    out = np.full((len(nodes), table.order), -1, np.int32)
    for row, node in enumerate(nodes.tolist()):
        gram = table.gram(node)
        out[row, : len(gram)] = gram
    return out


def enter_grams(table: GramTable, grams: Ints) -> Offsets:
    """Insert n-grams and their prefixes; returns the node of each."""
    lengths = (grams >= 0).sum(axis=1)
    token_ptr = offsets(lengths)
    tokens = np.ascontiguousarray(grams[grams >= 0], dtype=np.int32)
    table.insert(tokens, token_ptr)
    table.counts[:] = 0
    rows = zip(grams.tolist(), lengths.tolist(), strict=True)
    return np.array([table.find(gram[:length]) for gram, length in rows], dtype=np.int64)


def occurrences(table: GramTable, feature: Ints, tokens: Ints, token_ptr: Offsets) -> tuple[Offsets, Ints]:
    """Features of each candidate of a token stream: (offsets, feature) per occurrence."""
    ptr = np.zeros(len(token_ptr), np.int64)
    arguments = token_ptr, tokens, table.order, table.table_keys, table.table_nodes, feature, ptr
    bindings.rerank_walk_grams(*arguments, np.zeros(0, np.int32))
    out = np.empty(ptr[-1], np.int32)
    if out.size:
        bindings.rerank_walk_grams(*arguments, out)
    return ptr, out
