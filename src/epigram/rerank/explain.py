"""Feature contributions to the lead of a winner over the base model's choice.

The terms are lambda_d (f_d(winner) - f_d(base choice))."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from epigram.errors import InputError
from epigram.files import as_table
from epigram.protocols import Floats
from epigram.rerank.features import FeatureSpace
from epigram.rerank.metrics import base_choice
from epigram.rerank.nbest import NBest

SHOWN = 12


@dataclass(frozen=True, slots=True)
class Term:
    """Contribution of one feature: weight times value difference."""

    feature: str
    weight: float
    difference: float

    @property
    def lift(self) -> float:
        """Contribution to the lead of the winner."""
        return self.weight * self.difference


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """Winner and base choice (indices in the list), and the terms of their difference.

    Terms are sorted, strongest first; the representation is a table of the strongest.
    """

    id: str
    winner: int
    winner_text: str
    base: int
    base_text: str
    lead: float
    terms: list[Term]

    def __repr__(self) -> str:
        head = f"list {self.id}: {self.winner_text!r}, {self.lead:+.3f} over {self.base_text!r}"
        rows: list[tuple[object, ...]] = [(term.feature, term.lift) for term in self.terms[:SHOWN]]
        if rest := self.terms[SHOWN:]:
            rows.append((f"({len(rest)} more)", float(sum(term.lift for term in rest))))
        return f"{head}\n{as_table(('feature', 'lift'), rows)}"


def explain(
    lists: NBest, index: int, space: FeatureSpace, weights: Floats, base_weight: float
) -> Explanation:
    """Compare the winner of one list with the base model's choice; the terms sum to ``lead``."""
    if not -len(lists) <= index < len(lists):
        raise InputError(f"list {index} does not exist; there are lists 0 to {len(lists) - 1}")
    one = lists.take([index % len(lists)])
    scores = space.score(one, weights, base_weight)
    winner, base = int(scores.argmax()), int(base_choice(one)[0])
    ptr, features, values = space.extract(one)
    difference = np.zeros(space.n_weights)
    for candidate, sign in ((winner, 1.0), (base, -1.0)):
        span = slice(ptr[candidate], ptr[candidate + 1])
        np.add.at(difference, features[span], sign * values[span])
    used = np.flatnonzero((difference != 0.0) & (weights != 0.0))
    terms = [Term(space.name(int(k)), float(weights[k]), float(difference[k])) for k in used]
    if winner != base:
        terms.append(Term("base score", base_weight, float(one.scores[winner] - one.scores[base])))
    terms.sort(key=lambda term: -abs(term.lift))
    lead = float(scores[winner] - scores[base])
    return Explanation(one.ids[0], winner, one.texts[winner], base, one.texts[base], lead, terms)
