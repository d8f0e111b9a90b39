"""KenLM's Python API and its binary files: ``import epigram.compat.kenlm as kenlm``."""

import sys

from epigram._lazy import Package

sys.modules[__name__].__class__ = Package
