"""FilterSummary: counts of a filter run and histograms of its scores, in constant memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from epigram.protocols import Floats

BINS = 100
"""Bins of a factor of 10: quantiles are right to 1.2 %."""
LEAST, MOST = -12, 18
BARS = 20
SHARES = (0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99)


@dataclass
class FilterSummary:
    """Counts of documents, and for each score those in bins of its logarithm.

    Examples
    --------
    >>> summary = FilterSummary()
    >>> summary.count(["score"], np.array([[10.0], [20.0], [np.nan]]))
    >>> summary.quantiles("score")["50%"]
    10.1
    >>> summary.histogram("score", 2)
    [(10.0, 1), (14.3, 1)]
    """

    documents: int = 0
    kept: int = 0
    empty: int = 0
    malformed: int = 0
    bins: dict[str, dict[str, int]] = field(default_factory=dict)

    def count(self, names: Sequence[str], scores: Floats) -> None:
        """Add the scores of some documents."""
        for name, column in zip(names, scores.T, strict=True):
            own = self.bins.setdefault(name, {})
            known = np.clip(column[~np.isnan(column)], 10.0**LEAST, 10.0**MOST)
            places, n = np.unique(np.floor(np.log10(known) * BINS).astype(int), return_counts=True)
            for place, more in zip(places.tolist(), n.tolist(), strict=True):
                own[str(place)] = own.get(str(place), 0) + more

    def add(self, other: FilterSummary) -> None:
        """Add the counts of another run."""
        for name in ("documents", "kept", "empty", "malformed"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name, bins in other.bins.items():
            own = self.bins.setdefault(name, {})
            for place, n in bins.items():
                own[place] = own.get(place, 0) + n

    def quantiles(self, name: str) -> dict[str, float]:
        """Scores below which shares of the documents are, from the bins."""
        places, counts = self._sorted(name)
        if not counts.size:
            return {}
        ranks = np.ceil(np.array(SHARES) * counts.sum())
        found = 10 ** ((places[np.searchsorted(np.cumsum(counts), ranks)] + 0.5) / BINS)
        return {f"{100 * q:g}%": float(f"{x:.3g}") for q, x in zip(SHARES, found.tolist(), strict=True)}

    def histogram(self, name: str, bars: int = BARS) -> list[tuple[float, int]]:
        """Lower ends of equally wide bars of the logarithm, with their counts."""
        places, counts = self._sorted(name)
        if not counts.size:
            return []
        edges = np.linspace(places[0], places[-1] + 1, bars + 1)
        bar = np.minimum(np.searchsorted(edges, places, side="right") - 1, bars - 1)
        sums = np.bincount(bar, counts, minlength=bars).astype(int)
        return [(float(f"{10 ** (x / BINS):.3g}"), n) for x, n in zip(edges[:-1], sums.tolist(), strict=True)]

    def _sorted(self, name: str) -> tuple[Floats, Floats]:
        pairs = sorted((int(place), n) for place, n in self.bins.get(name, {}).items())
        return np.array([p for p, _ in pairs], np.float64), np.array([n for _, n in pairs], np.float64)
