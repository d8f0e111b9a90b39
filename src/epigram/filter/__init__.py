"""Filtering of documents by perplexity, a ratio of two models, or a label."""

from epigram.filter.pieces import PieceModel
from epigram.filter.scorers import LabelProbability, Perplexity, PerplexityRatio
from epigram.filter.selection import DocumentFilter, FilterSummary, score_documents

__all__ = [
    "DocumentFilter", "FilterSummary", "LabelProbability", "Perplexity", "PerplexityRatio", "PieceModel",
    "score_documents",
]  # fmt: skip
