"""Perceptron, passive-aggressive and AROW on chains, update by update in plain Python; every labelling is scored."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field

from reference.chain import Chain, Key, Labelling, Sentence

Sample = tuple[Sentence, Labelling, float]


@dataclass
class Margin:
    """The weights of ``chain`` change; ``sums`` and ``variances`` are by name too."""

    chain: Chain
    variance: float = 1.0
    step: int = 1
    sums: dict[Key, float] = field(default_factory=lambda: defaultdict(float))

    def __post_init__(self) -> None:
        self.variances = dict.fromkeys(self.chain.weights, self.variance)

    def difference(self, sample: Sample) -> tuple[dict[Key, float], int, float]:
        """Features of the right labelling minus those of the best; wrong labels; how far the right one is behind."""
        sentence, y, _ = sample
        scores = self.chain.labellings(sentence)
        best = max(scores, key=lambda other: scores[other])
        delta: dict[Key, float] = defaultdict(float)
        for key, count in self.chain.features(sentence, y).items():
            delta[key] += count
        for key, count in self.chain.features(sentence, best).items():
            delta[key] -= count
        wrong = sum(a != b for a, b in zip(y, best, strict=True))
        return delta, wrong, scores[best] - self.chain.score(sentence, y)

    def move(self, delta: dict[Key, float], rate: float) -> None:
        for key, d in delta.items():
            self.chain.weights[key] += rate * d
            self.sums[key] += self.step * rate * d

    def perceptron(self, sample: Sample) -> float:
        delta, wrong, _ = self.difference(sample)
        if wrong:
            self.move(delta, sample[2])
        self.step += 1
        return sample[2] * wrong / max(len(sample[1]), 1)

    def passive(self, sample: Sample, kind: int, c: float, by_errors: bool) -> float:
        delta, wrong, behind = self.difference(sample)
        cost = 0.0
        if wrong:
            cost = behind + (math.sqrt(wrong) if by_errors else 1.0)
            norm = sum(d * d for d in delta.values()) + (0.5 / c if kind == 2 else 0.0)
            tau = cost / norm if norm else 0.0
            self.move(delta, sample[2] * (min(c, tau) if kind == 1 else tau))
        self.step += 1
        return cost * sample[2]

    def arow(self, sample: Sample, gamma: float) -> float:
        delta, wrong, behind = self.difference(sample)
        if not wrong:
            return 0.0
        cost = behind + wrong
        rate = sample[2] * cost / (gamma + sum(d * d * self.variances[key] for key, d in delta.items()))
        for key, d in delta.items():
            self.chain.weights[key] += rate * self.variances[key] * d
            self.variances[key] = 1.0 / (1.0 / self.variances[key] + d * d / gamma)
        return cost * sample[2]
