"""Trees of second order the slow way: each child with the child of the same head before it."""

from __future__ import annotations

import numpy as np

from reference import eisner


def parts(heads):
    """The (head, sibling, child) of a tree, words from 1: no sibling is the head, the ends are 0 and n + 1."""
    n, found = len(heads), []
    for h in range(1, n + 1):
        own = [c for c in range(1, n + 1) if heads[c - 1] == h]
        for side in ([c for c in own[::-1] if c < h] + [0], [c for c in own if c > h] + [n + 1]):
            found += [(h, q, c) for q, c in zip([h, *side], side, strict=False)]
    return found


def place(n, part):
    """Where ``_core/siblings.h`` keeps the score of a part: ("stop" or "trio", number)."""
    h, q, c = (word - 1 for word in part)
    if c == -1 and q == h:
        return "stop", n * n + h
    if c in (-1, n):
        return "stop", h * n + q
    row = sum(abs(a - b) for a in range(h) for b in range(n))
    inner = [b for b in range(n) if b != h and (b < h, -abs(b - h)) > (c < h, -abs(c - h))]
    row += sum(abs(h - b) for b in inner)
    return "trio", row + (q - h if h < c else q - c - 1)


def score(scores, trios, stops, heads):
    """Sum of the scores of arcs and parts."""
    total = eisner.score(scores, heads)
    for part in parts(heads):
        kind, k = place(len(heads), part)
        total += (trios if kind == "trio" else stops)[k]
    return total


def marginals(values, trees, n):
    """The probability of every trio and every stop, from the scores of all trees."""
    weights = np.exp(np.array(values) - max(values))
    trios, stops = np.zeros(n * (n * n - 1) // 3), np.zeros(n * n + n)
    for p, heads in zip(weights / weights.sum(), trees, strict=True):
        for part in parts(heads):
            kind, k = place(n, part)
            (trios if kind == "trio" else stops)[k] += p
    return trios, stops
