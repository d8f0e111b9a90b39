"""Penalties on weights: value and proximal operator."""

import sys

from epigram._lazy import Package

sys.modules[__name__].__class__ = Package
