"""Training on data larger than memory, on one machine or a Dask cluster."""

import sys

from epigram._lazy import Package

sys.modules[__name__].__class__ = Package
