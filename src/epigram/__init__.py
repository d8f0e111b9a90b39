"""epigram: language models, taggers and rerankers that are compact, exact, explainable and fast on a CPU.

Public names are resolved on first use, so that ``import epigram`` costs milliseconds: it loads neither
numba, scipy nor scikit-learn.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "L1": "epigram.penalties",
    "L1Ball": "epigram.penalties",
    "L2": "epigram.penalties",
    "ElasticNet": "epigram.penalties",
    "TreeL2": "epigram.penalties",
    "TreeLinf": "epigram.penalties",
    "SGD": "epigram.solvers",
    "OWLQN": "epigram.solvers",
    "LBFGS": "epigram.solvers",
    "FISTA": "epigram.solvers",
    "StochasticProximal": "epigram.solvers",
    "CRFTagger": "epigram.tagging",
    "MaxentClassifier": "epigram.tagging",
    "MaxentTagger": "epigram.tagging",
    "LogLinearLM": "epigram.lm.loglinear.model",
    "ClassFactoredLM": "epigram.lm.factored.model",
    "WordClasses": "epigram.lm.factored.classes",
    "KneserNeyLM": "epigram.lm.ngram.kneser_ney",
    "Boosting": "epigram.rerank",
    "FSLR": "epigram.rerank",
    "BLasso": "epigram.rerank",
    "FBoosting": "epigram.rerank",
    "Lasso": "epigram.rerank",
    "Softmax": "epigram.rerank",
    "Perceptron": "epigram.rerank",
    "Reranker": "epigram.rerank",
    "NBest": "epigram.rerank",
    "read_nbest": "epigram.rerank",
    "KanaKanjiConverter": "epigram.ime",
    "EpigramError": "epigram.errors",
    "InputError": "epigram.errors",
}

__all__ = ["__version__", *sorted(_HOME)]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'epigram' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
