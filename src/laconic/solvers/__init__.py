"""Minimisers of loss + penalty. Each names the protocols it needs and checks them at its door."""

from laconic.solvers.quasi_newton import LBFGS, OWLQN
from laconic.solvers.sgd import SGD

__all__ = ["LBFGS", "OWLQN", "SGD"]
