"""Minimisers of loss + penalty. Each names the protocols it needs and checks them at its door."""

from laconic.solvers.proximal import FISTA, StochasticProximal
from laconic.solvers.quasi_newton import LBFGS, OWLQN
from laconic.solvers.sgd import SGD
from laconic.solvers.stagewise import FSLR, BLasso, Boosting, FBoosting

__all__ = ["FISTA", "FSLR", "LBFGS", "OWLQN", "SGD", "BLasso", "Boosting", "FBoosting", "StochasticProximal"]
