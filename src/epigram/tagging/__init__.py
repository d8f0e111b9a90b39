"""Sequence taggers and classifiers on log-linear chain models."""

import sys

from epigram._lazy import Package

sys.modules[__name__].__class__ = Package
