"""Tiny random corpora that between them have everything a chain can have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from epigram.chain.layout import WeightLayout, lay_out
from epigram.chain.seen_pairs import SeenPairs
from epigram.features.sequences import Sequences
from reference.chain import Labelling, Sentence, sentences_of


@dataclass(frozen=True)
class Case:
    """What a corpus has. Ten labels are more than a vector holds, and give rows of both kinds."""

    name: str
    n_labels: int = 3
    real: bool = False
    edges: bool = False
    weighted: bool = False
    constrained: bool = False
    pairs: str = "seen"
    chained: bool = True
    bare: bool = True

    def __str__(self) -> str:
        return self.name


CASES = [
    Case("plain"),
    Case("all pairs", pairs="all"),
    Case("real values", real=True),
    Case("edges", edges=True),
    Case("edges without bare transitions", edges=True, bare=False),
    Case("all edges", edges=True, pairs="all"),
    Case("weighted sentences", weighted=True),
    Case("constrained", constrained=True),
    Case("constrained edges", constrained=True, edges=True),
    Case("maxent", chained=False, real=True),
    Case("sparse rows", n_labels=10),
    Case("sparse rows with everything", n_labels=10, real=True, edges=True, weighted=True, constrained=True),
    Case("one label", n_labels=1),
]
WIDE = [  # rows of labels of three vectors of eight, of four, and of more than one block of four
    Case("24 wide", n_labels=20, edges=True),
    Case("24 wide, all pairs", n_labels=20, pairs="all"),
    Case("32 wide", n_labels=30, pairs="all", constrained=True),
    Case("40 wide", n_labels=36, pairs="all", real=True),
    Case("72 wide", n_labels=66, pairs="all", weighted=True),
]
N_ATTRIBUTES = 7


@dataclass
class Corpus:
    """Sentences, labels and the layout of a case."""

    sequences: Sequences
    labels: np.ndarray
    layout: WeightLayout
    weights: np.ndarray | None

    def samples(self) -> list[tuple[Sentence, Labelling, float]]:
        weights = np.ones(self.sequences.n_sentences) if self.weights is None else self.weights
        return list(zip(sentences_of(self.sequences), self.labellings(), weights.tolist(), strict=True))

    def labellings(self) -> Iterator[Labelling]:
        ptr = self.sequences.sentence_ptr
        for s in range(len(ptr) - 1):
            yield tuple(self.labels[ptr[s] : ptr[s + 1]].tolist())

    def random_weights(self, seed: int) -> np.ndarray:
        w: np.ndarray = np.random.default_rng(seed).normal(size=self.layout.n_features)
        return w


def corpus(case: Case, seed: int = 0) -> Corpus:
    """Six sentences: one empty, one of a single token, tokens with no attributes or with one twice."""
    rng = np.random.default_rng(seed)
    lengths = [2, 0, 1, 3, 2, 2] if case.n_labels > 3 else [3, 0, 1, 4, 2, 3]
    if case.n_labels > 10:
        lengths = [2, 0, 1, 2, 1, 1]
    n = sum(lengths)
    allowed = None
    if case.constrained:
        allowed = rng.random((case.n_labels, case.n_labels)) < 0.6
        allowed[:, 0] = allowed[0] = True
    sentences: list[list[int]] = []
    for length in lengths:
        y: list[int] = []
        for _ in range(length):
            follow = np.arange(case.n_labels) if not y or allowed is None else np.flatnonzero(allowed[y[-1]])
            y.append(int(rng.choice(follow)))
        sentences.append(y)
    labels = np.array([j for y in sentences for j in y], dtype=np.int32)
    per_token = [rng.integers(0, N_ATTRIBUTES - 2, size=rng.integers(0, 5)) for _ in range(n)]
    per_token[0] = np.array([0, 0, 1])
    per_token[-1] = np.array([N_ATTRIBUTES - 3])
    attributes = np.concatenate(per_token)
    sentence_ptr = np.concatenate([[0], np.cumsum(lengths)])
    edge_ptr, edge_attributes = None, None
    if case.edges:
        first = set(sentence_ptr[:-1].tolist())
        per_step = [
            []
            if t in first
            else rng.integers(N_ATTRIBUTES - 2, N_ATTRIBUTES, size=rng.integers(0, 3)).tolist()
            for t in range(n)
        ]
        edge_ptr = np.concatenate([[0], np.cumsum([len(step) for step in per_step])])
        edge_attributes = [a for step in per_step for a in step]
    sequences = Sequences.of(
        sentence_ptr,
        np.concatenate([[0], np.cumsum([len(token) for token in per_token])]),
        attributes,
        rng.normal(size=len(attributes)) if case.real else None,
        edge_ptr,
        edge_attributes,
    )
    seen = SeenPairs.of(sequences, labels, case.n_labels, N_ATTRIBUTES)
    layout = lay_out(seen, case.pairs, case.chained, allowed, case.bare)
    weights = rng.uniform(0.2, 2.0, size=len(lengths)) if case.weighted else None
    return Corpus(sequences, labels, layout, weights)
