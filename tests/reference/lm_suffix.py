"""Slow twins of the context tree and its loss: dictionaries of contexts, normalisation over all targets."""

from __future__ import annotations

from collections import Counter

import numpy as np


def contexts_of(positions, i, order):
    """All suffixes of the context of position i, shortest first, as tuples (oldest symbol first)."""
    end, length = int(positions.end[i]), int(positions.length[i])
    longest = length if order == 0 else min(length, order - 1)
    root = 0 if positions.root is None else int(positions.root[i])
    return [(root, tuple(positions.history[end - d : end].tolist())) for d in range(longest + 1)]


def counted(positions, order):
    """Counts of (root, context, target) and of (root, context)."""
    pairs, contexts = Counter(), Counter()
    for i in range(positions.target.size):
        for context in contexts_of(positions, i, order):
            pairs[context, int(positions.target[i])] += 1
            contexts[context] += 1
    return pairs, contexts


def n_trie_and_tree(positions, order):
    """|S| and |T| of the paper: all pairs, and those left when a pair swallows its only equal child."""
    pairs, _ = counted(positions, order)
    swallowed = sum(
        1
        for ((root, context), target), n in pairs.items()
        if context and pairs[(root, context[1:]), target] == n
    )
    return len(pairs), len(pairs) - swallowed


def log_loss(positions, order, weights):
    """Sum of -log P(target | context): ``weights`` maps ((root, context), target) to a weight, else 0."""
    total = 0.0
    for i in range(positions.target.size):
        contexts = contexts_of(positions, i, order)
        scores = np.array(
            [sum(weights.get((c, u), 0.0) for c in contexts) for u in range(positions.n_targets)]
        )
        total += np.log(np.exp(scores).sum()) - scores[int(positions.target[i])]
    return float(total)


def weights_by_context(tree, w):
    """The weights of a tree, spread over every context a node stands for."""
    spread = {}
    root_of = np.arange(tree.n_contexts)
    for c in range(tree.n_contexts):
        if tree.parent[c] >= 0:
            root_of[c] = root_of[tree.parent[c]]
        symbols = tuple(tree.context(c).tolist())
        above = 0 if tree.parent[c] < 0 else int(tree.depth[tree.parent[c]]) + 1
        for d in range(above, int(tree.depth[c]) + 1):
            context = symbols[len(symbols) - d :]
            for p in range(int(tree.pair_ptr[c]), int(tree.pair_ptr[c + 1])):
                spread[(int(root_of[c]), context), int(tree.word[p])] = float(w[p])
    return spread


def unseen_expected(positions, order, weights):
    """How often each unseen ((root, context), target) is expected whose target was seen after a symbol less."""
    pairs, contexts = counted(positions, order)
    expected = {
        (context, u): 0.0
        for context in contexts
        for u in range(positions.n_targets)
        if context[1] and (context, u) not in pairs and ((context[0], context[1][1:]), u) in pairs
    }
    for i in range(positions.target.size):
        suffixes = contexts_of(positions, i, order)
        scores = [sum(weights.get((c, u), 0.0) for c in suffixes) for u in range(positions.n_targets)]
        odds = np.exp(scores)
        for context in suffixes:
            for u in range(positions.n_targets):
                if (context, u) in expected:
                    expected[context, u] += float(odds[u] / odds.sum())
    return expected
