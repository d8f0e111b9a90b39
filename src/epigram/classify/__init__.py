"""Text classification by n-grams of raw text, with settings chosen on held-out data."""

import sys

from epigram._lazy import Package

sys.modules[__name__].__class__ = Package
