"""More data than memory, more work than one machine: shards of a corpus, engines that hold them, sums over them."""

import sys

from epigram._lazy import Package

sys.modules[__name__].__class__ = Package
