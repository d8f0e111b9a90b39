"""Language models: n-gram, log-linear, class-factored, and mixtures of them."""

import sys

from epigram._lazy import Package

sys.modules[__name__].__class__ = Package
