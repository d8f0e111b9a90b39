"""Minimisers of loss + penalty. Each names the protocols it needs and checks them at its door."""

from epigram._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
