"""Converts fitted weights to a back-off model, exactly: bow(x) = Z(x') / Z(x).

A pair of weight 0 has the probability that backing off gives, so it is left out; so is a context below
which every weight is 0. A collapsed node is spread over the contexts it stands for again, where its weights
are not 0.
"""

from __future__ import annotations

import numpy as np

from epigram._core import bindings
from epigram.errors import InputError
from epigram.lm.loglinear.loss import SuffixLoss
from epigram.lm.ngram.backoff import BackoffModel
from epigram.lm.vocabulary import Vocabulary
from epigram.protocols import Floats, Ints, Offsets


def to_backoff(vocabulary: Vocabulary, loss: SuffixLoss, w: Floats) -> BackoffModel:
    """The model of a tree with one root, as a :class:`~epigram.lm.ngram.backoff.BackoffModel`.

    Examples
    --------
    >>> from epigram.lm.loglinear.tree import ContextTree, Positions
    >>> from epigram.lm.corpus import Corpus
    >>> corpus = Corpus.of(["a b", "a b"])
    >>> loss = SuffixLoss(ContextTree.grow(Positions.of(corpus), order=2))
    >>> to_backoff(corpus.vocabulary, loss, np.zeros(loss.n_weights)).distribution("a").round(3).tolist()
    [0.333, 0.333, 0.333]
    """
    loss.value(w)
    tree, n_words = loss.tree, len(vocabulary)
    nodes, kept = tree.needed_parts(w)
    number = np.full(tree.n_contexts, -1, np.int32)
    number[nodes] = np.arange(nodes.size, dtype=np.int32)
    of_pair = tree.per_pair(np.arange(tree.n_contexts, dtype=np.int32))[kept]
    if not (loss.z.min() > 0.0 and loss.z.max() < np.inf):
        raise InputError("the weights of a context add up to more than numbers hold; is the file corrupt?")
    root_logp = np.full(n_words, -np.log(loss.z[0]))
    root_logp[tree.word[: tree.pair_ptr[1]]] += np.log(loss.e[: tree.pair_ptr[1]])
    parent = tree.parent[nodes[1:]]
    if not tree.collapsed:
        pair_ptr = np.searchsorted(of_pair, nodes[1:], side="right")
        return from_context_tree(
            vocabulary,
            np.concatenate(([-1], number[parent])),
            tree.symbol[nodes],
            np.concatenate(([0, n_words], n_words + pair_ptr)),
            np.concatenate((np.arange(n_words, dtype=np.int32), tree.word[kept])),
            np.concatenate((root_logp, np.log(loss.e[kept] / loss.z[of_pair]))),
            np.concatenate(([0.0], np.log(loss.z[parent] / loss.z[nodes[1:]]))),
        )
    return from_context_tree(vocabulary, *_spread(loss, w, nodes, number, root_logp))


def _spread(
    loss: SuffixLoss, w: Floats, nodes: Ints, number: Ints, root_logp: Floats
) -> tuple[Ints, Ints, np.ndarray, Ints, Floats, Floats]:
    """The arrays of a collapsed tree with one node for each context."""
    sizes = np.empty(2, np.int64)
    bindings.loglinear_count_spread(loss.core, nodes, w, sizes)
    n_nodes, n_pairs = sizes.tolist()
    parent, label = np.empty((2, n_nodes + 1), np.int32)
    pair_ptr = np.empty(n_nodes + 2, np.int64)
    word = np.empty(root_logp.size + n_pairs, np.int32)
    logp, bow = np.empty(word.size), np.zeros(n_nodes + 1)
    parent[0] = label[0] = -1
    pair_ptr[:2] = 0, root_logp.size
    word[: root_logp.size] = np.arange(root_logp.size)
    logp[: root_logp.size] = root_logp
    bindings.loglinear_spread(
        loss.core,
        loss.sums,
        nodes,
        w,
        number,
        parent,
        label,
        pair_ptr,
        word,
        logp,
        bow,
    )
    return parent, label, pair_ptr, word, logp, bow


def from_context_tree(
    vocabulary: Vocabulary,
    node_parent: Ints,
    node_label: Ints,
    pair_ptr: Offsets,
    pair_word: Ints,
    pair_logp: Floats,
    node_bow: Floats,
) -> BackoffModel:
    """From a context tree: ``node_parent[x]`` is x without its oldest word, ``node_label[x]``.

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
