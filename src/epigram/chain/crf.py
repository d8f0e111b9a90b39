"""CRFEstimator: base class of the conditional random fields on chains, trees and segments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from epigram._core.arrays import split_at
from epigram.chain.constraints import allowed_ends, allowed_transitions, check_permitted
from epigram.chain.decoding import NoLabelling
from epigram.chain.estimator import Names, SentenceEstimator
from epigram.chain.labels import Labels
from epigram.chain.model import Allowed
from epigram.chain.partial_labels import check_possible
from epigram.chain.problem import Samples, Shape, class_weights, sentence_weights
from epigram.errors import InputError
from epigram.estimator import checked_weights, product
from epigram.protocols import Floats

if TYPE_CHECKING:
    from epigram.chain.explain import LabelExplanation


class CRFEstimator(SentenceEstimator):
    """Labels sentences by the best labelling of a log-linear model of whole labellings."""

    pairs = "seen"
    constrain: Any = None
    order = 1

    def _samples(self, X: Any, y: Labels, names: Names, sample_weight: npt.ArrayLike | None) -> Samples:
        read = self._read(X, y, names)
        template, allowed, ends = read.template, None, None
        if self.constrain is not None:
            labels = read.classes.tolist()
            allowed, ends = allowed_transitions(self.constrain, labels), allowed_ends(self.constrain, labels)
            check_permitted(read.sequences, read.labels, read.classes, allowed, ends)
            if allowed is not None and read.sets:
                check_possible(read.sequences, read.labels, read.sets, allowed, ends)
        bare, chained = (True, True) if template is None else (template.transitions, template.has_transitions)
        if self.order not in (1, 2) or (self.order == 2 and not chained):
            raise ValueError(f"order must be 1, or 2 for a template with a B line, not {self.order!r}.")
        if self.order == 2 and read.sets:
            raise InputError("labels that are known in part are for order=1")
        shape = Shape(self.pairs, chained, allowed, bare, self.order)
        weights = checked_weights(sample_weight, read.sequences.n_sentences)
        by_class = class_weights(self.class_weight, read.labels, read.classes)
        if by_class is not None:
            weights = product(weights, sentence_weights(by_class, read.sequences))
        return replace(read, shape=shape, weights=weights, ends=ends)

    def predict(self, X: Any, allowed: Allowed | None = None) -> list[list[Any]]:
        """The best labels of each sentence, of the type that ``fit`` was given.

        ``allowed`` may give, for each sentence, for each token, the labels to choose from (None: all).
        """
        sequences = self._encode(X)
        return self.named_labels(self.model_.decode(sequences, allowed, self.threads), sequences)

    def predict_marginals(self, X: Any, allowed: Allowed | None = None) -> list[list[dict[str, float]]]:
        """p(label) of each token, as dicts; ``allowed`` as for :meth:`predict`."""
        sequences, names = self._encode(X), self.classes_.tolist()
        nodes, _, _ = self.model_.marginals(sequences, allowed)
        flat = [dict(zip(names, row, strict=True)) for row in nodes.tolist()]
        return split_at(flat, sequences.word_ptr)

    def _pair_marginals(self, X: Any, allowed: Allowed | None, first: int) -> list[tuple[Floats, Floats]]:
        """Return p(label) and, from token ``first`` on, p(label before, label) of each sentence."""
        sequences = self._encode(X)
        nodes, edges, _ = self.model_.marginals(sequences, allowed, with_edges=True)
        return [(nodes[a:b], edges[a + first : b]) for a, b in pairwise(sequences.sentence_ptr.tolist())]

    def predict_nbest(
        self, X: Any, k: int = 5, allowed: Allowed | None = None
    ) -> list[list[tuple[list[str], float]]]:
        """Return at most k best labellings of each sentence with their probabilities."""
        self.fitted_model()
        names = self.classes_.tolist()
        return [
            [([names[j] for j in labels.tolist()], p) for labels, p in sentence]
            for sentence in self.model_.n_best(self._encode(X), k, allowed)
        ]

    def confidence(self, X: Any, spans: Sequence[Sequence[tuple[int, Sequence[str]]]]) -> list[list[float]]:
        """Probability that a run of tokens has exactly these labels.

        ``spans`` gives for each sentence pairs (first token, labels), for instance ``(2, ["B-NP", "I-NP"])``.
        """
        sequences = self._encode(X)
        if len(spans) != sequences.n_sentences:
            raise InputError(f"{len(spans)} lists of spans for {sequences.n_sentences} sentences")
        result = []
        for s, wanted in enumerate(spans):
            one = sequences.take([s])
            _, _, whole = self.model_.marginals(one)
            found = []
            for first, labels in wanted:
                fixed: list[Iterable[str] | None] = [None] * int(one.word_lengths.sum())
                if first < 0 or first + len(labels) > len(fixed):
                    raise InputError(f"span {first, labels!r} of sentence {s} leaves its {len(fixed)} tokens")
                fixed[first : first + len(labels)] = [[label] for label in labels]
                try:
                    _, _, part = self.model_.marginals(one, [fixed])
                except NoLabelling:
                    found.append(0.0)
                else:
                    found.append(min(1.0, float(np.exp(part[0] - whole[0]))))
            result.append(found)
        return result

    def explain(self, sentence: Any, token: int) -> LabelExplanation:
        """Explain a token's label by the weights for it against the runner-up.

        Examples
        --------
        >>> from epigram import CRFTagger
        >>> tagger = CRFTagger(l1=0.01).fit([[["w=a"], ["w=b"]]], [["X", "Y"]])
        >>> why = tagger.explain([["w=a"], ["w=b"]], 0)
        >>> why.label, why.other, sorted({term.feature for term in why.terms if term.token == 0})
        ('X', 'Y', ['w=a'])
        """
        from epigram.chain.explain import explain

        return self.restore_labels(explain(self.fitted_model(), self._encode([sentence]), token))
