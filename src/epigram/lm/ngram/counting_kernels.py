"""Kernels that count and smooth n-grams, level by level (counts.py, kneser_ney.py)."""

from __future__ import annotations

import numpy as np

from epigram.jit import kernel


@kernel
def positions_by_word(stream, n_words, out):
    """Target positions (all but the first and the unseen) sorted by word, stable; returns how many."""
    ends = np.zeros(n_words + 1, np.int64)
    for i in range(1, stream.size):
        if stream[i] >= 0:
            ends[stream[i] + 1] += 1
    for u in range(n_words):
        ends[u + 1] += ends[u]
    for i in range(1, stream.size):
        if stream[i] >= 0:
            out[ends[stream[i]]] = i
            ends[stream[i]] += 1
    return ends[n_words - 1]


@kernel
def extend_grams(stream, by_word, n, grams, n_grams, ordered, longer, prefix, word, suffix, count):
    """From the (n-1)-grams ending at each position to the n-grams, numbered by (prefix, last word).

    ``grams[i]`` numbers the (n-1)-gram that ends at i (-1: none), ``longer[i]`` gets the n-gram; the rest
    describes each n-gram: its first n-1 words, last word, last n-1 words, occurrences. ``by_word`` keeps
    only positions that still have an n-gram. Returns the number of n-grams and of positions left.
    """
    ends = np.zeros(n_grams + 1, np.int64)
    longer[0] = -1
    for i in range(1, stream.size):
        longer[i] = -1
        h = grams[i - 1]
        if stream[i] >= 0 and h >= 0 and (n == 2 or stream[i - 1] != 0):
            ends[h + 1] += 1
    for h in range(n_grams):
        ends[h + 1] += ends[h]
    n_left = 0
    for k in range(by_word.size):
        i = by_word[k]
        h = grams[i - 1]
        if h >= 0 and (n == 2 or stream[i - 1] != 0):
            ordered[ends[h]] = i
            ends[h] += 1
            by_word[n_left] = i
            n_left += 1
    g = -1
    at = 0
    for h in range(n_grams):
        last_u = -1
        for k in range(at, ends[h]):
            i = ordered[k]
            u = stream[i]
            if u != last_u:
                g += 1
                last_u = u
                prefix[g] = h
                word[g] = u
                suffix[g] = grams[i]
                count[g] = 0
            count[g] += 1
            longer[i] = g
        at = ends[h]
    return g + 1, n_left


@kernel
def continuation_counts(suffix_of_longer, count, out):
    """Distinct words before each n-gram; where nothing precedes it (after ``<s>``), its occurrences."""
    out[:] = 0
    for g in range(suffix_of_longer.size):
        out[suffix_of_longer[g]] += 1
    for g in range(out.size):
        if out[g] == 0:
            out[g] = count[g]


@kernel
def kneser_ney_level(prefix, suffix, count, kept, discount, lower_p, total, mass, p):
    """p = (c - D(c)) / total(h) + gamma(h) p(w | h'), gamma(h) = (discounts and pruned counts) / total(h).

    ``mass`` ends as gamma per context. Pruned n-grams give all they have to their context's gamma.
    """
    total[:] = 0.0
    mass[:] = 0.0
    top = discount.size - 1
    for g in range(prefix.size):
        c = count[g]
        total[prefix[g]] += c
        mass[prefix[g]] += discount[min(c, top)] if kept[g] else c
    for h in range(total.size):
        mass[h] = mass[h] / total[h] if total[h] > 0 else 1.0
    for g in range(prefix.size):
        if kept[g]:
            h = prefix[g]
            p[g] = (count[g] - discount[min(count[g], top)]) / total[h] + mass[h] * lower_p[suffix[g]]
