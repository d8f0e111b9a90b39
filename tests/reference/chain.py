"""Linear chains the slow way: every labelling of a sentence is written down and scored."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from epigram.chain.layout import WeightLayout
from epigram.features.sequences import Sequences

Labelling = tuple[int, ...]
Key = tuple[object, ...]  # ("state", a, j), ("pair", i, j) or ("edge", a, i, j)


@dataclass
class Sentence:
    """A list of (attribute, value) per token, and the attributes on the way into it."""

    tokens: list[list[tuple[int, float]]]
    edges: list[list[int]]


@dataclass
class Chain:
    """Weights by name; label pairs that may not follow each other."""

    n_labels: int
    weights: dict[Key, float]
    forbidden: set[tuple[int, int]] = field(default_factory=set)
    chained: bool = True

    def features(self, sentence: Sentence, y: Labelling) -> dict[Key, float]:
        """How often each weight counts for a labelling; weights the model does not have are left out."""
        counts: dict[Key, float] = defaultdict(float)
        for t, token in enumerate(sentence.tokens):
            for a, value in token:
                counts["state", a, y[t]] += value
            if t and self.chained:
                counts["pair", y[t - 1], y[t]] += 1.0
                for a in sentence.edges[t]:
                    counts["edge", a, y[t - 1], y[t]] += 1.0
        return {key: count for key, count in counts.items() if key in self.weights}

    def score(self, sentence: Sentence, y: Labelling) -> float:
        return sum(self.weights[key] * count for key, count in self.features(sentence, y).items())

    def labellings(
        self, sentence: Sentence, allowed: list[set[int] | None] | None = None
    ) -> dict[Labelling, float]:
        """Every permitted labelling and its score."""
        choices = [
            range(self.n_labels) if allowed is None or allowed[t] is None else sorted(allowed[t] or ())
            for t in range(len(sentence.tokens))
        ]
        return {
            y: self.score(sentence, y)
            for y in itertools.product(*choices)
            if not any(pair in self.forbidden for pair in itertools.pairwise(y))
        }

    def log_z(self, sentence: Sentence, allowed: list[set[int] | None] | None = None) -> float:
        scores = list(self.labellings(sentence, allowed).values())
        top = max(scores)
        return top + math.log(math.fsum(math.exp(score - top) for score in scores))

    def distribution(
        self, sentence: Sentence, allowed: list[set[int] | None] | None = None
    ) -> dict[Labelling, float]:
        log_z = self.log_z(sentence, allowed)
        return {y: math.exp(score - log_z) for y, score in self.labellings(sentence, allowed).items()}

    def k_best(
        self, sentence: Sentence, k: int, allowed: list[set[int] | None] | None = None
    ) -> list[tuple[Labelling, float]]:
        return sorted(self.distribution(sentence, allowed).items(), key=lambda item: -item[1])[:k]

    def marginals(
        self, sentence: Sentence, allowed: list[set[int] | None] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """p(label) of each token, p(label pair) of each step."""
        n, L = len(sentence.tokens), self.n_labels
        nodes, pairs = np.zeros((n, L)), np.zeros((max(n - 1, 0), L, L))
        for y, p in self.distribution(sentence, allowed).items():
            for t, j in enumerate(y):
                nodes[t, j] += p
                if t:
                    pairs[t - 1, y[t - 1], j] += p
        return nodes, pairs

    def loss(self, sentence: Sentence, y: Labelling) -> float:
        return self.log_z(sentence) - self.score(sentence, y)

    def gradient(self, sentence: Sentence, y: Labelling) -> dict[Key, float]:
        """Expected minus observed counts."""
        g: dict[Key, float] = defaultdict(float)
        for other, p in self.distribution(sentence).items():
            for key, count in self.features(sentence, other).items():
                g[key] += p * count
        for key, count in self.features(sentence, y).items():
            g[key] -= count
        return g


def by_name(layout: WeightLayout, values: np.ndarray) -> dict[Key, float]:
    """The features of a model by name."""
    numbers = layout.spread(1.0 + np.arange(layout.n_features))
    names: dict[Key, float] = {}
    found = layout.weights(numbers)
    keys = zip(found.attributes.tolist(), found.labels.tolist(), strict=True)
    for key, at in zip(keys, found.values, strict=True):
        names["state", *key] = float(values[int(at) - 1])
    square = found.transitions
    for i, k in np.argwhere(square).tolist():
        names["pair", i, k] = float(values[int(square[i, k]) - 1])
    pairs = zip(found.edge_attributes.tolist(), found.before.tolist(), found.after.tolist(), strict=True)
    for pair, at in zip(pairs, found.edge_values, strict=True):
        names["edge", *pair] = float(values[int(at) - 1])
    assert len(names) == len(values)
    return names


def sentences_of(sequences: Sequences) -> list[Sentence]:
    """Encoded sentences as lists."""
    whole = len(sequences.values) == len(sequences.attributes)
    found = []
    for s in range(sequences.n_sentences):
        tokens, edges = [], []
        for t in range(int(sequences.sentence_ptr[s]), int(sequences.sentence_ptr[s + 1])):
            span = slice(int(sequences.attribute_ptr[t]), int(sequences.attribute_ptr[t + 1]))
            names = sequences.attributes[span].tolist()
            values = sequences.values[span].tolist() if whole else [1.0] * len(names)
            tokens.append(list(zip(names, values, strict=True)))
            edges.append(
                sequences.edge_attributes[sequences.edge_ptr[t] : sequences.edge_ptr[t + 1]].tolist()
            )
        found.append(Sentence(tokens, edges))
    return found


def chain_of(layout: WeightLayout, w: np.ndarray) -> Chain:
    """The chain a layout and a weight vector stand for."""
    L = layout.n_labels
    permitted = layout.allowed_transitions
    return Chain(
        L,
        by_name(layout, w),
        {(int(i), int(j)) for i, j in np.argwhere(~permitted)},
        bool(layout.has_transitions),
    )
