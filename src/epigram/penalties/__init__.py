"""Prices on weights. Each has ``value`` and ``prox``; depth weights are an argument, not a class."""

from epigram.penalties.ball import L1Ball, project_l1
from epigram.penalties.separable import L1, L2, ElasticNet
from epigram.penalties.tree import TreeL2, TreeLinf, depth_weights, prox

__all__ = ["L1", "L2", "ElasticNet", "L1Ball", "TreeL2", "TreeLinf", "depth_weights", "project_l1", "prox"]
