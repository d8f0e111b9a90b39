"""Measures of classifiers: accuracy, F1, table per label, confusions, calibration error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from epigram.protocols import Floats

BINS = 15


class LabelScores(NamedTuple):
    """Precision, recall and F1 of one label."""

    label: str
    precision: float
    recall: float
    f1: float
    n_documents: int


class ClassificationReport(NamedTuple):
    """Measures of :func:`evaluate`; ``confusion`` maps pairs (gold, predicted) to counts."""

    accuracy: float
    macro_f1: float
    micro_f1: float
    labels: list[LabelScores]
    confusion: dict[tuple[str, str], int]
    ece: float | None


def evaluate(
    gold: Sequence[Any], predicted: Sequence[Any], proba: Floats | None = None
) -> ClassificationReport:
    """Compare labels, or tuples of labels; ``proba`` are probabilities of the predicted labels.

    Examples
    --------
    >>> report = evaluate(["a", "b", "b", "b"], ["a", "b", "a", "b"])
    >>> report.accuracy, round(report.macro_f1, 3), report.confusion[("b", "a")]
    (0.75, 0.733, 1)
    """
    pairs = [(_as_set(one), _as_set(other)) for one, other in zip(gold, predicted, strict=True)]
    right: Counter[str] = Counter(name for one, other in pairs for name in one & other)
    golds: Counter[str] = Counter(name for one, _ in pairs for name in one)
    found: Counter[str] = Counter(name for _, other in pairs for name in other)
    labels = [
        LabelScores(
            name, _ratio(right[name], found[name]), _ratio(right[name], golds[name]),
            _ratio(2 * right[name], found[name] + golds[name]), golds[name],
        )
        for name in sorted({*golds, *found})
    ]  # fmt: skip
    confusion = Counter((next(iter(a)), next(iter(b))) for a, b in pairs if len(a) == len(b) == 1)
    accuracy = _ratio(sum(one == other for one, other in pairs), len(pairs))
    hits = np.array([one == other for one, other in pairs])
    return ClassificationReport(
        accuracy,
        float(np.mean([label.f1 for label in labels])) if labels else 0.0,
        _ratio(2 * right.total(), found.total() + golds.total()),
        labels,
        dict(confusion),
        None if proba is None else expected_calibration_error(proba, hits),
    )


def expected_calibration_error(proba: Floats, hits: Any, bins: int = BINS) -> float:
    """Mean difference of confidence and accuracy over bins of equally many predictions.

    Examples
    --------
    >>> expected_calibration_error(np.array([0.5, 0.5, 1.0, 1.0]), [True, False, True, True], bins=2)
    0.0
    """
    order = np.argsort(proba, kind="stable")
    parts = np.array_split(order, min(bins, max(1, len(order))))
    hits = np.asarray(hits, dtype=np.float64)
    gaps = [abs(float(proba[part].mean() - hits[part].mean())) * len(part) for part in parts if len(part)]
    return sum(gaps) / max(1, len(order))


def _as_set(labels: Any) -> frozenset[str]:
    several = isinstance(labels, list | tuple | set | frozenset)
    return frozenset(str(name) for name in labels) if several else frozenset([str(labels)])


def _ratio(a: float, b: float) -> float:
    return a / b if b else 0.0
