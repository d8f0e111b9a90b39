"""SGD with an l1 penalty on chains, update by update. Tsuruoka et al. 2009, equations 3 to 6 and Fig. 2.

The weights "used in a sample" are those of its attributes, and all weights of label pairs.
"""

from __future__ import annotations

import math
from collections import defaultdict

from reference.chain import Chain, Key, Labelling, Sentence


def rates(schedule: str, eta0: float, decay: float, n: int, first: int, sizes: list[int]) -> list[float]:
    """eta of each step; k counts samples, over all passes."""
    found, k = [], first
    for size in sizes:
        found.append(eta0 / (1 + k / n) if schedule == "inverse" else eta0 * decay ** (k / n))  # (5), (6)
        k += size
    return found


class Trainer:
    """The state of Fig. 2: w (in ``chain``), q, u and k."""

    def __init__(self, chain: Chain, C: float, n: int) -> None:
        self.chain, self.C, self.n = chain, C, n
        self.q: dict[Key, float] = dict.fromkeys(chain.weights, 0.0)
        self.u = 0.0
        self.k = 0

    def run(
        self,
        method: str,
        schedule: str,
        eta0: float,
        decay: float,
        batches: list[list[tuple[Sentence, Labelling, float]]],
    ) -> float:
        """One pass over mini-batches of (sentence, labels, weight); returns the losses met."""
        met = 0.0
        for batch in batches:
            eta = rates(schedule, eta0, decay, self.n, self.k, [len(batch)])[0]
            met += sum(weight * self.chain.loss(x, y) for x, y, weight in batch)
            g: dict[Key, float] = defaultdict(float)
            for x, y, weight in batch:
                for key, value in self.chain.gradient(x, y).items():
                    g[key] += weight * value
            share = self.C / self.n * eta * len(batch)
            self.u += share  # (3)
            getattr(self, method)(g, eta, share, batch)
            self.k += len(batch)
        return met

    def naive(self, g: dict[Key, float], eta: float, share: float, batch: object) -> None:
        w = self.chain.weights
        for key, value in w.items():
            sign = (value > 0) - (value < 0)
            w[key] = value - eta * g[key] - share * sign

    def clipping(self, g: dict[Key, float], eta: float, share: float, batch: object) -> None:
        w = self.chain.weights
        for key in w:
            half = w[key] - eta * g[key]
            if half > 0:
                w[key] = max(0.0, half - share)
            elif half < 0:
                w[key] = min(0.0, half + share)
            else:
                w[key] = 0.0

    lazy = clipping  # lazy updates change when the work is done, not what comes out

    def cumulative(
        self, g: dict[Key, float], eta: float, share: float, batch: list[tuple[Sentence, Labelling, float]]
    ) -> None:
        w, q = self.chain.weights, self.q
        used = {a for x, _, _ in batch for token in x.tokens for a, _ in token}
        for key in w:
            if key[0] == "state" and key[1] not in used:
                continue
            w[key] -= eta * g[key]
            z = w[key]
            if w[key] > 0:
                w[key] = max(0.0, w[key] - (self.u + q[key]))
            elif w[key] < 0:
                w[key] = min(0.0, w[key] + (self.u - q[key]))
            q[key] += w[key] - z  # (4)


def close(a: dict[Key, float], b: dict[Key, float], tolerance: float = 1e-9) -> bool:
    """Same names, same values."""
    return a.keys() == b.keys() and all(
        math.isclose(a[key], b[key], rel_tol=tolerance, abs_tol=tolerance) for key in a
    )
