"""scikit-learn's scores over all items of all sequences; needs the extra ``sklearn``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

Labels = Sequence[Sequence[str]]


def flatten(y: Iterable[Iterable[str]]) -> list[str]:
    """All items of all sequences.

    Examples
    --------
    >>> flatten([["a", "b"], [], ["c"]])
    ['a', 'b', 'c']
    """
    return list(chain.from_iterable(y))


def flat_accuracy_score(y_true: Labels, y_pred: Labels) -> float:
    """Share of the items with the right label."""
    from sklearn.metrics import accuracy_score

    return float(accuracy_score(flatten(y_true), flatten(y_pred)))


def flat_precision_score(y_true: Labels, y_pred: Labels, **kwargs: Any) -> Any:
    """scikit-learn's ``precision_score``."""
    from sklearn.metrics import precision_score

    return precision_score(flatten(y_true), flatten(y_pred), **kwargs)


def flat_recall_score(y_true: Labels, y_pred: Labels, **kwargs: Any) -> Any:
    """scikit-learn's ``recall_score``."""
    from sklearn.metrics import recall_score

    return recall_score(flatten(y_true), flatten(y_pred), **kwargs)


def flat_f1_score(y_true: Labels, y_pred: Labels, **kwargs: Any) -> Any:
    """scikit-learn's ``f1_score``."""
    from sklearn.metrics import f1_score

    return f1_score(flatten(y_true), flatten(y_pred), **kwargs)


def flat_fbeta_score(y_true: Labels, y_pred: Labels, beta: float, **kwargs: Any) -> Any:
    """scikit-learn's ``fbeta_score``."""
    from sklearn.metrics import fbeta_score

    return fbeta_score(flatten(y_true), flatten(y_pred), beta=beta, **kwargs)


def flat_classification_report(
    y_true: Labels, y_pred: Labels, labels: Sequence[str] | None = None, **kwargs: Any
) -> Any:
    """scikit-learn's ``classification_report``."""
    from sklearn.metrics import classification_report

    return classification_report(flatten(y_true), flatten(y_pred), labels=labels, **kwargs)


def sequence_accuracy_score(y_true: Labels, y_pred: Labels) -> float:
    """Share of the sequences with all labels right; 0 for none."""
    matches = sum(list(gold) == list(found) for gold, found in zip(y_true, y_pred, strict=True))
    return matches / len(y_true) if len(y_true) else 0.0
