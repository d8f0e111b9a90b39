"""epigram: compact, exact, explainable log-linear models of text, fast on a CPU.

Public names are resolved on first use, so that ``import epigram`` costs milliseconds. They are listed, with their
types, in ``__init__.pyi``.
"""

import sys

from epigram._lazy import Package

__version__ = "0.2.0"

sys.modules[__name__].__class__ = Package
