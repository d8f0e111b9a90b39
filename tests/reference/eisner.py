"""Projective trees the slow way: all of them, one by one."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np

from epigram.protocols import Steps


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
        gold = tuple(gold_heads[loss.parts.sentence_ptr[s] : loss.parts.sentence_ptr[s + 1]].tolist())
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


def check_cumulative_pass(problem, features_of_sentence):
    """A pass of SGD is that of Tsuruoka et al. 2009, figure 2: a step, then what is owed by a sentence's features."""
    loss = problem()[0]
    order, rates = np.array([1, 0, 1], dtype=np.int32), np.array([0.5, 0.3, 0.2])
    penalties = np.array([0.0, 0.02, 0.05, 0.06])
    w, q, slow_w, slow_q = (np.zeros(loss.n_weights) for _ in range(4))
    for k, s in enumerate(order):
        one, gradient = problem(np.eye(2)[s])[0], np.empty_like(w)
        one.value_and_gradient(slow_w, gradient)
        slow_w -= rates[k] * gradient
        for i in features_of_sentence(s):
            z, u = slow_w[i], penalties[k + 1]
            slow_w[i] = max(0.0, z - (u + slow_q[i])) if z > 0 else min(0.0, z + (u - slow_q[i]))
            slow_q[i] += slow_w[i] - z
    loss.sgd_pass("cumulative", Steps(order, rates, penalties), w, q)
    np.testing.assert_allclose(w, slow_w, atol=1e-8)
    np.testing.assert_allclose(q, slow_q, atol=1e-8)


def check_model(model, w, words, gold_heads, loss, table, features_of):
    """A model ranks trees as the sums of the weights do that it was made of; returns these sums, tree by tree."""
    np.testing.assert_array_equal(model.keys, table.fingerprints)
    values = {heads: w[features_of(heads)].sum() for heads in all_trees(5)}
    ranked = sorted(values, key=lambda heads: -values[heads])
    assert [tuple(heads.tolist()) for heads, _ in model.n_best(words, 3)[0]] == ranked[:3]
    assert loss.attachment(w) == np.mean(model.decode(words) == gold_heads)
    return values
