"""Samples that partial_fit keeps and replays, so that earlier ones are not forgotten."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from epigram._core.arrays import gather, offsets
from epigram.features.sequences import Sequences
from epigram.protocols import Floats, Ints, Offsets

TOKENS_KEPT = 400_000
PARTS_KEPT = 64  # then they are concatenated


class KeptSentences(NamedTuple):
    """Encoded sentences, the label of every token, and a weight per sentence; None for ones."""

    sequences: Sequences
    labels: Ints
    weights: Floats | None

    def take(self, sentences: Offsets) -> KeptSentences:
        """The named sentences."""
        _, tokens = gather(self.sequences.sentence_ptr, sentences)
        weights = None if self.weights is None else self.weights[sentences]
        return KeptSentences(self.sequences.take(sentences), self.labels[tokens], weights)


def joined(parts: list[KeptSentences]) -> KeptSentences:
    """All parts, one after the other."""
    weights = None
    if any(part.weights is not None for part in parts):
        ones = (
            np.ones(part.sequences.n_sentences) if part.weights is None else part.weights for part in parts
        )
        weights = np.concatenate(list(ones))
    sequences = Sequences.joined([part.sequences for part in parts])
    return KeptSentences(sequences, np.concatenate([part.labels for part in parts]), weights)


class Memory:
    """A uniform sample of all sentences so far, of bounded size.

    A stream that is passed over once ends behind training on all of it at once: its first sentences were met by
    weights that knew nothing. Meeting a few old sentences again with every new one makes up for that at a cost that
    does not grow with the stream.
    """

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)
        self.parts: list[KeptSentences] = []
        self.share = 1.0

    def add(self, new: KeptSentences) -> None:
        """Remember sentences; where there are too many, forget half of all, whichever they are."""
        if self.share < 1.0:
            new = new.take(np.flatnonzero(self.rng.random(new.sequences.n_sentences) < self.share))
        self.parts.append(new)
        while sum(part.sequences.n_tokens for part in self.parts) > TOKENS_KEPT:
            everything = joined(self.parts)
            kept = np.flatnonzero(self.rng.random(everything.sequences.n_sentences) < 0.5)
            self.parts, self.share = [everything.take(kept)], self.share / 2.0
        if len(self.parts) > PARTS_KEPT:
            self.parts = [joined(self.parts)]

    def draw(self, count: int, past: int) -> list[KeptSentences]:
        """Draw as many kept sentences as a sample of ``count`` of ``past`` would have, each once.

        Those that were learnt elsewhere, before a model was stored, are not drawn, nor are others in their place.
        """
        ends = offsets([part.sequences.n_sentences for part in self.parts])
        known = float(ends[-1]) / self.share
        count = round(count * min(known / past, 1.0)) if past else 0
        if not count or not ends[-1]:
            return []
        drawn = np.unique(self.rng.integers(0, ends[-1], count))
        bounds = np.searchsorted(drawn, ends)
        return [
            part.take(drawn[low:high] - start)
            for part, low, high, start in zip(self.parts, bounds[:-1], bounds[1:], ends[:-1], strict=True)
            if high > low
        ]
