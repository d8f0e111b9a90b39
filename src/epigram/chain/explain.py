"""Why a token got its label: the weights that speak for it against the runner-up.

The best labelling of the sentence is compared with the best one that has another label at this token. Every
weight that counts in only one of the two, or more often in one, is a term; the terms sum to the difference of scores.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np

from epigram.chain.decoding import NoLabelling, no_labelling
from epigram.chain.model import ChainModel
from epigram.errors import InputError
from epigram.features.segments import segments_of
from epigram.features.sequences import Sequences
from epigram.files import as_table
from epigram.protocols import Ints

SHOWN = 12


@dataclass(frozen=True, slots=True)
class LabelTerm:
    """One weight's contribution to the difference, with its token and label or transition."""

    token: int
    feature: str
    label: str
    lift: float


@dataclass(frozen=True, slots=True, repr=False)
class LabelExplanation:
    """A token's label and the runner-up, both labellings, and the terms, strongest first.

    ``other`` is None where the model permits no other label. It prints as a table of its strongest terms.
    """

    token: int
    label: Any
    other: Any
    labels: tuple[Any, ...]
    other_labels: tuple[Any, ...]
    lead: float
    terms: list[LabelTerm]

    def __repr__(self) -> str:
        head = f"token {self.token}: {self.label!r}, {self.lead:+.3f} over {self.other!r}"
        rows: list[tuple[object, ...]] = [(t.token, t.feature, t.label, t.lift) for t in self.terms[:SHOWN]]
        if rest := self.terms[SHOWN:]:
            rows.append(("", f"({len(rest)} more)", "", float(sum(term.lift for term in rest))))
        return f"{head}\n{as_table(('token', 'feature', 'label', 'lift'), rows)}"


def explain(model: ChainModel, sentence: Sequences, token: int) -> LabelExplanation:
    """Compare the best labelling of a sentence with the best that differs at ``token``."""
    n = int(sentence.word_lengths.sum())
    if not 0 <= token < n:
        raise InputError(f"token {token} does not exist; the sentence has tokens 0 to {n - 1}")
    best = model.decode(sentence)
    chosen = model.labels[best[token]]
    free = [name for name in model.labels if name != chosen]
    names = tuple(model.labels[k] for k in best.tolist())
    try:
        if not free:
            raise no_labelling(0)
        rival = model.decode(sentence, [[free if t == token else None for t in range(n)]])
    except NoLabelling:
        return LabelExplanation(token, chosen, None, names, (), 0.0, [])
    terms = difference(model, sentence, best, rival)
    other = tuple(model.labels[k] for k in rival.tolist())
    lead = float(sum(term.lift for term in terms))
    return LabelExplanation(token, chosen, other[token], names, other, lead, terms)


def difference(model: ChainModel, sentence: Sequences, best: Ints, rival: Ints) -> list[LabelTerm]:
    """Return each weight times its count in ``best`` minus that in ``rival``, strongest first."""
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
        rows = [(t, t, label) for t, label in enumerate(path)]
        for row, t, label in [*_units(model, sentence, path), *rows]:
            for k in range(int(sentence.attribute_ptr[row]), int(sentence.attribute_ptr[row + 1])):
                a = int(sentence.attributes[k])
                value = 1.0 if sentence.unit_values else float(sentence.values[k])
                lifts[t, feature[a], model.labels[label]] += sign * value * state.get((a, label), 0.0)
        for t, label in enumerate(path):
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
    terms = [LabelTerm(*place, lift) for place, lift in lifts.items() if lift != 0.0]
    return sorted(terms, key=lambda term: -abs(term.lift))


def _units(model: ChainModel, sentence: Sequences, path: list[int]) -> list[tuple[int, int, int]]:
    """Return the segment rows of a labelling, each with its first token and label."""
    rows, n = sentence.segments, len(path)
    if rows is None:
        return []
    found = segments_of(np.array(path, dtype=np.int32), model.labels, np.array([0, n]))
    mine = dict(zip(found.begin.tolist(), found.length.tolist(), strict=True))
    places = zip(rows.begin[n:].tolist(), rows.length[n:].tolist(), strict=True)
    return [
        (n + k, begin, path[begin]) for k, (begin, length) in enumerate(places) if mine.get(begin) == length
    ]
