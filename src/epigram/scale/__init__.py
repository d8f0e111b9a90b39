"""More data than memory, more work than one machine: shards of a corpus, engines that hold them, sums over them."""

from epigram._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
