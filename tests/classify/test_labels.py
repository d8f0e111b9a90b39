"""Labels as columns of targets: sets, matrices, what is refused, and weights of texts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from epigram import TextClassifier
from epigram.classify.labels import label_columns, sorted_labels, weights_of_texts
from epigram.errors import InputError


def test_a_matrix_of_labels_is_predicted_as_a_matrix() -> None:
    texts = ["red rose", "blue sea", "red sea", "grey road"] * 10
    y: Any = np.array([[1, 0], [0, 1], [1, 1], [0, 0]] * 10)
    classifier = TextClassifier(words=1, l2=0.003).fit(texts, y)
    assert classifier.predict(texts[:4]).tolist() == y[:4].tolist()
    assert classifier.score(texts, y) == 1.0
    again = TextClassifier.from_bytes(classifier.to_bytes())
    assert again.predict(texts[:4]).tolist() == y[:4].tolist()


@pytest.mark.parametrize(
    ("y", "said"),
    [
        (["a", None], "has the label None"),
        (["a", float("nan")], "has the label nan"),
        (["a", 3], "types that have no order: int, str"),
        (["a"], "2 texts and 1 labels"),
        (["a", "a"], "at least two kinds"),
        (np.array([[1, 2], [0, 1]]), "cells 0 or 1"),
        (np.array([[1, 0]]), "for 2 texts"),
    ],
)
def test_labels_that_cannot_be_learnt_are_refused(y: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        label_columns(y, 2)


def test_no_texts_are_refused() -> None:
    with pytest.raises(InputError, match="no texts"):
        label_columns([], 0)
    assert sorted_labels([{2}, {1, 2}]) == [1, 2]


@pytest.mark.parametrize(
    "weights", [[0.0, 0.0], [float("nan"), 1.0], [-1.0, 1.0], [1.0], [float("inf"), 1.0]]
)
def test_weights_that_mean_nothing_are_refused(weights: list[float]) -> None:
    with pytest.raises(InputError, match="sample_weight"):
        weights_of_texts(label_columns(["a", "b"], 2), None, weights)


@pytest.mark.parametrize("setting", [{"weighting": "tfidf"}, {"bits": 3}])
def test_unknown_settings_are_refused(setting: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"{next(iter(setting))} must be one of"):
        TextClassifier(words=1, **setting).fit(["a", "b"], ["x", "y"])
