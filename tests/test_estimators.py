"""scikit-learn's promises, kept by every estimator: clone, parameters, searches, cross-validation, pickle."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from epigram import (
    SGD,
    BLasso,
    ClassFactoredLM,
    CRFTagger,
    KneserNeyLM,
    LogLinearLM,
    MaxentClassifier,
    MaxentTagger,
    Reranker,
)
from epigram.datasets.sample import plain
from epigram.rerank import NBest

base = pytest.importorskip("sklearn.base")
model_selection = pytest.importorskip("sklearn.model_selection")

ROWS = [[["the", "D"], ["dog", "N"]], [["a", "D"], ["cat", "N"]], [["dogs", "N"], ["run", "V"]]] * 6
TAGS = [["B", "I"], ["B", "I"], ["B", "O"]] * 6
TEXT = [" ".join(words) for words in plain("train", 60)]
LISTS = NBest.from_lists(
    [
        {
            "reference": f"the {noun} runs",
            "candidates": [
                {"text": f"the {noun} run", "score": -1.0},
                {"text": f"the {noun} runs", "score": -1.2},
            ],
        }
        for noun in ["dog", "cat", "cow", "fox", "hen", "rat"] * 2
    ]
)


class Case(NamedTuple):
    make: Callable[[], Any]
    X: Any
    y: Any
    grid: dict[str, list[Any]]


FAST = SGD(passes=3, eta0=0.5)
CASES = {
    "CRFTagger": Case(lambda: CRFTagger("U1:%x[0,0]\nB", solver=FAST), ROWS, TAGS, {"l1": [0.01, 50.0]}),
    "MaxentTagger": Case(lambda: MaxentTagger("U1:%x[0,0]", solver=FAST), ROWS, TAGS, {"l1": [0.01, 50.0]}),
    "MaxentClassifier": Case(
        MaxentClassifier,
        np.array([[0.0, 1.0], [1.0, 0.0]] * 9),
        np.array([0, 1] * 9),
        {"l1": [0.01, 50.0]},
    ),
    "KneserNeyLM": Case(lambda: KneserNeyLM(order=2), TEXT, None, {"order": [2, 1]}),
    "LogLinearLM": Case(
        lambda: LogLinearLM(order=2, strength=0.3, depth_weight=1.0, ridge=0.05),
        TEXT,
        None,
        {"strength": [0.3, 50.0]},
    ),
    "ClassFactoredLM": Case(
        lambda: ClassFactoredLM(order=2, classes=5, max_iterations=10), TEXT, None, {"classes": [5]}
    ),
    "Reranker": Case(
        lambda: Reranker(BLasso(steps=20), min_count=1),
        LISTS,
        None,
        {"learner": [BLasso(steps=20), BLasso(steps=0)]},
    ),
}
each = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


@each
def test_parameters_come_and_go(case: Case) -> None:
    made = case.make()
    parameters = made.get_params(deep=False)
    assert {name: getattr(made, name) for name in parameters} == parameters
    assert made.set_params(**parameters) is made
    with pytest.raises(ValueError, match="Invalid parameter 'nothing'"):
        made.set_params(nothing=1)
    copy = base.clone(made)
    assert copy is not made
    assert repr(copy) == repr(made)


@each
def test_score_is_one_number_and_cross_validates(case: Case) -> None:
    fitted = base.clone(case.make()).fit(case.X, case.y)
    score = fitted.score(case.X) if case.y is None else fitted.score(case.X, case.y)
    assert isinstance(score, float)
    assert math.isfinite(score)
    scores = model_selection.cross_val_score(case.make(), case.X, case.y, cv=2)
    assert np.isfinite(scores).all()


@each
def test_a_grid_search_picks_the_better(case: Case) -> None:
    search = model_selection.GridSearchCV(case.make(), case.grid, cv=2).fit(case.X, case.y)
    name, (best, *_) = next(iter(case.grid.items()))
    assert repr(search.best_params_[name]) == repr(best)


@each
def test_fitted_and_unfitted_estimators_can_be_pickled(case: Case) -> None:
    made = case.make()
    assert repr(pickle.loads(pickle.dumps(made))) == repr(made)
    fitted = made.fit(case.X, case.y)
    again = pickle.loads(pickle.dumps(fitted))
    if case.y is None:
        assert again.score(case.X) == fitted.score(case.X)
    else:
        assert again.score(case.X, case.y) == fitted.score(case.X, case.y)


def test_nothing_needs_scikit_learn() -> None:
    program = """
import sys
sys.modules.update({"sklearn": None, "scipy": None, "sklearn.base": None})
import numpy as np
from epigram import CRFTagger, KneserNeyLM, MaxentClassifier
X, y = np.array([[0.0, 1.0], [1.0, 0.0]] * 5), [0, 1] * 5
model = MaxentClassifier(l1=0.1)
del sys.modules["sklearn"]
sys.modules["sklearn.utils.validation"] = None
assert model.fit(X, y).predict(X).tolist() == y
assert model.score(X, y) == 1.0
try:
    MaxentClassifier().predict(X)
except ValueError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.startswith("This MaxentClassifier instance is not fitted yet."), done.stderr
