"""Models of trees: labels on the nodes of a given tree, and dependency parsing."""

import sys

from epigram._lazy import Package

sys.modules[__name__].__class__ = Package
