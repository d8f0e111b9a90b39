"""The test sentences as a judge: character error rates, and whether two systems differ by more than chance."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from epigram.ime.evaluate import normalise, split_sentence
from epigram.protocols import Floats
from epigram.rerank import compare
from epigram.rerank.nbest import edit_distance

Sentences = list[list[str]]
Difference = dict[str, float]
"""``points`` of error rate between two systems, their standard error ``se``, and p-values of two tests."""


class Judge:
    """References of the test sentences."""

    def __init__(self, sentences: Sentences) -> None:
        pairs = [split_sentence(tokens) for tokens in sentences]
        self.readings = [reading for reading, _ in pairs]
        self.surfaces = [surface for _, surface in pairs]
        self.characters = sum(map(len, self.surfaces))

    def rate(self, errors: Floats) -> float:
        """Character error rate in percent of errors a sentence."""
        return 100.0 * float(errors.sum()) / self.characters

    def errors(self, texts: Sequence[str]) -> Floats:
        """Character errors of each sentence."""
        return np.array([edit_distance(*pair) for pair in zip(texts, self.surfaces, strict=True)], np.float64)

    def normalised(self, texts: Sequence[str]) -> float:
        """The rate with habits of writing merged (epigram.ime.evaluate)."""
        wanted = [normalise(surface) for surface in self.surfaces]
        errors = sum(edit_distance(normalise(text), want) for text, want in zip(texts, wanted, strict=True))
        return 100.0 * errors / max(sum(map(len, wanted)), 1)

    def difference(self, first: Floats, second: Floats) -> Difference:
        """How many points the second system's rate is below the first's, and by how much chance alone moves that.

        Examples
        --------
        >>> found = Judge([["山", "川"]] * 4).difference(np.array([1.0, 2.0, 1.0, 2.0]), np.array([1.0, 0.0, 1.0, 0.0]))
        >>> found["points"], round(found["se"], 2), round(found["matched_pairs"], 3)
        (50.0, 28.87, 0.083)
        """
        gap, n = first - second, len(first)
        spread = float(gap.std(ddof=1)) if n > 1 else 0.0
        tests = compare(first, second)
        return {
            "points": self.rate(gap),
            "se": 100.0 * math.sqrt(n) * spread / self.characters,
            "matched_pairs": tests.p_matched_pairs,
            "bootstrap": tests.p_bootstrap,
        }
