"""Projective trees the slow way: all of them, one by one."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np


def is_projective(heads):
    """No two arcs cross; heads count words from 1, and 0 is the root."""
    arcs = [(min(h, c), max(h, c)) for c, h in enumerate(heads, 1)]
    return not any(a < c < b < d for (a, b), (c, d) in itertools.permutations(arcs, 2))


def is_tree(heads):
    """Every word reaches the root, and one word alone hangs on it."""
    for word in range(1, len(heads) + 1):
        seen = set()
        while word:
            if word in seen:
                return False
            seen.add(word)
            word = heads[word - 1]
    return list(heads).count(0) == 1


@cache
def all_trees(n):
    """Every projective tree of n words with one root."""
    every = itertools.product(range(n + 1), repeat=n)
    return [heads for heads in every if is_tree(heads) and is_projective(heads)]


def score(scores, heads):
    """Sum of the scores of the arcs; scores[h, c - 1] is that of the arc from h to word c."""
    return sum(scores[h, c] for c, h in enumerate(heads))


def marginals(values, trees, n):
    """log Z and the probability of every arc, from the scores of all trees."""
    top = max(values)
    weights = np.exp(np.array(values) - top)
    out = np.zeros((n + 1, n))
    for weight, heads in zip(weights / weights.sum(), trees, strict=True):
        for c, h in enumerate(heads):
            out[h, c] += weight
    return top + np.log(weights.sum()), out


def check_likelihood(loss, gold_heads, weights, features_of, trees_of):
    """A loss is minus the log-probability of the gold trees among ``trees_of(s)``, and its gradient the slope.

    ``features_of(s, heads)`` are the ids of all features of a tree of sentence s.
    """
    w, out = np.random.default_rng(1).normal(size=loss.n_weights), np.zeros(loss.n_weights)
    total, slope = 0.0, np.zeros(loss.n_weights)
    for s, weight in enumerate(weights):
        gold = tuple(gold_heads[loss.arcs.sentence_ptr[s] : loss.arcs.sentence_ptr[s + 1]].tolist())
        every = trees_of(s)
        features = [features_of(s, heads) for heads in every]
        values = np.array([w[own].sum() for own in features])
        z = np.log(np.exp(values - values.max()).sum()) + values.max()
        total += weight * (z - values[every.index(gold)])
        for own, value, heads in zip(features, values, every, strict=True):
            np.add.at(slope, own, weight * (np.exp(value - z) - (heads == gold)))
    np.testing.assert_allclose(loss.value_and_gradient(w, out), total, rtol=1e-6)
    np.testing.assert_allclose(out, slope, atol=1e-10)
    for k in range(0, loss.n_weights, 5):
        step, trash = np.zeros_like(w), np.empty_like(w)
        step[k] = 1e-5
        wide = loss.value_and_gradient(w + step, trash) - loss.value_and_gradient(w - step, trash)
        np.testing.assert_allclose(out[k], wide / 2e-5, rtol=1e-6, atol=1e-7)
