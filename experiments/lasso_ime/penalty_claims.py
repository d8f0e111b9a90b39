"""What section 4 says of penalties, and what the results say to it. Verdicts follow the numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.lasso_ime import paper
from experiments.lasso_ime.results import Results, domains, figure_row, mean, pooled
from experiments.report import Claim, claim_of, verdict_of

SPARSE = 10.0
"""Percent of the features that count as a small number of them (the paper's: 0.6 %)."""


def sparse_situation(results: Results) -> Claim:
    """Features with weights in BLasso's model of the largest training set."""
    shares, parts = [], []
    for domain in domains(results):
        row = results[domain]["rows"][-1]
        weights = row["learners"]["blasso"]["weights"]
        shares.append(100.0 * weights / max(row["features"], 1))
        parts.append(f"{domain} {weights:,} of {row['features']:,}")
    return claim_of(
        "The task is sparse: among 860,000 features only around 5,000 have weights in the resulting model (section 4).",
        verdict_of(max(shares) < SPARSE),
        f"BLasso's models of the largest training sets: {'; '.join(parts)}, {mean(shares):.1f} % on average; less than "
        f"{SPARSE:g} % counts as a small number.",
        "More features than that have weights.",
    )


def l1_over_l2(results: Results) -> Claim:
    """Exact solutions of both penalties, each at the strength that held-out text chose."""
    rows = {domain: figure_row(results[domain])["penalties"] for domain in domains(results)}
    lead = pooled(row["p"]["ridge"]["lasso"] for row in rows.values())
    return claim_of(
        "The L1 penalty suits this sparse task better than L2 (section 4, which leaves the comparison to future work).",
        verdict_of(lead["points"] > 0 and lead["p"] < paper.LEVEL),
        f"Test error rates of L1 and L2, with their weights: {_pairs(rows)}; L1 is ahead by {lead['points']:+.3f} "
        "points "
        f"over the domains (p = {lead['p']:.2g}).",
        "L2 has fewer errors, with weights for all features."
        if lead["points"] < 0 and lead["p"] < paper.LEVEL
        else "In error rates that is no more than chance; L1 needs far fewer weights for it.",
    )


def sample_risk_finding(results: Results) -> str:
    """The learner that counts errors beside BLasso, in a paragraph."""
    rows = {domain: figure_row(results[domain]) for domain in domains(results)}
    lead = pooled(row["penalties"]["p"]["msr"]["blasso"] for row in rows.values())
    listed = "; ".join(
        f"{domain} {row['learners']['blasso']['cer']:.2f} and {row['penalties']['learners']['msr']['cer']:.2f} %"
        for domain, row in rows.items()
    )
    return (
        "Minimum sample risk (equation 4), which the discriminative methods of the paper approach through ExpLoss, "
        "can be "
        "minimised itself, one weight after the other. Test error rates of BLasso and of minimum sample risk: "
        f"{listed}; BLasso is ahead by {lead['points']:+.3f} points over the domains (p = {lead['p']:.2g})."
    )


def _pairs(rows: Mapping[str, Mapping[str, Any]]) -> str:
    parts = []
    for domain, row in rows.items():
        first, second = row["learners"]["lasso"], row["learners"]["ridge"]
        parts.append(
            f"{domain} {first['cer']:.2f} and {second['cer']:.2f} % ({first['weights']:,} and {second['weights']:,})"
        )
    return "; ".join(parts)


PENALTY_CLAIMS = (sparse_situation, l1_over_l2)
