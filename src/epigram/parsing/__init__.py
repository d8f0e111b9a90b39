"""Dependency parsing, and labelling the nodes of given trees."""

import sys

from epigram._lazy import Package

sys.modules[__name__].__class__ = Package
