"""Prices on weights. Each has ``value`` and ``prox``; depth weights are an argument, not a class."""

from epigram.penalties.separable import L1, L2, ElasticNet
from epigram.penalties.tree import TreeL2, TreeLinf, depth_weights, prox

__all__ = ["L1", "L2", "ElasticNet", "TreeL2", "TreeLinf", "depth_weights", "prox"]
