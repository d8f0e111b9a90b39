"""Reranks k-best labellings by log p and features of whole labellings (Collins 2000).

    score(labelling) = lambda_0 log p(labelling | sentence)  +  sum over its features of weight

Weights come from :mod:`epigram.rerank`, features from :mod:`epigram.tagging.stacked.labelling_features`. Ties keep the
tagger's order, so without weights the tagger's best labelling wins.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram.chain.explain import LabelExplanation, LabelTerm, difference
from epigram.chain.model import ChainModel
from epigram.errors import InputError
from epigram.features.columns import Columns
from epigram.features.sequences import Sequences
from epigram.protocols import Floats, Ints
from epigram.storage import ModelFile, pack_strings, unpack_strings
from epigram.storage.schema import Array, Maybe, Schema, damaged, strings
from epigram.tagging.stacked.candidates import Labellings, Scheme
from epigram.tagging.stacked.labelling_features import features_of

MOST_LABELLINGS = 10_000
RERANKER = "second_look"
"""The field of the header that holds a reranker."""


@dataclass(frozen=True, slots=True)
class LabellingReranker:
    """The weights of features, and what they choose from.

    Attributes
    ----------
    weights : by feature; those of no weight are left out.
    base_weight : lambda_0, the weight of log p.
    k : labellings looked at a sentence.
    reach : sentences before and after one that its words and names may agree with.
    """

    weights: dict[str, float] = field(repr=False)
    base_weight: float
    k: int
    reach: int = 0

    def scores(self, found: Labellings, columns: Columns, scheme: Scheme) -> Floats:
        """The score of every candidate."""
        out = self.base_weight * found.scores
        get = self.weights.get
        for distinguishing in features_of(found, columns, scheme, self.reach):
            of_part = np.array([sum(get(name, 0.0) for name in names) for names in distinguishing.names])
            if len(of_part):
                parts = distinguishing.parts
                out += np.bincount(parts.owner, of_part[parts.number], minlength=found.n_candidates)
        return out

    def ranked(
        self, model: ChainModel, sequences: Sequences, columns: Columns, k: int | None = None
    ) -> list[list[tuple[Ints, float]]]:
        """Return each sentence's labellings in the new order with the tagger's probabilities.

        ``k`` asks for so many; none beyond those that were looked at is put before them.
        """
        wanted = self.k if k is None else k
        found = Labellings.of(model.scored_n_best(sequences, max(wanted, self.k)))
        place = np.arange(found.n_candidates) - found.list_ptr[found.list_of]
        looked_at = place < self.k
        scores = np.full(found.n_candidates, -np.inf)
        scores[looked_at] = self.scores(found.first(self.k), columns, Scheme(model.labels))
        order = np.lexsort((place, -scores, found.list_of))
        chances = np.exp(found.scores)
        result: list[list[tuple[Ints, float]]] = []
        for a, b in zip(found.list_ptr[:-1].tolist(), found.list_ptr[1:].tolist(), strict=True):
            best = order[a : min(b, a + wanted)].tolist()
            result.append([(found.labelling(c), float(chances[c])) for c in best if len(found.labelling(c))])
        return result

    def decode(self, model: ChainModel, sequences: Sequences, columns: Columns) -> Ints:
        """The label of every token."""
        found = Labellings.of(model.scored_n_best(sequences, self.k))
        return found.chosen(found.best(self.scores(found, columns, Scheme(model.labels))))

    def explain(
        self, model: ChainModel, sequences: Sequences, columns: Columns, sentence: int, token: int
    ) -> LabelExplanation:
        """The winner against the best labelling looked at that has another label at ``token``.

        Terms are weights of the tagger times lambda_0, and those of the features of whole labellings.
        """
        n = int(sequences.word_lengths[sentence])
        if not 0 <= token < n:
            raise InputError(f"token {token} does not exist; the sentence has tokens 0 to {n - 1}")
        near = np.arange(max(sentence - self.reach, 0), min(sentence + self.reach + 1, columns.n_sentences))
        here = int(np.searchsorted(near, sentence))
        found = Labellings.of(model.scored_n_best(sequences.take(near), self.k))
        scheme, some = Scheme(model.labels), columns.take(near)
        scores = self.scores(found, some, scheme)
        mine = range(int(found.list_ptr[here]), int(found.list_ptr[here + 1]))
        best = max(mine, key=lambda c: (scores[c], -c))
        labels = found.labelling(best)
        others = [c for c in mine if found.labelling(c)[token] != labels[token]]
        names = tuple(model.labels[j] for j in labels.tolist())
        if not others:
            return LabelExplanation(token, names[token], None, names, (), 0.0, [])
        other = max(others, key=lambda c: (scores[c], -c))
        rival = found.labelling(other)
        terms = [
            LabelTerm(term.token, term.feature, term.label, self.base_weight * term.lift)
            for term in difference(model, sequences.take([sentence]), labels, rival)
        ]
        lifts: Counter[tuple[int, str]] = Counter()
        for distinguishing in features_of(found, some, scheme, self.reach):
            for candidate, sign in ((best, 1), (other, -1)):
                for part in distinguishing.parts.number[distinguishing.parts.owner == candidate].tolist():
                    for name in distinguishing.names[part]:
                        lifts[int(distinguishing.parts.what[part, 1]), name] += sign
        for (place, name), times in lifts.items():
            if times and name in self.weights:
                kind, _, feature = name.partition(" ")
                terms.append(LabelTerm(place, feature, kind, times * self.weights[name]))
        terms.sort(key=lambda term: -abs(term.lift))
        rivals = tuple(model.labels[j] for j in rival.tolist())
        lead = float(sum(term.lift for term in terms))
        return LabelExplanation(token, names[token], rivals[token], names, rivals, lead, terms)

    def pack(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return the reranker as header fields and arrays of a model file."""
        names, lengths = pack_strings(list(self.weights))
        header = {"base_weight": self.base_weight, "k": self.k, "reach": self.reach}
        values = np.array(list(self.weights.values()), dtype=np.float32)
        return header, {"look.bytes": names, "look.lengths": lengths, "look.weights": values}


SCHEMA = Schema(
    {
        RERANKER: {
            "base_weight": float,
            "k": int,
            "reach": int,
            "settings": Maybe(dict),
            "fit": Maybe(dict),
        }
    },
    {**strings("look", "look"), "look.weights": Array(np.float64, ("look",), most=1e8)},
)


def reranker_of(file: ModelFile) -> LabellingReranker | None:
    """Read the reranker of a tagger's file; None if it has none."""
    if RERANKER not in file.header:
        return None
    found = SCHEMA.read(file)
    header = file.header[RERANKER]
    if not (1 <= header["k"] <= MOST_LABELLINGS and 0 <= header["reach"] < 1 << 31):
        damaged(f"a reranker of {header['k']} labellings with reach {header['reach']}")
    if not np.isfinite(header["base_weight"]):
        damaged(f"weight {header['base_weight']} of the tagger in its reranker")
    names = unpack_strings(found["look.bytes"], found["look.lengths"])
    weights = dict(zip(names, found["look.weights"].tolist(), strict=True))
    return LabellingReranker(weights, float(header["base_weight"]), header["k"], header["reach"])
