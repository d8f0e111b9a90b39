from epigram.solvers.adagrad import AdaGrad as AdaGrad
from epigram.solvers.proximal import FISTA as FISTA
from epigram.solvers.proximal import StochasticProximal as StochasticProximal
from epigram.solvers.quasi_newton import LBFGS as LBFGS
from epigram.solvers.quasi_newton import OWLQN as OWLQN
from epigram.solvers.sgd import SGD as SGD
