"""epigram: language models, taggers and rerankers that are compact, exact, explainable and fast on a CPU.

Public names are resolved on first use, so that ``import epigram`` costs milliseconds. They are listed, with their
types, in ``__init__.pyi``.
"""

from epigram._lazy import attach

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = attach(__name__, __file__)
