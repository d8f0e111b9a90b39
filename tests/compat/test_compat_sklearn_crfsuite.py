"""The package sklearn-crfsuite itself, run on ``epigram.compat.pycrfsuite.replace_original()``."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import epigram.compat.pycrfsuite as ours
from reference.chain_data import features, part

ROWS, Y = part("train", 50)
X = features(ROWS)
TEST, GOLD = part("test", 30)
T = features(TEST)


@contextmanager
def imported(replaced: bool) -> Iterator[Any]:
    """A fresh import of the package, on epigram or on python-crfsuite."""
    pytest.importorskip("sklearn_crfsuite")
    pytest.importorskip("sklearn")
    with patch.dict(sys.modules), patch.object(ours.BaseTrainer, "small_files", False):
        for name in list(sys.modules):
            if name.partition(".")[0] in ("sklearn_crfsuite", "pycrfsuite"):
                del sys.modules[name]
        if replaced:
            ours.replace_original()
        import sklearn_crfsuite
        import sklearn_crfsuite.metrics
        import sklearn_crfsuite.scorers

        yield sklearn_crfsuite


@pytest.fixture
def package() -> Iterator[Any]:
    with imported(replaced=True) as module:
        yield module


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd", "ap", "pa", "arow"])
def test_fit_predict_score(package: Any, algorithm: str) -> None:
    crf = package.CRF(algorithm=algorithm, max_iterations=12).fit(X, Y)
    assert isinstance(crf.tagger_, ours.Tagger)
    found = crf.predict(T)
    assert [len(one) for one in found] == [len(one) for one in GOLD]
    assert crf.score(T, GOLD) > 0.85
    assert crf.predict_single(T[0]) == list(found[0])
    assert len(crf.training_log_.iterations) == 12


def test_fitted_attributes(package: Any) -> None:
    crf = package.CRF(c1=0.1, c2=0.1, max_iterations=20, all_possible_transitions=True).fit(X, Y)
    assert sorted(crf.classes_) == sorted({label for y in Y for label in y})
    assert crf.num_attributes_ == len(crf.attributes_)
    assert "word:the" in crf.attributes_
    assert {a for a, _ in crf.state_features_} <= set(crf.attributes_)
    assert all(pair[0] in crf.classes_ for pair in crf.transition_features_)
    assert crf.size_ > 1000
    assert sum(crf.predict_marginals_single(T[0])[0].values()) == pytest.approx(1.0)
    assert list(map(len, crf.predict_marginals(T[:3]))) == list(map(len, T[:3]))


def test_weights_are_those_of_python_crfsuite() -> None:
    with imported(replaced=False) as package:
        theirs = package.CRF(c2=0.3).fit(X, Y)
        weights, labels = theirs.state_features_, theirs.predict(T)
    with imported(replaced=True) as package:
        mine = package.CRF(c2=0.3).fit(X, Y)
        assert set(mine.state_features_) == set(weights)
        assert mine.state_features_ == pytest.approx(weights, abs=0.02)
        assert list(mine.predict(T)) == list(labels)


def test_held_out_data_and_log(package: Any, capsys: pytest.CaptureFixture[str]) -> None:
    crf = package.CRF(max_iterations=3, verbose=True).fit(X, Y, T, GOLD)
    assert 0.5 < crf.training_log_.last_iteration["item_accuracy_float"] <= 1.0
    printed = capsys.readouterr().out
    assert "Iter 3 " in printed
    assert "Support" in printed
    with pytest.raises(ValueError, match="both X_dev and y_dev"):
        package.CRF().fit(X, Y, T)


def test_pickles_and_files(package: Any, tmp_path: Path) -> None:
    crf = package.CRF(max_iterations=5).fit(X, Y)
    again = pickle.loads(pickle.dumps(crf))
    assert again.predict_single(T[0]) == crf.predict_single(T[0])
    assert again.classes_ == crf.classes_
    path = str(tmp_path / "m.crfsuite")
    stored = package.CRF(max_iterations=5, model_filename=path).fit(X, Y)
    assert package.CRF(model_filename=path).predict_single(T[0]) == stored.predict_single(T[0])


def test_random_search_with_the_packages_scorers(package: Any) -> None:
    from sklearn.model_selection import RandomizedSearchCV

    search = RandomizedSearchCV(
        package.CRF(max_iterations=8),
        {"c1": [0.0, 0.1, 0.5], "c2": [0.01, 0.1]},
        n_iter=3,
        cv=2,
        random_state=0,
        error_score="raise",
        scoring=package.scorers.flat_accuracy,
    ).fit(X, Y)
    assert set(search.best_params_) == {"c1", "c2"}
    found = search.predict(T)
    assert search.score(T, GOLD) == package.metrics.flat_accuracy_score(GOLD, found) > 0.8
