"""Language models: n-gram models, log-linear models over context trees, and class-factored ones."""

import sys

from epigram._lazy import Package

sys.modules[__name__].__class__ = Package
