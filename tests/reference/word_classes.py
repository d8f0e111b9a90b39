"""The class bigram model from scratch: its log-likelihood, and the best move of one word by trying them all."""

from __future__ import annotations

import itertools
import math
from collections import Counter


def log_likelihood(stream, class_of):
    """Sum over bigrams (v, w) of log p(c(w) | c(v)) p(w | c(w)), maximum likelihood estimates."""
    bigrams = list(itertools.pairwise(stream))
    pairs = Counter((class_of[v], class_of[w]) for v, w in bigrams)
    left = Counter(class_of[v] for v, _ in bigrams)
    right = Counter(class_of[w] for _, w in bigrams)
    words = Counter(w for _, w in bigrams)
    return sum(
        math.log(pairs[class_of[v], class_of[w]] / left[class_of[v]] * words[w] / right[class_of[w]])
        for v, w in bigrams
    )


def worth_of_moves(stream, class_of, word, n_classes):
    """The log-likelihood with the word in each class 1, 2, ..."""
    found = {}
    for k in range(1, n_classes):
        moved = list(class_of)
        moved[word] = k
        found[k] = log_likelihood(stream, moved)
    return found
