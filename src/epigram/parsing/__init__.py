"""Models of trees: labels on the nodes of a given tree, and dependency parsing."""

from epigram._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
