"""AdaGrad with l1 on chains, the slow way: every weight at every step, nothing put off."""

from __future__ import annotations

import math
from collections import defaultdict

from reference.chain import Chain, Key, Labelling, Sentence

Batch = list[tuple[Sentence, Labelling, float]]


def gradient(chain: Chain, batch: Batch) -> tuple[float, dict[Key, float]]:
    """Loss and summed gradient of a step's sentences."""
    g: dict[Key, float] = defaultdict(float)
    for x, y, weight in batch:
        for key, value in chain.gradient(x, y).items():
            g[key] += weight * value
    return sum(weight * chain.loss(x, y) for x, y, weight in batch), g


class AdaGradTrainer:
    """w = argmin of the regularised sum of all gradients so far, written out step by step."""

    def __init__(self, chain: Chain, C: float, n: int) -> None:
        self.chain, self.C, self.n = chain, C, n
        self.squares = dict.fromkeys(chain.weights, 1.0)
        self.gradients = dict.fromkeys(chain.weights, 0.0)
        self.curvature: dict[Key, float] = {}
        self.centre = dict.fromkeys(chain.weights, 0.0)  # sum of sigma_s w_s, McMahan 2011
        self.k = 0

    def run(self, eta0: float, decay: float, batches: list[Batch]) -> float:
        met = 0.0
        for batch in batches:
            eta = eta0 * decay ** (self.k / self.n)
            loss, g = gradient(self.chain, batch)
            met += loss
            self.k += len(batch)
            used = {a for x, _, _ in batch for token in x.tokens for a, _ in token}
            for key, w in self.chain.weights.items():
                before = self.curvature.get(key, 1.0 / eta0)
                if key[0] != "state" or key[1] in used:  # eta falls for a weight when it is used
                    self.squares[key] += g[key] ** 2
                    self.curvature[key] = math.sqrt(self.squares[key]) / eta
                self.gradients[key] += g[key]
                self.centre[key] += (self.curvature.get(key, before) - before) * w
            for key in self.chain.weights:
                # argmin_w  G w + k C/N |w| + 1/2 sum_s sigma_s (w - w_s)^2
                slope = self.gradients[key] - self.centre[key]
                size = max(0.0, abs(slope) - self.k * self.C / self.n) / self.curvature.get(key, 1.0 / eta0)
                self.chain.weights[key] = -math.copysign(size, slope)
        return met
