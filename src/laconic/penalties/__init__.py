"""Prices on weights. Each has ``value`` and ``prox``; depth weights are an argument, not a class."""

from laconic.penalties.separable import L1, L2, ElasticNet

__all__ = ["L1", "L2", "ElasticNet"]
