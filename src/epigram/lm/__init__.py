"""Language models: n-gram models, log-linear models over context trees, and class-factored ones."""

from epigram._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
