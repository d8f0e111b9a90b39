"""From loose n-grams to the forward trie of a back-off model (see backoff.py for the arrays).

Level by level: the n-grams of order n are sorted by (node of their context, last word) and those that are
contexts become the nodes of depth n. What a longer context needs and nobody gave is added: a missing prefix
as an n-gram with its backed-off probability (NaN here, filled by the model), a context with weight 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from epigram._core.native import family
from epigram.errors import InputError
from epigram.lm.ngram.model import BackoffModel
from epigram.lm.vocabulary import Vocabulary
from epigram.protocols import Floats, Ints, Offsets

Trie: TypeAlias = tuple[Offsets, Offsets, Ints, Floats, Floats]


def assemble(
    n_words: int,
    grams: Sequence[Ints],
    logps: Sequence[Floats],
    contexts: Sequence[Ints],
    bows: Sequence[Floats],
) -> Trie:
    """``node_pair, pair_ptr, pair_word, pair_logp, node_bow`` of loose n-grams."""
    order = max(len(grams), len(contexts) + 1)
    grams = [np.asarray(g, dtype=np.int32).reshape(-1, n + 1) for n, g in enumerate(grams)]
    contexts = [np.asarray(c, dtype=np.int32).reshape(-1, n + 1) for n, c in enumerate(contexts)]
    grams += [np.empty((0, n + 1), dtype=np.int32) for n in range(len(grams), order)]
    contexts += [np.empty((0, n + 1), dtype=np.int32) for n in range(len(contexts), order)]
    logp = [np.asarray(values, dtype=np.float64) for values in logps]
    logp += [np.empty(0)] * (order - len(logp))
    bow = [np.asarray(values, dtype=np.float64) for values in bows]
    bow += [np.empty(0)] * (order - len(bow))
    trie = _levels(n_words, grams, logp, contexts, bow)
    if trie is None:
        _complete(grams, logp, contexts)
        trie = _levels(n_words, grams, logp, contexts, bow)
    if trie is None:
        raise InputError("an n-gram is spelled with words outside the vocabulary.")
    return trie


def find_grams(grams: Ints, n: int, pair_ptr: Offsets, pair_word: Ints, pair_node_of: Ints) -> Offsets:
    """The pair that spells the first ``n`` words of each row, -1 where there is none."""
    rows, out = np.ascontiguousarray(grams, dtype=np.int32), np.empty(len(grams), dtype=np.int64)
    n_words, n_nodes = int(pair_ptr[1]), pair_ptr.size - 1
    if rows.size and not (rows.min() >= 0 and rows[:, :n].max() < n_words):
        raise InputError("an n-gram is spelled with words outside the vocabulary.")
    family("ngram").find_grams(
        *rows.shape, rows, n, n_nodes, pair_word.size, pair_ptr, pair_word, pair_node_of, out
    )
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
    """Add, in place, the n-grams that longer ones or contexts are spelled with and nobody gave."""
    for n in range(len(grams) - 1, 0, -1):
        longer = [grams[n + 1][:, : n + 1]] if n + 1 < len(grams) else []
        needed = np.unique(np.concatenate([contexts[n], *longer]), axis=0)
        given = {row.tobytes() for row in grams[n]}
        missing = np.array([row.tobytes() not in given for row in needed], dtype=bool)
        grams[n] = np.concatenate((grams[n], needed[missing]))
        logps[n] = np.concatenate((logps[n], np.full(int(missing.sum()), np.nan)))


def from_context_tree(
    vocabulary: Vocabulary,
    node_parent: Ints,
    node_label: Ints,
    pair_ptr: Offsets,
    pair_word: Ints,
    pair_logp: Floats,
    node_bow: Floats,
) -> BackoffModel:
    """From a context tree: ``node_parent[x]`` is x without its oldest word, which is ``node_label[x]``.

    Parents come before children, 0 is the root (its parent and label are ignored). Pairs are sorted by
    node, in any order of words; the root's hold every word. Natural logs.

    Examples
    --------
    >>> model = from_context_tree(
    ...     Vocabulary(["a", "b"]), np.array([-1, 0]), np.array([-1, 1]), np.array([0, 3, 4]),
    ...     np.array([0, 1, 2, 2]), np.log([0.25, 0.25, 0.5, 0.6]), np.log([1.0, 0.8]))
    >>> model.distribution("a").round(3).tolist()
    [0.2, 0.2, 0.6]
    """
    n_nodes = node_parent.size
    depth = np.zeros(n_nodes, dtype=np.int64)
    ancestor = np.arange(n_nodes)
    while ancestor.any():
        depth += ancestor > 0
        ancestor = np.where(ancestor > 0, node_parent[ancestor], 0)
    pair_node = np.repeat(np.arange(n_nodes), np.diff(pair_ptr))
    pair_depth = depth[pair_node]
    order = int(depth.max()) + 1
    grams, logps, contexts, bows = [], [], [], []
    for d in range(order):
        pairs = np.flatnonzero(pair_depth == d)
        history = _histories(pair_node[pairs], d, node_parent, node_label)
        grams.append(np.column_stack((history, pair_word[pairs])).astype(np.int32))
        logps.append(pair_logp[pairs])
        if d:
            nodes = np.flatnonzero(depth == d)
            contexts.append(_histories(nodes, d, node_parent, node_label))
            bows.append(node_bow[nodes])
    return BackoffModel.from_ngrams(vocabulary, grams, logps, contexts, bows)


def _histories(nodes: Offsets, depth: int, node_parent: Ints, node_label: Ints) -> Ints:
    """Words of contexts of one depth, oldest first."""
    out = np.empty((nodes.size, depth), dtype=np.int32)
    for j in range(depth):
        out[:, j] = node_label[nodes]
        nodes = node_parent[nodes].astype(np.int64)
    return out
