"""Back-off n-gram models: a trie in flat arrays.

    p(w | x) = p[x,w]                where the pair (context x, word w) is stored,
             = bow(x) p(w | x')      else, x' the longest proper suffix of x that is stored.

A node is a context. Its pairs are its stored words, sorted. A context is spelled by the pair of its last
word: node ``x = (y, w)`` continues pair (y, w), ``node_pair[x]``, so nodes and pairs are one forward trie:

    node_pair  int64 [n_nodes]      rising; level by level; node 0 is the root, the empty context (-1)
    pair_ptr   int64 [n_nodes + 1]  the pairs of node x are pair_ptr[x] .. pair_ptr[x+1]
    pair_word  int32 [n_pairs]      sorted within a node; the root holds every word: its pair u is word u
    pair_logp  float64 [n_pairs]    natural log
    node_bow   float64 [n_nodes]    natural log of the back-off weight, 0 at the root

From these follow ``node_parent`` (x'), ``node_depth`` and ``pair_next``, the node of the longest stored
suffix of (x, w): so one word costs one search where the pair is stored, and the state is one integer.
Id 0 as a target is ``</s>`` and leads to the start node, the context ``<s>``.

A log-linear model over suffixes is such a model exactly: p[x,u] = exp(s[x,u]) / Z(x) on its seen pairs and
bow(x) = Z(x') / Z(x). Build it with :meth:`BackoffModel.from_ngrams`
or :func:`~epigram.lm.loglinear.to_backoff.from_context_tree`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from os import PathLike
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from epigram._core import bindings
from epigram.errors import InputError
from epigram.lm.base import Context, LanguageModel
from epigram.lm.vocabulary import BOUNDARY, START, UNSEEN, Vocabulary
from epigram.protocols import Floats, Ints, Offsets

Trie: TypeAlias = tuple[Offsets, Offsets, Ints, Floats, Floats]
MISFIT = "the arrays of a back-off model do not fit together; is the file corrupt?"
KINDS = {
    "factored": "class-factored model",
    "document": "model with document features",
    "cached": "model with a cache",
}
"""Kinds of models without n-grams, as messages call them."""


class Links(NamedTuple):
    """Longest stored suffix and depth of each node, and the node after each pair."""

    node_parent: Ints
    node_depth: Ints
    pair_next: Ints


def nodes_of_pairs(n_words: int, node_pair: Offsets, pair_ptr: Offsets, pair_word: Ints) -> Ints:
    """The node that each pair spells, -1 where it is none; arrays that are no trie are refused."""
    node_of = np.empty(pair_word.size, dtype=np.int32)
    trie = node_pair, pair_ptr, pair_word
    if pair_ptr.size != node_pair.size + 1 or not bindings.ngram_nodes_of_pairs(n_words, *trie, node_of):
        raise InputError(MISFIT)
    return node_of


def linked(pair_ptr: Offsets, pair_word: Ints, pair_node_of: Ints) -> Links:
    """Find the suffixes of all contexts, and the node after each pair."""
    n_nodes, n_pairs = pair_ptr.size - 1, pair_word.size
    links = Links(*(np.zeros(size, dtype=np.int32) for size in (n_nodes, n_nodes, n_pairs)))
    bindings.ngram_link(pair_ptr, pair_word, pair_node_of, BOUNDARY, *links)
    return links


class BackoffModel(LanguageModel):
    """A back-off n-gram model of any order.

    Examples
    --------
    >>> vocabulary = Vocabulary(["a", "b"])
    >>> grams = [np.array([[0], [1], [2]]), np.array([[1, 2]])]
    >>> logps = [np.log([0.25, 0.25, 0.5]), np.log([0.6])]
    >>> contexts = [np.array([[1]])]
    >>> bows = [np.log([0.8])]
    >>> model = BackoffModel.from_ngrams(vocabulary, grams, logps, contexts, bows)
    >>> model.distribution("a").round(3).tolist()
    [0.2, 0.2, 0.6]
    >>> model.next_words("b", 1)
    [('b', 0.5)]
    >>> state, logp = model.advance(model.start(), "a")
    >>> round(float(np.exp(model.advance(state, "b")[1])), 3)
    0.6
    """

    kind = "backoff"

    def __init__(
        self,
        vocabulary: Vocabulary,
        node_pair: Offsets,
        pair_ptr: Offsets,
        pair_word: Ints,
        pair_logp: Floats,
        node_bow: Floats,
    ) -> None:
        if node_bow.size != node_pair.size or pair_logp.size != pair_word.size:
            raise InputError(MISFIT)
        node_of = nodes_of_pairs(len(vocabulary), node_pair, pair_ptr, pair_word)
        self._take(vocabulary, (node_pair, pair_ptr, pair_word, pair_logp, node_bow), node_of)
        if np.isnan(pair_logp).any():
            bindings.ngram_fill_missing(self.core)
        self.root_changed()

    def _take(self, vocabulary: Vocabulary, trie: Trie, pair_node_of: Ints) -> None:
        self.vocabulary_, self.pair_node_of = vocabulary, pair_node_of
        self.node_pair, self.pair_ptr, self.pair_word, self.pair_logp, self.node_bow = trie
        self._start = max(int(pair_node_of[BOUNDARY]), 0)

    @classmethod
    def linked_before(
        cls, vocabulary: Vocabulary, trie: Trie, pair_node_of: Ints, links: Links
    ) -> BackoffModel:
        """A model with the links of a file that is not compressed: checked, not copied."""
        model = cls.__new__(cls)
        model._take(vocabulary, trie, pair_node_of)
        if not bindings.ngram_is_linked(len(vocabulary), *trie[:3], pair_node_of, *links):
            raise InputError(MISFIT)
        model.__dict__["links"] = links
        model.root_changed()
        return model

    def root_changed(self) -> None:
        """Update what was derived from the probabilities of single words."""
        self._root_p: Floats = np.exp(self.pair_logp[: len(self.vocabulary_)])

    @cached_property
    def links(self) -> Links:
        """Links of nodes and pairs, found on first use."""
        return linked(self.pair_ptr, self.pair_word, self.pair_node_of)

    @property
    def node_parent(self) -> Ints:
        """The longest proper suffix of each context that is stored; -1 at the root."""
        return self.links.node_parent

    @property
    def node_depth(self) -> Ints:
        """Words of each context."""
        return self.links.node_depth

    @property
    def pair_next(self) -> Ints:
        """The context that follows each pair."""
        return self.links.pair_next

    @cached_property
    def core(self) -> Any:
        """The tables as C takes them."""
        return bindings.Backoff(
            self.pair_ptr, self.pair_word, self.pair_logp, self.pair_next, self.node_parent, self.node_bow
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "core"}

    @classmethod
    def from_ngrams(
        cls,
        vocabulary: Vocabulary,
        grams: Sequence[Ints],
        logps: Sequence[Floats],
        contexts: Sequence[Ints],
        bows: Sequence[Floats],
    ) -> BackoffModel:
        """From rows of word ids in any order.

        ``grams[n-1]`` is an (N, n) array of n-grams with ``logps[n-1]``; ``contexts[n-1]`` an (M, n) array
        of contexts with ``bows[n-1]``. ``grams[0]`` holds every word once. A context that is no n-gram, or
        a prefix that is no context, is added with what backing off gives.
        """
        return cls(vocabulary, *_assemble(len(vocabulary), grams, logps, contexts, bows))

    @property
    def order(self) -> int:
        """Length of the longest n-gram."""
        last = np.searchsorted(self.pair_ptr, self.n_ngrams - 1, side="right") - 1
        return int(self.node_depth[last]) + 1

    @property
    def n_ngrams(self) -> int:
        """Stored n-grams of all orders."""
        return self.pair_word.size

    def start(self) -> int:
        """The node of the context ``<s>``."""
        return self._start

    def step(self, state: int, word: int) -> tuple[int, float]:
        """State after a word id, and its natural log-probability; -1 gives NaN and the root."""
        if word == UNSEEN:
            return 0, float("nan")
        self._check_state(state, word)
        logp = np.empty(1)
        node = bindings.ngram_step(self.core, state, word, logp)
        return int(node), float(logp[0])

    def _check_state(self, state: Any, word: int) -> None:
        if isinstance(state, tuple) or not (
            0 <= state < self.node_pair.size and 0 <= word < len(self.vocabulary_)
        ):
            raise ValueError(
                f"no state {state} or no word {word} in this model; take both from the model itself."
            )

    def step_many(self, states: Ints, words: Ints) -> tuple[Ints, Floats]:
        """:meth:`step` for arrays of states and word ids: next states and log-probabilities."""
        nodes, logps = np.empty(states.size, dtype=np.int32), np.empty(states.size)
        states, words = (np.ascontiguousarray(ids, dtype=np.int32) for ids in (states, words))
        if states.size:
            self._check_state(int(states.min()), 0)
            self._check_state(int(states.max()), max(int(words.max()), 0))
        bindings.ngram_step_many(self.core, states, words, logps, nodes)
        return nodes, logps

    def score_stream(self, stream: Ints) -> Floats:
        """Log-probability of each id of a stream that starts at ``<s>``; -1 gives NaN."""
        out, ids = np.empty(stream.size), np.ascontiguousarray(stream, dtype=np.int32)
        if ids.size:
            self._check_state(0, max(int(ids.max()), 0))
        bindings.ngram_score_stream(self.core, ids, self._start, out)
        return out

    def distribution(self, context: Context = ()) -> Floats:
        """Probabilities of the whole vocabulary after a context; they sum to 1."""
        out = np.empty(len(self.vocabulary_))
        state: Any = self.state(context)
        self._check_state(state, 0)
        depth = int(self.node_depth[state])
        path, shift = np.empty(depth, dtype=np.int64), np.empty(depth)
        bindings.ngram_distribution(self.core, state, path, shift, self._root_p, out)
        return out

    @property
    def pair_node(self) -> Ints:
        """The node each pair belongs to."""
        return np.repeat(np.arange(self.node_pair.size, dtype=np.int32), np.diff(self.pair_ptr))

    def spell(self, nodes: Ints) -> Ints:
        """Context words of nodes of one depth, oldest first: an (n, depth) array of ids."""
        depth = int(self.node_depth[nodes[0]]) if nodes.size else 0
        out = np.empty((nodes.size, depth), dtype=np.int32)
        nodes = np.ascontiguousarray(nodes, np.int32)
        bindings.ngram_spell(nodes, self.node_pair, self.pair_ptr, self.pair_word, depth, out)
        return out


class FittedBackoff(LanguageModel):
    """Base class of estimators whose fitted model is a back-off model, ``backoff_``."""

    kind = "backoff"
    backoff_: BackoffModel

    @property
    def vocabulary_(self) -> Vocabulary:  # type: ignore[override]
        """The words it can predict."""
        return self._fitted().vocabulary_

    def start(self) -> int:
        """State at the start of a sentence."""
        return self._fitted().start()

    def step(self, state: int, word: int) -> tuple[int, float]:
        """State after a word id, and its natural log-probability."""
        return self._fitted().step(state, word)

    def score_stream(self, stream: Ints) -> Floats:
        """Log-probability of each id of a stream that starts a sentence."""
        return self._fitted().score_stream(stream)

    def distribution(self, context: Context = ()) -> Floats:
        """Probabilities of the whole vocabulary after a context."""
        return self._fitted().distribution(context)

    def _fitted(self) -> BackoffModel:
        model: BackoffModel | None = getattr(self, "backoff_", None)
        if model is None:
            raise InputError(f"this {type(self).__name__} is not fitted; call fit first.")
        return model


def with_unknown(model: BackoffModel, probability: float) -> BackoffModel:
    """The model with ``<unk>`` added, of this probability in the empty context.

    With r = p / (1 - p) and R(x) the product of the back-off weights from x down to the empty context, ``<unk>`` has
    r R(x) / (1 + r R(x)) after x, and every other word its probability divided by 1 + r R(x). For a log-linear model
    that is one more weight of a word, which leaves the others as they are.

    Examples
    --------
    >>> from epigram.lm.ngram.kneser_ney import KneserNeyLM
    >>> closed = KneserNeyLM(2, open_vocabulary=False).fit(["a b", "b a"]).backoff_
    >>> model = with_unknown(closed, 0.1)
    >>> model.vocabulary_.words, round(float(model.distribution("a").sum()), 12)
    (['</s>', 'a', 'b', '<unk>'], 1.0)
    >>> round(float(model.distribution()[-1]), 12)
    0.1
    """
    n_words, depth = len(model.vocabulary_), model.node_depth
    product = model.node_bow.copy()  # ln R(x)
    for first, last in pairwise(np.flatnonzero(np.diff(depth, prepend=-1, append=-1)).tolist()):
        product[first:last] += product[model.node_parent[first:last]] if first else 0.0
    shift = np.log1p(probability / (1 - probability) * np.exp(product))
    opened = BackoffModel(
        model.vocabulary_.opened(),
        model.node_pair + (model.node_pair >= n_words),
        np.append(0, model.pair_ptr[1:] + 1),
        np.insert(model.pair_word, n_words, n_words),
        np.insert(model.pair_logp - shift[model.pair_node], n_words, np.log(probability)),
        model.node_bow + np.append(0.0, shift[model.node_parent[1:]] - shift[1:]),
    )
    opened.__dict__["links"] = Links(model.node_parent, depth, np.insert(model.pair_next, n_words, 0))
    return opened


def as_backoff(model: LanguageModel, path: str | PathLike[str] | None = None) -> BackoffModel:
    """The back-off model that a language model is or holds; ``path`` is for the error."""
    own = model.backoff_ if isinstance(model, FittedBackoff) else model
    if not isinstance(own, BackoffModel):
        raise InputError(
            f"a {KINDS.get(own.kind, type(own).__name__)} has no table of n-grams, also as a part of a "
            "mixture, so it cannot be pruned, merged, written as ARPA or asked as KenLM's; use its model file, mix "
            "it without an output file, or approximate it with epigram lm export-arpa --ngrams MODEL",
            path=path,
        )
    return own


class WorstSum(NamedTuple):
    """The distribution of a back-off model whose sum differs most from 1."""

    contexts: int
    context: str
    sum: float


def worst_sums(model: LanguageModel) -> Iterator[WorstSum]:
    """One for each back-off model that a model is, holds or mixes; others sum to 1 by design.

    Examples
    --------
    >>> from epigram.lm import KneserNeyLM
    >>> [worst] = worst_sums(KneserNeyLM(order=2).fit(["a b", "a a b"]))
    >>> abs(worst.sum - 1) < 1e-9
    True
    """
    if isinstance(model, BackoffModel | FittedBackoff):
        backoff = as_backoff(model)
        sums = context_sums(backoff)
        worst = int(np.abs(sums - 1.0).argmax())
        words = backoff.spell(np.array([worst], np.int32))[0].tolist()
        spelled = (START if word == BOUNDARY else backoff.vocabulary_.words[word] for word in words)
        yield WorstSum(sums.size, " ".join(spelled), float(sums[worst]))
    else:
        for part in model.parts:
            yield from worst_sums(part)


def context_sums(model: BackoffModel) -> Floats:
    """Sum of the distribution after each x: sum p[x,w] + bow(x) (sum of x' - sum p(w | x'))."""
    home, parent = model.pair_node, model.node_parent
    sums: Floats = np.bincount(home, np.exp(model.pair_logp), model.node_pair.size).astype(np.float64)
    below = home > 0
    _, logp = model.step_many(parent[home[below]], model.pair_word[below])
    lower = np.bincount(home[below], np.exp(logp), model.node_pair.size)
    for level in range(1, int(model.node_depth.max()) + 1):
        nodes = np.flatnonzero(model.node_depth == level)
        sums[nodes] += np.exp(model.node_bow[nodes]) * np.maximum(sums[parent[nodes]] - lower[nodes], 0.0)
    return sums


def _assemble(
    n_words: int,
    grams: Sequence[Ints],
    logps: Sequence[Floats],
    contexts: Sequence[Ints],
    bows: Sequence[Floats],
) -> Trie:
    """``node_pair, pair_ptr, pair_word, pair_logp, node_bow`` of loose n-grams.

    Level by level: the n-grams of order n are sorted by (node of their context, last word) and those that are
    contexts become the nodes of depth n. Entries that a longer context needs and was not given are added: a missing
    prefix as an n-gram with its backed-off probability (NaN here, filled by the model), a context with weight 1.
    """
    order = max(len(grams), len(contexts) + 1)

    def padded(arrays: Sequence[Any], dtype: type) -> list[Any]:
        return [np.asarray(of, dtype) for of in (*arrays, *[()] * (order - len(arrays)))]

    def rows(arrays: Sequence[Ints]) -> list[Ints]:
        return [of.reshape(-1, n) for n, of in enumerate(padded(arrays, np.int32), start=1)]

    spelled, logp, nodes, bow = (
        rows(grams),
        padded(logps, np.float64),
        rows(contexts),
        padded(bows, np.float64),
    )
    trie = _levels(n_words, spelled, logp, nodes, bow)
    if trie is None:
        _complete(spelled, logp, nodes)
        trie = _levels(n_words, spelled, logp, nodes, bow)
    if trie is None:
        raise InputError("an n-gram is spelled with words outside the vocabulary.")
    return trie


def find_grams(grams: Ints, n: int, pair_ptr: Offsets, pair_word: Ints, pair_node_of: Ints) -> Offsets:
    """The pair that spells the first ``n`` words of each row, -1 where there is none."""
    rows, out = np.ascontiguousarray(grams, dtype=np.int32), np.empty(len(grams), dtype=np.int64)
    n_words = int(pair_ptr[1])
    if rows.size and not (rows.min() >= 0 and rows[:, :n].max() < n_words):
        raise InputError("an n-gram is spelled with words outside the vocabulary.")
    bindings.ngram_find_grams(rows.shape[1], rows, n, pair_ptr, pair_word, pair_node_of, out)
    return out


def _levels(
    n_words: int, grams: list[Ints], logps: list[Floats], contexts: list[Ints], bows: list[Floats]
) -> Trie | None:
    """One pass over the orders; None where a prefix is missing."""
    if not np.array_equal(np.sort(grams[0][:, 0]), np.arange(n_words)):
        raise InputError(f"expected each of the {n_words} words once among the 1-grams.")
    node_pair, node_bow = np.array([-1]), np.zeros(1)
    pair_ptr = np.array([0, n_words])
    pair_word = np.arange(n_words, dtype=np.int32)
    pair_logp = logps[0][np.argsort(grams[0][:, 0])]
    pair_node_of = np.full(n_words, -1, dtype=np.int32)
    for n in range(1, len(grams) + 1):
        following = grams[n] if n < len(grams) else np.empty((0, n + 1), dtype=np.int32)
        context_pair = find_grams(contexts[n - 1], n, pair_ptr, pair_word, pair_node_of)
        prefix_pair = find_grams(following, n, pair_ptr, pair_word, pair_node_of)
        if (context_pair < 0).any() or (prefix_pair < 0).any():
            return None
        is_node = np.zeros(pair_word.size, dtype=bool)
        is_node[context_pair] = True
        is_node[prefix_pair] = True
        new = np.flatnonzero(is_node)
        first_node = node_pair.size
        pair_node_of[new] = np.arange(first_node, first_node + new.size)
        node_pair = np.concatenate((node_pair, new))
        node_bow = np.concatenate((node_bow, np.zeros(new.size)))
        node_bow[pair_node_of[context_pair]] = bows[n - 1]
        nodes = pair_node_of[prefix_pair]
        key = nodes.astype(np.int64) * n_words + following[:, n]
        by_node = np.argsort(key, kind="stable")
        if by_node.size:
            if not np.diff(key[by_node]).all():
                raise InputError(f"the same {n + 1}-gram is given twice.")
            pair_logp = np.concatenate((pair_logp, logps[n][by_node]))
        counts = np.bincount(nodes - first_node, minlength=new.size)
        pair_ptr = np.concatenate((pair_ptr, pair_word.size + np.cumsum(counts)))
        pair_word = np.concatenate((pair_word, following[by_node, n]))
        pair_node_of = np.concatenate((pair_node_of, np.full(by_node.size, -1, dtype=np.int32)))
    return node_pair, pair_ptr.astype(np.int64), pair_word, pair_logp, node_bow


def _complete(grams: list[Ints], logps: list[Floats], contexts: list[Ints]) -> None:
    """Add, in place, the prefixes that longer n-grams and contexts need and that were not given."""
    for n in range(len(grams) - 1, 0, -1):
        longer = [grams[n + 1][:, : n + 1]] if n + 1 < len(grams) else []
        needed = np.unique(np.concatenate([contexts[n], *longer]), axis=0)
        given = {row.tobytes() for row in grams[n]}
        missing = np.array([row.tobytes() not in given for row in needed], dtype=bool)
        grams[n] = np.concatenate((grams[n], needed[missing]))
        logps[n] = np.concatenate((logps[n], np.full(int(missing.sum()), np.nan)))


def renormalised(model: BackoffModel) -> BackoffModel:
    """Set the back-off weights so that every distribution sums to one; changes the model."""
    bindings.ngram_renormalise(model.core)
    return model
