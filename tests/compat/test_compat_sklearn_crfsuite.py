"""sklearn-crfsuite's documented behaviour, asked of ours and of the original."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from epigram.compat import sklearn_crfsuite as ours
from reference.chain_data import features, part

ROWS, Y = part("train", 50)
X = features(ROWS)
TEST, GOLD = part("test", 30)
T = features(TEST)


@pytest.fixture(params=["ours", "theirs"])
def module(request: pytest.FixtureRequest) -> Any:
    return ours if request.param == "ours" else pytest.importorskip("sklearn_crfsuite")


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd", "ap", "pa", "arow"])
def test_fit_predict_score(module: Any, algorithm: str) -> None:
    crf = module.CRF(algorithm=algorithm, max_iterations=12).fit(X, Y)
    found = crf.predict(T)
    assert found.dtype == object
    assert [len(one) for one in found] == [len(one) for one in GOLD]
    assert crf.score(T, GOLD) > (0.85 if module is ours else 0.8)  # theirs draws from what C drew before
    assert crf.predict_single(T[0]) == found[0]
    assert len(crf.training_log_.iterations) == 12


def test_attributes_tell_what_was_learnt(module: Any) -> None:
    crf = module.CRF(c1=0.1, c2=0.1, max_iterations=20, all_possible_transitions=True).fit(X, Y)
    assert sorted(crf.classes_) == sorted({label for y in Y for label in y})
    assert crf.num_attributes_ == len(crf.attributes_)
    assert "word:the" in crf.attributes_
    assert all(label in crf.classes_ for _, label in crf.state_features_)
    assert {a for a, _ in crf.state_features_} <= set(crf.attributes_)
    assert all(pair[0] in crf.classes_ for pair in crf.transition_features_)
    assert crf.size_ > 1000
    p = crf.predict_marginals_single(T[0])
    assert sum(p[0].values()) == pytest.approx(1.0)
    assert list(map(len, crf.predict_marginals(T[:3]))) == list(map(len, T[:3]))
    assert crf.tagger_.labels() == crf.classes_


def test_both_learn_the_same_weights() -> None:
    theirs = pytest.importorskip("sklearn_crfsuite").CRF(c2=0.3).fit(X, Y)
    mine = ours.CRF(c2=0.3).fit(X, Y)
    assert set(mine.state_features_) == set(theirs.state_features_)
    for key, weight in theirs.state_features_.items():
        assert mine.state_features_[key] == pytest.approx(weight, abs=0.02)
    assert mine.predict(T).tolist() == theirs.predict(T).tolist()


def test_held_out_data(module: Any) -> None:
    crf = module.CRF(max_iterations=3).fit(X, Y, T, GOLD)
    assert 0.5 < crf.training_log_.last_iteration["item_accuracy_float"] <= 1.0
    with pytest.raises(ValueError, match="both X_dev and y_dev"):
        module.CRF().fit(X, Y, T)


def test_pickles_and_files(module: Any, tmp_path: Path) -> None:
    crf = module.CRF(max_iterations=5).fit(X, Y)
    again = pickle.loads(pickle.dumps(crf))
    assert again.predict_single(T[0]) == crf.predict_single(T[0])
    assert again.classes_ == crf.classes_
    stored = module.CRF(max_iterations=5, model_filename=str(tmp_path / "m.crfsuite")).fit(X, Y)
    assert (tmp_path / "m.crfsuite").stat().st_size == stored.size_
    assert module.CRF(model_filename=str(tmp_path / "m.crfsuite")).predict_single(
        T[0]
    ) == stored.predict_single(T[0])


def test_before_fit_there_is_nothing() -> None:
    crf = ours.CRF()
    assert crf.tagger_ is crf.classes_ is crf.size_ is crf.attributes_ is crf.state_features_ is None
    with pytest.raises(ValueError, match="not fitted"):
        crf.predict(X)


def test_measures(module: Any) -> None:
    pytest.importorskip("sklearn")
    metrics = module.metrics
    gold, found = [["a", "b"], ["a"]], [["a", "a"], ["a"]]
    assert metrics.flat_accuracy_score(gold, found) == pytest.approx(2 / 3)
    assert metrics.flat_f1_score(gold, found, average="macro") == pytest.approx(0.4)
    assert metrics.flat_precision_score(gold, found, pos_label="a") == pytest.approx(2 / 3)
    assert metrics.flat_recall_score(gold, found, pos_label="a") == 1.0
    assert metrics.flat_fbeta_score(gold, found, beta=2, pos_label="a") == pytest.approx(10 / 11)
    assert "precision" in metrics.flat_classification_report(gold, found, zero_division=0)
    assert metrics.sequence_accuracy_score(gold, found) == 0.5


def test_random_search_over_the_penalties() -> None:
    search = pytest.importorskip("sklearn.model_selection").RandomizedSearchCV(
        ours.CRF(max_iterations=8),
        {"c1": [0.0, 0.1, 0.5], "c2": [0.01, 0.1]},
        n_iter=3,
        cv=2,
        random_state=0,
        error_score="raise",
    )
    search.fit(X, Y)
    assert set(search.best_params_) == {"c1", "c2"}
    assert search.score(T, GOLD) > 0.8
    from sklearn.base import clone

    assert clone(search.best_estimator_).get_params() == search.best_estimator_.get_params()


def test_scorers() -> None:
    pytest.importorskip("sklearn")
    from epigram.compat.sklearn_crfsuite import scorers

    crf = ours.CRF(max_iterations=8).fit(X, Y)
    assert scorers.flat_accuracy(crf, T, GOLD) == pytest.approx(crf.score(T, GOLD))
    assert 0.0 <= scorers.sequence_accuracy(crf, T, GOLD) <= 1.0
    assert isinstance(np.asarray(crf.predict(T)), np.ndarray)
