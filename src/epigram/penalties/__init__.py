"""Penalties on weights. Each has ``value`` and ``prox``; depth weights are an argument, not a class."""

import sys

from epigram._lazy import Package

sys.modules[__name__].__class__ = Package
