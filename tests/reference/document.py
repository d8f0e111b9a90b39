"""Slow twin of document features: dictionaries of decayed counts, and probabilities over all candidates."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np


def decayed(before, horizon):
    """Counts of the words before a sentence, the last of them counting 1."""
    counts = defaultdict(float)
    for back, word in enumerate(reversed(before)):
        if word >= 0:
            counts[word] += math.exp(-back / horizon)
    return counts


def class_features(before, c, class_of, word_counts, horizons, prior):
    """Log of the share of class c among the words before, over that in the training text; 0 for that of </s>."""
    seen = {w: max(int(n), 1) for w, n in enumerate(word_counts) if w != 0}
    share = sum(n for w, n in seen.items() if class_of[w] == c) / sum(seen.values())
    if share == 0:
        return [0.0] * len(horizons)
    out = []
    for horizon in horizons:
        counts = decayed(before, horizon)
        own = sum(n for w, n in counts.items() if class_of[w] == c)
        out.append(math.log((own + prior * share) / (share * (sum(counts.values()) + prior))))
    return out


def word_features(before, word, class_of, word_counts, horizons, prior):
    """Of a word that was seen before; zeros for others."""
    if word not in before:
        return [0.0] * (len(horizons) + 1)
    seen = {w: max(int(n), 1) for w, n in enumerate(word_counts) if w != 0 and class_of[w] == class_of[word]}
    share = seen[word] / sum(seen.values())
    return [math.log(1 + decayed(before, h)[word] / (prior * share)) for h in horizons] + [1.0]


def probabilities(base, features, weights):
    """P of each candidate: base probability times exp(features . weights), normalised."""
    scores = np.log(base) + [float(np.dot(f, w)) for f, w in zip(features, weights, strict=True)]
    p = np.exp(scores - scores.max())
    return p / p.sum()
