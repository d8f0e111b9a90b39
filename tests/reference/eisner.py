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
