"""The loss of the weights of document features over held-out text, the model beside them being fixed.

    P(u | h, past)  =  P_model(u | h) exp( (v + v_c) . phi(u, past) )  /  Z        u a class, or a word of one class

v are weights that all candidates share, v_c those of a class. With the model's own weights fixed this is a log-linear
model of few weights: convex, and exactly normalised, as the candidates are a few hundred.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from epigram.lm.document.features import Entries
from epigram.lm.factored.loss import FactorExamples
from epigram.lm.factored.scorer import Factors, FactorScorer
from epigram.protocols import Floats, Ints


@dataclass(frozen=True)
class PastWeights:
    """Weights of the features of one part: ``shared`` by all, and a row of ``own`` for each class."""

    shared: Floats = field(repr=False)
    own: Floats = field(repr=False)

    @classmethod
    def of(cls, v: Floats, n_features: int) -> PastWeights:
        """From one vector, as solvers have it."""
        rows = v.reshape(-1, n_features)
        return cls(rows[0], rows[1:])

    def factors(self, entries: Entries) -> Factors:
        """How much likelier the features make their candidates."""
        scores = np.einsum("ek,ek->e", entries.phi, self.shared + self.own[entries.own])
        return Factors(entries.row_ptr, entries.candidate, np.exp(scores))


class PastLoss:
    """Sum of -log P over positions; a :class:`~epigram.protocols.BatchLoss`."""

    def __init__(
        self, scorer: FactorScorer, examples: FactorExamples, entries: Entries, row_of: Ints, n_classes: int
    ) -> None:
        self.scorer, self.examples, self.entries, self.row_of = scorer, examples, entries, row_of
        self.n_features = entries.phi.shape[1]
        self.n_weights, self.n_samples = (1 + n_classes) * self.n_features, examples.candidate.size
        self._n_classes = n_classes
        self._seen = self._count()

    def _count(self) -> Floats:
        """How often the candidate of each entry was chosen."""
        entries, widest = self.entries, int(self.scorer.n_candidates.max())
        row = np.repeat(np.arange(entries.row_ptr.size - 1), np.diff(entries.row_ptr))
        keys = row * widest + entries.candidate
        order = np.argsort(keys)
        wanted = self.row_of.astype(np.int64) * widest + self.examples.candidate
        at = np.minimum(np.searchsorted(keys, wanted, sorter=order), max(keys.size - 1, 0))
        found = keys[order[at]] == wanted if keys.size else np.zeros(wanted.size, bool)
        return np.bincount(order[at[found]], minlength=keys.size).astype(np.float64)

    def value_and_gradient(self, w: Floats, out: Floats) -> float:
        """Loss and gradient: features times (expected count - count)."""
        entries, expected = self.entries, np.zeros(self.entries.candidate.size)
        factors = PastWeights.of(w, self.n_features).factors(entries)
        logps = self.scorer.log_probabilities(self.examples, factors, self.row_of, expected)
        excess = (expected - self._seen)[:, None] * entries.phi
        rows = out.reshape(-1, self.n_features)
        rows[0] = excess.sum(axis=0)
        for k in range(self.n_features):
            rows[1:, k] = np.bincount(entries.own, excess[:, k], self._n_classes)
        return -float(logps.sum())
