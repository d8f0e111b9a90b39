"""Options of the learners of rerankers, derived from their constructors."""

from __future__ import annotations

from epigram.cli.options import options
from epigram.rerank.model import LEARNERS

CHOSEN = ("eps", "smoothing", "shrinkage", "theta", "rate")
LEARNING = options(
    LEARNERS,
    "Settings of the learner",
    skip=("seed", "tolerance"),
    defaults={**dict.fromkeys(CHOSEN, "chosen"), "steps": "as many as lower the error"},
)
"""Settings of all learners; :func:`epigram.rerank.model.make_learner` refuses those of others."""
