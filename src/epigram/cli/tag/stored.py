"""Loads the CRF of a model file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from epigram.errors import InputError

if TYPE_CHECKING:
    from epigram.chain.crf import CRFEstimator


def stored_chain(model: Path) -> CRFEstimator:
    """Load a stored CRF with a template, without its reranker."""
    from epigram.chain.crf import CRFEstimator
    from epigram.chain.storage import FAMILY
    from epigram.storage import load
    from epigram.tagging.stacked.reranked import RerankedTagger

    tagger = load(model, FAMILY)
    if isinstance(tagger, RerankedTagger):
        tagger = tagger.tagger_
    if not isinstance(tagger, CRFEstimator) or tagger.model_.template is None:
        raise InputError(
            "only a CRF with a template has labellings to rerank; train with --model crf", path=model
        )
    return tagger
