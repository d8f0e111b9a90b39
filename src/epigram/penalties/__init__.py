"""Penalties on weights. Each has ``value`` and ``prox``; depth weights are an argument, not a class."""

from epigram._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
