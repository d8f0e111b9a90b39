"""FTRL-Proximal on chains, weight by weight. McMahan et al. 2013, Algorithm 1, with the penalty l1 |w| + l2 w^2."""

from __future__ import annotations

import math

from reference.chain import Chain, Key, Labelling, Sentence


class Follower:
    """z and n of each weight; the weights themselves are in ``chain``."""

    def __init__(self, chain: Chain, alpha: float, beta: float, l1: float, l2: float) -> None:
        self.chain, self.alpha, self.beta, self.l1, self.l2 = chain, alpha, beta, l1, l2
        self.z: dict[Key, float] = dict.fromkeys(chain.weights, 0.0)
        self.n: dict[Key, float] = dict.fromkeys(chain.weights, 0.0)

    def learn(self, sentence: Sentence, y: Labelling, weight: float) -> float:
        """One step; returns the loss met."""
        loss, w = self.chain.loss(sentence, y), self.chain.weights
        for key, value in self.chain.gradient(sentence, y).items():
            if key not in w:
                continue
            g = weight * value
            sigma = (math.sqrt(self.n[key] + g * g) - math.sqrt(self.n[key])) / self.alpha
            self.z[key] += g - sigma * w[key]
            self.n[key] += g * g
            w[key] = self.weight(key)
        return weight * loss

    def weight(self, key: Key) -> float:
        """Where the sum of all linear terms, prox terms and penalties is least."""
        z = self.z[key]
        if abs(z) <= self.l1:
            return 0.0
        curvature = (self.beta + math.sqrt(self.n[key])) / self.alpha + 2.0 * self.l2
        return -(z - math.copysign(self.l1, z)) / curvature
