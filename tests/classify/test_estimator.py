"""scikit-learn's estimator checks for the text classifier: those that need no matrix, the others on texts."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks, get_tags
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted

from epigram import TextClassifier
from tests.chain.test_estimator import MATRIX_FREE
from tests.classify.test_classify import reviews

TEXTS, LABELS = reviews(120, noise=0.0)
FAST = TextClassifier(words=1, l2=0.03)


@pytest.mark.parametrize("name", [name for name in MATRIX_FREE if hasattr(estimator_checks, name)])
def test_checks_that_need_no_matrix(name: str) -> None:
    getattr(estimator_checks, name)("TextClassifier", TextClassifier())


@pytest.mark.filterwarnings("ignore:Can't test estimator")
def test_scikit_learn_knows_that_samples_are_texts() -> None:
    tags = get_tags(TextClassifier())
    assert tags.input_tags.string
    assert not tags.input_tags.two_d_array
    assert is_classifier(TextClassifier())
    assert all(result["status"] in ("passed", "skipped") for result in check_estimator(TextClassifier()))


def test_the_other_checks_on_texts() -> None:
    classifier = clone(FAST)
    settings, kept = classifier.get_params(), pickle.dumps((TEXTS, LABELS))
    assert classifier.fit(TEXTS, LABELS) is classifier
    check_is_fitted(classifier)
    assert classifier.get_params() == settings
    assert pickle.dumps((TEXTS, LABELS)) == kept
    before = vars(classifier).copy()
    first = classifier.predict_proba(TEXTS)
    assert vars(classifier) == before
    assert clone(classifier).fit(TEXTS, LABELS).predict_proba(TEXTS).tolist() == first.tolist()
    assert classifier.predict_proba(np.array(TEXTS)).tolist() == first.tolist()
    one_by_one = np.concatenate([classifier.predict_proba([text]) for text in TEXTS])
    assert one_by_one.tolist() == first.tolist()
    assert pickle.loads(pickle.dumps(classifier)).predict_proba(TEXTS).tolist() == first.tolist()
    assert (classifier.predict(TEXTS) == classifier.classes_[first.argmax(axis=1)]).all()
    assert ((classifier.decision_function(TEXTS) > 0) == (first[:, 1] > 0.5)).all()


def test_equal_weights_stand_for_copies_and_for_none() -> None:
    ones = clone(FAST).fit(TEXTS, LABELS, sample_weight=np.ones(120)).predict_proba(TEXTS)
    assert np.allclose(ones, clone(FAST).fit(TEXTS, LABELS).predict_proba(TEXTS))


def test_searches_pipelines_and_scorers() -> None:
    search = GridSearchCV(
        make_pipeline(FunctionTransformer(), clone(FAST)),
        {"textclassifier__l2": [0.03, 10.0]},
        cv=2,
        scoring="neg_log_loss",
    )
    assert search.fit(TEXTS, LABELS).best_params_ == {"textclassifier__l2": 0.03}
    weighted = {"sample_weight": np.arange(120.0)}
    assert cross_val_score(FAST, TEXTS, LABELS, cv=3, scoring="roc_auc", params=weighted).mean() > 0.9
    assert cross_val_predict(FAST, TEXTS, LABELS, cv=3, method="predict_proba").shape == (120, 2)
    assert CalibratedClassifierCV(FAST, cv=2).fit(TEXTS, LABELS).predict_proba(TEXTS).shape == (120, 2)
