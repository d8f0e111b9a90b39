"""Slow twin of a choice under several context trees: dictionaries of contexts, sums over all candidates."""

from __future__ import annotations

from collections import Counter

import numpy as np

from reference import lm_suffix


def contexts_of(examples, i):
    """Every suffix of every context of position i as (tree, root, symbols), the oldest symbol first."""
    found = []
    for tree in range(examples.end.shape[1]):
        end, length = int(examples.end[i, tree]), int(examples.length[i, tree])
        for depth in range(1 if tree else 0, length + 1):  # the root of a side tree has no say
            symbols = tuple(examples.history[end - depth : end].tolist())
            found.append((tree, int(examples.root[i]), symbols))
    return found


def probabilities(contexts, n_candidates, weights):
    """P of each candidate: ``weights`` maps (context, candidate) to a weight, else 0."""
    scores = [sum(weights.get((c, u), 0.0) for c in contexts) for u in range(n_candidates)]
    p = np.exp(np.array(scores))
    return p / p.sum()


def loss_and_gradient(examples, n_candidates, weights):
    """Sum of -log P, and its derivative by each seen (context, candidate): expected count less count."""
    total, expected, seen = 0.0, Counter(), Counter()
    for i in range(examples.candidate.size):
        contexts, chosen = contexts_of(examples, i), int(examples.candidate[i])
        p = probabilities(contexts, int(n_candidates[examples.root[i]]), weights)
        total -= np.log(p[chosen])
        for context in contexts:
            seen[context, chosen] += 1
            for u, share in enumerate(p):
                expected[context, u] += share
    return float(total), {pair: expected[pair] - n for pair, n in seen.items()}


def by_context(loss, values):
    """A value of each weight of a FactorLoss as (context, candidate) -> value."""
    spread = lm_suffix.weights_by_context(loss.tree, values)
    return {
        ((r // loss.n_roots, r % loss.n_roots, symbols), u): v
        for ((r, symbols), u), v in spread.items()
        if r < loss.n_roots or symbols
    }


def weights_of_model(model):
    """The weights of a FactorScorer as (context, candidate) -> weight."""
    weights = {}
    for node in range(model.parent.size):
        symbols, above = [], node
        while model.parent[above] >= 0:
            symbols.append(int(model.symbol[above]))
            above = int(model.parent[above])
        context = (above // model.n_roots, above % model.n_roots, tuple(symbols))
        for pair in range(int(model.pair_ptr[node]), int(model.pair_ptr[node + 1])):
            weights[context, int(model.candidate[pair])] = float(model.w[pair])
    return weights
