"""Minimisers of loss + penalty. Each names the protocols it needs and checks them at its door."""

import sys

from epigram._lazy import Package

sys.modules[__name__].__class__ = Package
