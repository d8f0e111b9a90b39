"""sklearn-crfsuite's classes on our core: ``import epigram.compat.sklearn_crfsuite as sklearn_crfsuite``."""

from epigram.compat.sklearn_crfsuite import metrics
from epigram.compat.sklearn_crfsuite.estimator import CRF

__all__ = ["CRF", "metrics"]
