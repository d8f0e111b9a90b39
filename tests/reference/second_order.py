"""Chains of second order the slow way: the chain's features, and one for each label triple."""

from __future__ import annotations

from collections.abc import Sequence

from epigram.chain.model import ChainModel
from reference.chain import Chain, Key, Labelling, Sentence


class TripleChain(Chain):
    """Beside the chain's weights, ("triple", h, i, j) for labels that follow each other."""

    def features(self, sentence: Sentence, y: Labelling) -> dict[Key, float]:
        counts = super().features(sentence, y)
        for triple in zip(y, y[1:], y[2:], strict=False):
            key: Key = ("triple", *triple)
            if key in self.weights:
                counts[key] = counts.get(key, 0.0) + 1.0
        return counts


def chain_of(model: ChainModel) -> TripleChain:
    """The weights of a trained model by name."""
    found = model.weights
    weights: dict[Key, float] = {
        ("state", int(a), int(j)): float(w)
        for a, j, w in zip(found.attributes, found.labels, found.values, strict=True)
    }
    L = len(model.labels)
    weights |= {("pair", i, j): float(found.transitions[i, j]) for i in range(L) for j in range(L)}
    edges = zip(found.edge_attributes, found.before, found.after, found.edge_values, strict=True)
    weights |= {("edge", int(a), int(i), int(j)): float(w) for a, i, j, w in edges}
    triples = zip(found.triples.tolist(), found.triple_values.tolist(), strict=True)
    weights |= {("triple", *triple): w for triple, w in triples}
    forbidden = {(i, j) for i in range(L) for j in range(L) if not model.layout.allowed_transitions[i, j]}
    return TripleChain(L, weights, forbidden)


def sentences_of(model: ChainModel, X: Sequence[Sequence[Sequence[str]]]) -> list[Sentence]:
    """Sentences in the model's numbers."""
    s = model.encode(X)
    found = []
    for first, last in zip(s.sentence_ptr[:-1].tolist(), s.sentence_ptr[1:].tolist(), strict=True):
        tokens = [
            [(int(a), 1.0) for a in s.attributes[s.attribute_ptr[t] : s.attribute_ptr[t + 1]]]
            for t in range(first, last)
        ]
        edges = [
            [int(a) for a in s.edge_attributes[s.edge_ptr[t] : s.edge_ptr[t + 1]]] for t in range(first, last)
        ]
        found.append(Sentence(tokens, edges))
    return found
