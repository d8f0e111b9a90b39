"""Labels on trees the slow way: every labelling is scored."""

from __future__ import annotations

import itertools
import math

import numpy as np


def score(parents, labels, states, transitions, edges):
    """Sum of the weights of a labelling; ``states`` is (n, L), ``edges`` (n, L, L) by the parent's label."""
    total = sum(states[t, label] for t, label in enumerate(labels))
    for t, parent in enumerate(parents):
        if parent >= 0:
            pair = labels[parent], labels[t]
            total += transitions[pair] + edges[t][pair]
    return total


def all_scores(parents, states, transitions, edges):
    """Every labelling and its score."""
    n_labels = states.shape[1]
    return {
        labels: score(parents, labels, states, transitions, edges)
        for labels in itertools.product(range(n_labels), repeat=len(parents))
    }


def log_z(scores):
    """log of the sum of exponentials."""
    top = max(scores.values())
    return top + math.log(sum(math.exp(value - top) for value in scores.values()))


def marginals(parents, scores, n_labels):
    """p(label) of each node, and p(label of the parent, label)."""
    z = log_z(scores)
    nodes = np.zeros((len(parents), n_labels))
    edges = np.zeros((len(parents), n_labels, n_labels))
    for labels, value in scores.items():
        p = math.exp(value - z)
        for t, parent in enumerate(parents):
            nodes[t, labels[t]] += p
            if parent >= 0:
                edges[t, labels[parent], labels[t]] += p
    return nodes, edges
