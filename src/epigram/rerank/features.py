"""Features of candidates: counts of word, headword and character n-grams, and numbers that the input names.

Gao et al. 2006, sections 2 and 5: f_0 is the base score (kept apart, see problem.py), the others count word
unigrams and bigrams that occur more than once in the training set; headword bigrams are pairs of neighbouring
content words. Occurrences are counted over all candidates of the training lists.
N-grams live in a trie in one hash table (GramTable); a candidate is read as ``<s> w_1 ... w_n </s>``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from epigram._core.native import family, offsets
from epigram.protocols import Floats, Ints, Offsets
from epigram.rerank.nbest import NBest

START, END = 0, 1
RESERVED = ("<s>", "</s>")
core = family("rerank")
BLOCK = 1 << 18
"""Tokens that are entered between two looks at the room of a trie."""


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


@dataclass
class FeatureSpace:
    """Which features there are, and how to find them in candidates.

    Weights are numbered: word n-grams, headword bigrams, character n-grams, named features. ``word_nodes``,
    ``head_nodes`` and ``char_nodes`` are the trie nodes of the first three kinds.
    """

    vocabulary: list[str]
    words: GramTable
    word_nodes: Offsets
    heads: GramTable
    head_nodes: Offsets
    chars: GramTable
    char_nodes: Offsets
    names: list[str]
    headwords: frozenset[str] | None = None
    headword_tags: frozenset[str] | None = None
    _ids: dict[str, int] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self._ids = {word: k for k, word in enumerate(self.vocabulary) if k >= len(RESERVED)}

    @property
    def n_weights(self) -> int:
        """Number of features, the base score not counted."""
        return self._first_named + len(self.names)

    @property
    def _first_named(self) -> int:
        return len(self.word_nodes) + len(self.head_nodes) + len(self.char_nodes)

    @cached_property
    def _word_feature(self) -> Ints:
        return _inverse(self.word_nodes, self.words.n_nodes, 0)

    @cached_property
    def _head_feature(self) -> Ints:
        return _inverse(self.head_nodes, self.heads.n_nodes, len(self.word_nodes))

    @cached_property
    def _char_feature(self) -> Ints:
        return _inverse(self.char_nodes, self.chars.n_nodes, len(self.word_nodes) + len(self.head_nodes))

    def _streams(self, lists: NBest) -> Iterator[tuple[GramTable, Ints, tuple[Ints, Offsets]]]:
        """Each kind of n-gram in use: trie, feature of each node, token stream."""
        yield self.words, self._word_feature, self.padded(lists)
        if self.has_heads:
            yield self.heads, self._head_feature, self.head_stream(lists)
        if len(self.char_nodes):
            yield self.chars, self._char_feature, char_stream(lists)

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
        """All features of training lists; those of ``known`` stay, whatever their count.

        Examples
        --------
        >>> lists = NBest.from_lists([{"candidates": [{"text": "a b", "score": 0}]}] * 2)
        >>> [FeatureSpace.collect(lists).name(k) for k in range(5)]
        ['a', 'b', '<s> a', 'a b', 'b </s>']
        """
        vocabulary = list(known.vocabulary) if known else list(RESERVED)
        space = cls(
            vocabulary, GramTable(ngrams), _EMPTY, GramTable(2), _EMPTY, GramTable(max(chars, 1)), _EMPTY, [],
            None if headwords is None else frozenset(headwords),
            None if headword_tags is None else frozenset(headword_tags),
        )  # fmt: skip
        for word in lists.vocabulary:
            if space._ids.setdefault(word, len(vocabulary)) == len(vocabulary):
                vocabulary.append(word)
        keep_words = keep_heads = keep_chars = _EMPTY
        if known:
            keep_words = copy_grams(known.words, known.word_nodes, space.words)
            keep_heads = copy_grams(known.heads, known.head_nodes, space.heads)
            keep_chars = copy_grams(known.chars, known.char_nodes, space.chars)
        space.words.insert(*space.padded(lists))
        if headwords is not None or headword_tags is not None:
            space.heads.insert(*space.head_stream(lists))
        if chars:
            space.chars.insert(*char_stream(lists))
        space.word_nodes = _chosen(space.words, min_count, 1, keep_words)
        space.head_nodes = _chosen(space.heads, min_count, 2, keep_heads)
        space.char_nodes = _chosen(space.chars, min_count, 1, keep_chars)
        space.names = list(dict.fromkeys([*(known.names if known else []), *lists.names]))
        return space

    def ids_of(self, lists: NBest) -> Ints:
        """Our token numbers of the lists' vocabulary, -1 where unknown."""
        get = self._ids.get
        return np.array([get(word, -1) for word in lists.vocabulary], dtype=np.int32)

    def padded(self, lists: NBest) -> tuple[Ints, Offsets]:
        """Token stream with sentence ends."""
        ours = self.ids_of(lists)[lists.tokens] if len(lists.tokens) else lists.tokens
        return _with_ends(ours, np.diff(lists.token_ptr))

    def head_stream(self, lists: NBest) -> tuple[Ints, Offsets]:
        """Token stream of the content words only, by word list or by tag."""
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

    @property
    def has_heads(self) -> bool:
        """Are there headword bigrams?"""
        return len(self.head_nodes) > 0

    def extract(self, lists: NBest) -> tuple[Offsets, Ints, Floats]:
        """Features of each candidate as (offsets, feature, value), one entry an occurrence."""
        parts = [walk(table, feature, *stream) for table, feature, stream in self._streams(lists)]
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
        """Named features that we know."""
        ours = {name: self._first_named + k for k, name in enumerate(self.names)}
        number = np.array([ours.get(name, -1) for name in lists.names], np.int32)[lists.named]
        known = number >= 0
        before = offsets(known)
        return before[lists.named_ptr], number[known], lists.named_values[known]

    def score(self, lists: NBest, weights: Floats, base_weight: float) -> Floats:
        """Equation (2) for every candidate."""
        out = base_weight * lists.scores
        for table, feature, (tokens, token_ptr) in self._streams(lists):
            node_weight = (
                np.where(feature >= 0, weights[feature], 0.0) if len(weights) else np.zeros(len(feature))
            )
            core.score_grams(
                len(token_ptr) - 1, token_ptr, len(tokens), tokens, table.order,
                len(table.table_keys), table.table_keys, table.table_nodes, table.n_nodes, node_weight, out,
            )  # fmt: skip
        if self.names and len(lists.named):
            ptr, features, values = self.named_features(lists)
            owner = np.repeat(np.arange(lists.n_candidates), np.diff(ptr))
            out += np.bincount(owner, weights[features] * values, minlength=lists.n_candidates)
        return out

    def numbers_of(self, other: FeatureSpace) -> Ints:
        """Our numbers of another space's features; those we lack are -1."""
        translate = [self._ids.get(word, -1) for word in other.vocabulary]
        translate[: len(RESERVED)] = range(len(RESERVED))
        grams = [[[translate[t] for t in other.words.gram(k)] for k in other.word_nodes.tolist()]]
        grams.append([[translate[t] for t in other.heads.gram(k)] for k in other.head_nodes.tolist()])
        grams.append([list(other.chars.gram(k)) for k in other.char_nodes.tolist()])
        tables = (self.words, self.heads, self.chars)
        numbers = (self._word_feature, self._head_feature, self._char_feature)
        out = []
        for kind, table, number in zip(grams, tables, numbers, strict=True):
            nodes = [table.find(gram) for gram in kind]
            out += [-1 if node < 0 else int(number[node]) for node in nodes]
        ours_by_name = {name: self._first_named + k for k, name in enumerate(self.names)}
        return np.array(out + [ours_by_name.get(name, -1) for name in other.names], np.int32)

    def name(self, k: int) -> str:
        """A feature for people: tokens; ``w1 .. w2`` for headwords; ``[abc]`` for characters; or its name."""
        if k < len(self.word_nodes):
            return " ".join(self.vocabulary[t] for t in self.words.gram(int(self.word_nodes[k])))
        k -= len(self.word_nodes)
        if k < len(self.head_nodes):
            return " .. ".join(self.vocabulary[t] for t in self.heads.gram(int(self.head_nodes[k])))
        k -= len(self.head_nodes)
        if k < len(self.char_nodes):
            gram = "".join(map(chr, self.chars.gram(int(self.char_nodes[k]))))
            return "[" + gram.replace("\0", "<s>").replace("\1", "</s>") + "]"
        return self.names[k - len(self.char_nodes)]

    def subset(self, features: Sequence[int] | Ints) -> FeatureSpace:
        """The space of some features (ascending numbers) alone, with the tokens they need."""
        chosen = np.asarray(features, np.int64)
        n_words, n_grams = len(self.word_nodes), self._first_named
        n_heads = len(self.head_nodes)
        word_nodes = self.word_nodes[chosen[chosen < n_words]]
        head_nodes = self.head_nodes[chosen[(chosen >= n_words) & (chosen < n_words + n_heads)] - n_words]
        in_chars = (chosen >= n_words + n_heads) & (chosen < n_grams)
        char_nodes = self.char_nodes[chosen[in_chars] - n_words - n_heads]
        names = [self.names[k - n_grams] for k in chosen if k >= n_grams]
        grams = [grams_of(self.words, word_nodes), grams_of(self.heads, head_nodes)]
        used = np.unique(np.concatenate([[START, END], *(gram[gram >= 0] for gram in grams)]))
        renumber = np.full(len(self.vocabulary) + 1, -1, np.int32)
        renumber[used] = np.arange(len(used))
        vocabulary = [self.vocabulary[t] for t in used]
        return restore(
            vocabulary, renumber[grams[0]], renumber[grams[1]], grams_of(self.chars, char_nodes), names,
            self.headwords, self.headword_tags,
        )  # fmt: skip


def restore(
    vocabulary: list[str],
    word_grams: Ints,
    head_grams: Ints,
    char_grams: Ints,
    names: list[str],
    headwords: Collection[str] | None,
    headword_tags: Collection[str] | None,
) -> FeatureSpace:
    """A space from its n-grams, rows of token numbers filled up with -1."""
    words, heads = GramTable(max(word_grams.shape[1], 1)), GramTable(2)
    chars = GramTable(max(char_grams.shape[1], 1))
    return FeatureSpace(
        vocabulary, words, enter_grams(words, word_grams), heads, enter_grams(heads, head_grams),
        chars, enter_grams(chars, char_grams), names,
        None if headwords is None else frozenset(headwords),
        None if headword_tags is None else frozenset(headword_tags),
    )  # fmt: skip


def char_stream(lists: NBest) -> tuple[Ints, Offsets]:
    """Code points of the texts, with ends; they need no vocabulary."""
    points = np.frombuffer("".join(lists.texts).encode("utf-32-le", "surrogatepass"), np.int32)
    return _with_ends(points, np.array([len(text) for text in lists.texts], np.int64))


_EMPTY: Offsets = np.zeros(0, np.int64)


def _with_ends(tokens: Ints, lengths: Offsets) -> tuple[Ints, Offsets]:
    """A token stream with START and END around each candidate."""
    token_ptr = offsets(lengths + 2)
    out = np.empty(token_ptr[-1], np.int32)
    inner = np.ones(len(out), bool)
    inner[token_ptr[:-1]] = inner[token_ptr[1:] - 1] = False
    out[token_ptr[:-1]], out[token_ptr[1:] - 1] = START, END
    out[inner] = tokens
    return out, token_ptr


def _chosen(table: GramTable, min_count: int, least_depth: int, keep: Offsets) -> Offsets:
    """Nodes that become features: frequent, long enough, not a bare sentence end; shorter n-grams first."""
    depths, last = table.depths, table.last_tokens
    good = (table.counts[: table.n_nodes] >= min_count) & (depths >= least_depth)
    good &= ~((depths == 1) & (last < len(RESERVED)))
    good[keep] = True
    good[0] = False
    nodes = np.flatnonzero(good)
    return nodes[np.argsort(depths[nodes], kind="stable")]


def _inverse(nodes: Offsets, n_nodes: int, first: int) -> Ints:
    out = np.full(n_nodes, -1, np.int32)
    out[nodes] = np.arange(first, first + len(nodes))
    return out


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
