"""Why a token got its label: the weights that speak for it against the runner-up.

The best labelling of the sentence is compared with the best one that has another label at this token. Every
weight that counts in only one of the two, or more often in one, is a term; the terms sum to the difference of scores.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from epigram.errors import InputError
from epigram.protocols import Ints
from epigram.tagging.corpus import Sequences
from epigram.tagging.model import ChainModel
from epigram.tagging.segment_decoding import NoLabelling
from epigram.tagging.segment_features import segments_of


@dataclass(frozen=True, slots=True)
class Term:
    """One weight's part in the difference: where it stands, and for which label (of which transition) it speaks."""

    token: int
    feature: str
    label: str
    lift: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """A token's label and the runner-up, the labellings they stand in, and the terms, strongest first.

    ``other`` is None where the model permits no other label.
    """

    token: int
    label: str
    other: str | None
    labels: tuple[str, ...]
    other_labels: tuple[str, ...]
    lead: float
    terms: list[Term]


def explain(model: ChainModel, sentence: Sequences, token: int) -> Explanation:
    """Compare the best labelling of one sentence with the best that has another label at ``token``."""
    n = int(sentence.word_lengths.sum())
    if not 0 <= token < n:
        raise InputError(f"token {token} does not exist; the sentence has tokens 0 to {n - 1}")
    best = model.decode(sentence)
    chosen = model.labels[best[token]]
    free = [name for name in model.labels if name != chosen]
    names = tuple(model.labels[k] for k in best.tolist())
    try:
        if not free:
            raise NoLabelling("one label only")
        rival = model.decode(sentence, [[free if t == token else None for t in range(n)]])
    except NoLabelling:
        return Explanation(token, chosen, None, names, (), 0.0, [])
    terms = difference(model, sentence, best, rival)
    other = tuple(model.labels[k] for k in rival.tolist())
    lead = float(sum(term.lift for term in terms))
    return Explanation(token, chosen, other[token], names, other, lead, terms)


def difference(model: ChainModel, sentence: Sequences, best: Ints, rival: Ints) -> list[Term]:
    """Every weight of one sentence times how much more it counts in ``best`` than in ``rival``, strongest first."""
    lifts: dict[tuple[int, str, str], float] = defaultdict(float)
    wanted = np.unique(np.concatenate((sentence.attributes, sentence.edge_attributes)))
    found = model.weights
    mine = np.flatnonzero(np.isin(found.attributes, wanted))
    state = {(int(found.attributes[k]), int(found.labels[k])): float(found.values[k]) for k in mine}
    mine = np.flatnonzero(np.isin(found.edge_attributes, wanted))
    edge = {
        (int(found.edge_attributes[k]), int(found.before[k]), int(found.after[k])): float(
            found.edge_values[k]
        )
        for k in mine
    }
    feature = dict(zip(wanted.tolist(), model.table.names(wanted.tolist()), strict=True))
    triple = dict(zip(map(tuple, found.triples.tolist()), found.triple_values.tolist(), strict=True))
    before = sentence.tokens_before().tolist()
    for path, sign in ((best.tolist(), 1.0), (rival.tolist(), -1.0)):
        for row, t, label in _units(model, sentence, path):
            for k in range(int(sentence.attribute_ptr[row]), int(sentence.attribute_ptr[row + 1])):
                a = int(sentence.attributes[k])
                lifts[t, feature[a], model.labels[label]] += sign * state.get((a, label), 0.0)
        for t, label in enumerate(path):
            for k in range(int(sentence.attribute_ptr[t]), int(sentence.attribute_ptr[t + 1])):
                a = int(sentence.attributes[k])
                value = 1.0 if sentence.unit_values else float(sentence.values[k])
                lifts[t, feature[a], model.labels[label]] += sign * value * state.get((a, label), 0.0)
            if before[t] < 0:
                continue
            from_label = path[before[t]]
            pair = f"{model.labels[from_label]} → {model.labels[label]}"
            lifts[t, "transition", pair] += sign * float(found.transitions[from_label, label])
            if triple and before[before[t]] >= 0:
                earlier = path[before[before[t]]]
                value = triple.get((earlier, from_label, label), 0.0)
                lifts[t, "triple", f"{model.labels[earlier]} → {pair}"] += sign * value
            for k in range(int(sentence.edge_ptr[t]), int(sentence.edge_ptr[t + 1])):
                a = int(sentence.edge_attributes[k])
                lifts[t, feature[a], pair] += sign * edge.get((a, from_label, label), 0.0)
    terms = [Term(*place, lift) for place, lift in lifts.items() if lift != 0.0]
    return sorted(terms, key=lambda term: -abs(term.lift))


def _units(model: ChainModel, sentence: Sequences, path: list[int]) -> list[tuple[int, int, int]]:
    """The rows of the segments that a labelling has, each with its first token and that token's label."""
    rows, n = sentence.segments, len(path)
    if rows is None:
        return []
    found = segments_of(np.array(path, dtype=np.int32), model.labels, np.array([0, n]))
    mine = dict(zip(found.begin.tolist(), found.length.tolist(), strict=True))
    places = zip(rows.begin[n:].tolist(), rows.length[n:].tolist(), strict=True)
    return [
        (n + k, begin, path[begin]) for k, (begin, length) in enumerate(places) if mine.get(begin) == length
    ]
