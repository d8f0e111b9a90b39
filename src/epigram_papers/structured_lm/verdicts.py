"""From numbers to a verdict, and when a quick run has none."""

from __future__ import annotations

from epigram_papers.report import Claim, Verdict, too_small
from epigram_papers.structured_lm.results import Results

CHANCE = 0.008
"""Perplexities of two models on the quick run's text may differ by this share by chance: three standard errors of their
log-probabilities' difference, which are 0.4 to 0.8 percent for the norms here and Kneser-Ney."""
ACROSS_ORDERS = 0.004
"""The same for one norm at two orders: two and a half standard errors for tree-linf, five for tree-l2."""
SURE = float("inf")
"""The distance of a claim about counts, which have no chance in them."""


def judged(
    results: Results,
    text: str,
    why: str,
    holds: bool,
    distance: float | None,
    better: bool = False,
    chance: float = CHANCE,
) -> Claim:
    """A claim with its verdict; on the quick subset none, unless the numbers are clear.

    ``distance`` is how far the numbers lie from where the verdict would turn, as a share; None where the subset lacks
    what the claim is about. They are clear from ``chance`` on.
    """
    verdict: Verdict = ("exceeded" if better else "reproduced") if holds else "not reproduced"
    claim = Claim(text, verdict, why)
    if not results.quick or (distance is not None and distance >= chance):
        return claim
    if distance is None:
        return too_small(claim, "the quick subset does not reach so far")
    return too_small(claim, "so little may be chance on the quick subset")
