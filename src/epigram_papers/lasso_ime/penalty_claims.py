"""What section 4 says of penalties, and what the cells say to it. Verdicts follow the numbers."""

from __future__ import annotations

from epigram_papers.lasso_ime.results import Cells, domains, mean
from epigram_papers.lasso_ime.verdicts import claim_of, judged
from epigram_papers.report import Claim

SPARSE = 10.0
"""Percent of the features that count as a small number of them (the paper's: 0.6 %)."""


def sparse_situation(cells: Cells) -> Claim:
    """Features with weights in BLasso's model of the largest training set."""
    shares, parts = [], []
    for domain in domains(cells):
        row = cells[domain]["rows"][-1]
        weights = row["learners"]["blasso"]["weights"]
        shares.append(100.0 * weights / max(row["features"], 1))
        parts.append(f"{domain} {weights:,} of {row['features']:,}")
    return claim_of(
        "The task is sparse: among 860,000 features only around 5,000 have weights in the resulting model (section 4).",
        judged(max(shares) < SPARSE),
        f"BLasso's models of the largest training sets: {'; '.join(parts)}, {mean(shares):.1f} % on average; less than "
        f"{SPARSE:g} % counts as a small number.",
        "More features than that have weights.",
    )


PENALTY_CLAIMS = (sparse_situation,)
