"""From numbers to a verdict, and when a quick run has none."""

from __future__ import annotations

from epigram_papers.report import Claim, Verdict, too_small
from epigram_papers.structured_lm.results import Results

CHANCE = 0.01
"""Perplexities of two models on the test part of one split differ by up to this share by chance: about three standard
errors of the difference of their log-probabilities over 20,000 words."""
SURE = float("inf")
"""The distance of a claim about counts, which have no chance in them."""


def judged(
    results: Results, text: str, why: str, holds: bool, distance: float | None, better: bool = False
) -> Claim:
    """A claim with its verdict; on the quick subset none, unless the numbers are clear.

    ``distance`` is how far the numbers lie from where the verdict would turn, as a share; None where the subset lacks
    what the claim is about.
    """
    verdict: Verdict = ("exceeded" if better else "reproduced") if holds else "not reproduced"
    claim = Claim(text, verdict, why)
    if not results.quick or (distance is not None and distance >= CHANCE):
        return claim
    if distance is None:
        return too_small(claim, "the quick subset does not reach so far")
    return too_small(claim, "so little may be chance on the quick subset")
