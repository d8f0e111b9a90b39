"""laconic: language models, taggers and rerankers that are compact, exact, explainable and fast on a CPU.

Public names are resolved on first use, so that ``import laconic`` costs milliseconds: it loads neither
numba, scipy nor scikit-learn.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "L1": "laconic.penalties",
    "L2": "laconic.penalties",
    "ElasticNet": "laconic.penalties",
    "TreeL2": "laconic.penalties",
    "TreeLinf": "laconic.penalties",
    "SGD": "laconic.solvers",
    "OWLQN": "laconic.solvers",
    "LBFGS": "laconic.solvers",
    "FISTA": "laconic.solvers",
    "StochasticProximal": "laconic.solvers",
    "CRFTagger": "laconic.tagging",
    "MaxentClassifier": "laconic.tagging",
    "MaxentTagger": "laconic.tagging",
    "LogLinearLM": "laconic.lm.loglinear",
    "ClassFactoredLM": "laconic.lm.factored",
    "WordClasses": "laconic.lm.classes",
    "KneserNeyLM": "laconic.lm.kneser_ney",
    "Boosting": "laconic.rerank",
    "FSLR": "laconic.rerank",
    "BLasso": "laconic.rerank",
    "FBoosting": "laconic.rerank",
    "Lasso": "laconic.rerank",
    "Softmax": "laconic.rerank",
    "Perceptron": "laconic.rerank",
    "Reranker": "laconic.rerank",
    "NBest": "laconic.rerank",
    "read_nbest": "laconic.rerank",
    "KanaKanjiConverter": "laconic.ime",
    "LaconicError": "laconic.errors",
    "InputError": "laconic.errors",
}

__all__ = ["__version__", *sorted(_HOME)]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'laconic' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
