"""Filtering of documents by perplexity, a ratio of two models, or a label."""

from epigram.filter.pieces import PieceModel
from epigram.filter.recipes import ScorerRecipe
from epigram.filter.scorers import LabelProbability, Perplexity, PerplexityRatio
from epigram.filter.selection import DocumentFilter, score_documents
from epigram.filter.summary import FilterSummary

__all__ = [
    "DocumentFilter", "FilterSummary", "LabelProbability", "Perplexity", "PerplexityRatio", "PieceModel",
    "ScorerRecipe",
    "score_documents",
]  # fmt: skip
