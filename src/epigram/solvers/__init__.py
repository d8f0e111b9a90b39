"""Minimisers of loss + penalty. Each names the protocols it needs and checks them at its door."""

from epigram.solvers.adaptive import AdaGrad
from epigram.solvers.projected import ProjectedSGD
from epigram.solvers.proximal import FISTA, StochasticProximal
from epigram.solvers.quasi_newton import LBFGS, OWLQN
from epigram.solvers.sgd import SGD
from epigram.solvers.stagewise import FSLR, BLasso, Boosting, FBoosting

__all__ = [
    "FISTA",
    "FSLR",
    "LBFGS",
    "OWLQN",
    "SGD",
    "AdaGrad",
    "BLasso",
    "Boosting",
    "FBoosting",
    "ProjectedSGD",
    "StochasticProximal",
]
