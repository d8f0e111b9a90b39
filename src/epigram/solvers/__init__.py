"""Solvers that minimise loss + penalty."""

import sys

from epigram._lazy import Package

sys.modules[__name__].__class__ = Package
