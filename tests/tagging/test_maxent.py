"""MaxentClassifier: scikit-learn's checks, scikit-learn's LogisticRegression, and features by name."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from epigram import L1, LBFGS, OWLQN, SGD, AdaGrad, MaxentClassifier
from epigram.errors import DataWarning, InputError

SPAM = [
    "free money now",
    "meeting at noon",
    "free lunch money",
    "noon meeting notes",
    "win money free",
    "notes at noon",
]
KINDS = np.array(["spam", "ham", "spam", "ham", "spam", "ham"])


@parametrize_with_checks([MaxentClassifier(), MaxentClassifier(l1=0.0, l2=0.5)])
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def problem(n_classes: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 6)) * (rng.random((150, 6)) < 0.7)
    scores = X @ rng.normal(size=(6, n_classes)) + rng.normal(size=(150, n_classes))
    return X, scores.argmax(axis=1)


def softmax_objective(model: Any, X: np.ndarray, y: np.ndarray, l1: float, l2: float) -> float:
    """Loss plus penalty on coefficients and intercepts, by hand."""
    scores = X @ model.coef_.T + model.intercept_
    norms = np.logaddexp.reduce(scores, axis=1)
    weights = np.append(model.coef_.ravel(), model.intercept_)
    return float(
        (norms - scores[np.arange(len(y)), y]).sum() + l1 * np.abs(weights).sum() + l2 * (weights**2).sum()
    )


@pytest.mark.parametrize("n_classes", [3, 9])
@pytest.mark.parametrize(("l1", "l2"), [(0.0, 0.5), (1.0, 0.0), (0.5, 0.2)])
def test_it_is_scikit_learns_logistic_regression(n_classes: int, l1: float, l2: float) -> None:
    """scikit-learn does not penalise the intercept, so both learn one from a column of ones that is penalised."""
    X, y = problem(n_classes)
    ours = MaxentClassifier(l1=l1, l2=l2).fit(X, y)
    ones = np.column_stack([X, np.ones(len(X))])
    total = l1 + 2.0 * l2
    older = {"penalty": "elasticnet"} if l1 and LogisticRegression().penalty == "l2" else {}  # before 1.8
    theirs = LogisticRegression(
        C=1.0 / total,
        l1_ratio=l1 / total,
        **older,
        solver="saga" if l1 else "lbfgs",
        fit_intercept=False,
        tol=1e-7,
        max_iter=20_000,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs.fit(ones, y)
    np.testing.assert_allclose(np.column_stack([ours.coef_, ours.intercept_]), theirs.coef_, atol=2e-3)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(ones), atol=1e-3)
    assert softmax_objective(ours, X, y, l1, l2) == pytest.approx(ours.fit_["objective"], rel=1e-9)


def test_two_classes_are_scikit_learns_with_half_the_penalty() -> None:
    """Two opposite rows of weights w/2 cost half of what one row w costs under l2."""
    X, y = problem(2)
    ours = MaxentClassifier(l1=0.0, l2=1.0, solver=LBFGS(tolerance=1e-8)).fit(X, y)
    ones = np.column_stack([X, np.ones(len(X))])
    theirs = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-8, max_iter=5000).fit(ones, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(ones), atol=1e-5)


def test_dense_sparse_and_named_features_are_one() -> None:
    X, y = problem()
    named = [{f"x{j}": value for j, value in enumerate(row)} for row in X.tolist()]
    solver = OWLQN(tolerance=1e-8)
    models = [
        MaxentClassifier(solver=solver).fit(form, y)
        for form in (X, sparse.csr_matrix(X), sparse.csc_array(X), named, iter(named))
    ]
    chances = [
        model.predict_proba(form)
        for model, form in zip(
            models, (X, sparse.csr_matrix(X), sparse.coo_array(X), named, iter(named)), strict=True
        )
    ]
    for other in chances[1:]:
        np.testing.assert_allclose(other, chances[0], atol=1e-6)
    np.testing.assert_array_equal(models[1].coef_, models[0].coef_)


def test_the_callers_matrix_is_left_alone() -> None:
    X = sparse.csr_matrix(np.array([[1.0, 0.0], [0.0, 2.0]]))
    X.data[0] = 0.0
    kept = X.copy()
    MaxentClassifier().fit(X, [0, 1]).predict(X)
    assert X.nnz == kept.nnz == 2
    np.testing.assert_array_equal(X.indices, kept.indices)


def test_text_classification_in_a_pipeline() -> None:
    pipeline = make_pipeline(CountVectorizer(), MaxentClassifier(l1=0.1)).fit(SPAM, KINDS)
    assert pipeline.predict(["free money", "noon notes", "nothing known"])[:2].tolist() == ["spam", "ham"]
    assert pipeline.score(SPAM, KINDS) == 1.0
    search = GridSearchCV(pipeline, {"maxentclassifier__l1": [0.1, 50.0]}, cv=2).fit(SPAM, KINDS)
    assert search.best_params_ == {"maxentclassifier__l1": 0.1}
    assert (
        cross_val_score(MaxentClassifier(l1=0.1), [text.split() for text in SPAM], KINDS, cv=2).min() >= 0.5
    )


def test_features_as_dicts_and_lists() -> None:
    lists = [text.split() for text in SPAM]
    dicts = [dict.fromkeys(words, 1.0) for words in lists]
    a = MaxentClassifier(l1=0.1).fit(lists, KINDS)
    b = MaxentClassifier(l1=0.1).fit(dicts, KINDS)
    np.testing.assert_allclose(a.predict_proba(lists), b.predict_proba(dicts), atol=1e-5)
    assert a.predict([["money", "unheard-of"]]).tolist() == ["spam"]
    assert a.predict([[]]).shape == (1,)
    np.testing.assert_allclose(a.predict_proba([["unheard-of"]]), a.predict_proba([[]]))
    np.testing.assert_allclose(np.exp(a.predict_log_proba(lists)), a.predict_proba(lists))


def test_sgd_comes_close_to_owlqn() -> None:
    X, y = problem()
    exact = MaxentClassifier(l1=1.0).fit(X, y)
    passes = MaxentClassifier(l1=1.0, solver=SGD(passes=40, eta0=0.1)).fit(X, y)
    assert passes.fit_["objective"] == pytest.approx(exact.fit_["objective"], rel=0.02)
    assert passes.fit_["objective"] >= exact.fit_["objective"] * (1 - 1e-6)


def test_sample_weights_and_class_weights() -> None:
    X, y = problem(2)
    weights = np.where(np.arange(len(y)) < 30, 2.0, 1.0)
    weighted = MaxentClassifier().fit(X, y, sample_weight=weights)
    doubled = MaxentClassifier().fit(np.vstack([X, X[:30]]), np.concatenate([y, y[:30]]))
    np.testing.assert_allclose(weighted.coef_, doubled.coef_, atol=1e-4)
    by_class = MaxentClassifier(class_weight={0: 2.0, 1: 1.0}).fit(X, y)
    by_sample = MaxentClassifier().fit(X, y, sample_weight=np.where(y == 0, 2.0, 1.0))
    np.testing.assert_allclose(by_class.coef_, by_sample.coef_, atol=1e-9)
    balanced = MaxentClassifier(class_weight="balanced").fit(X, y)
    share = len(y) / (2 * np.bincount(y))
    by_share = MaxentClassifier(class_weight=dict(enumerate(share))).fit(X, y)
    np.testing.assert_allclose(balanced.coef_, by_share.coef_, atol=1e-9)


@pytest.mark.parametrize("classes", [[3, 7], ["no", "yes"], [True, False]])
def test_classes_keep_their_type_through_files(classes: list[Any]) -> None:
    X, y = problem(2)
    target = np.array(classes)[y]
    fitted = MaxentClassifier(class_weight={target[0].item(): 2.0}).fit(X, target)
    for again in (MaxentClassifier.from_bytes(fitted.to_bytes()), pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
        np.testing.assert_array_equal(again.classes_, fitted.classes_)
        assert again.classes_.dtype == fitted.classes_.dtype
        assert again.class_weight == fitted.class_weight
        np.testing.assert_allclose(again.coef_, fitted.coef_, rtol=1e-6)
        np.testing.assert_allclose(again.predict_proba(X), fitted.predict_proba(X), atol=1e-6)
        assert again.n_features_in_ == 6


def test_threads_change_nothing_that_matters() -> None:
    X, y = problem()
    one, two = (MaxentClassifier(threads=n).fit(X, y) for n in (1, 2))
    np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-4)


def test_history_and_callback() -> None:
    X, y = problem()
    fitted = MaxentClassifier().fit(X, y, callback=lambda entry: entry["iteration"] == 2)
    assert [entry["iteration"] for entry in fitted.history_] == [1, 2]
    assert fitted.n_iter_ == 2
    assert fitted.fit_["stopped"] == "callback"


def test_errors_are_named() -> None:
    X, y = problem()
    with pytest.raises(NotFittedError):
        MaxentClassifier().predict(X)
    with pytest.raises(NotFittedError):
        MaxentClassifier().predict_proba([["a"]])
    with pytest.raises(InputError, match="2 classes for 1 samples"):
        MaxentClassifier().fit([["a"]], ["x", "y"])
    with pytest.raises(InputError, match="the target y is None"):
        MaxentClassifier().fit([["a"]], None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="LBFGS needs"):
        MaxentClassifier(l1=1.0, solver=LBFGS()).fit(X, y)
    by_name = MaxentClassifier().fit([["a"], ["b"]], ["x", "y"])
    with pytest.raises(InputError, match="trained on features by name"):
        by_name.predict(X)
    with pytest.raises(ValueError, match="features"):
        MaxentClassifier().fit(X, y).predict(X[:, :3])


def test_a_refit_forgets_the_matrix() -> None:
    X, y = problem()
    model = MaxentClassifier(l1=0.1).fit(X, y)
    model.fit([text.split() for text in SPAM], KINDS)
    assert model.predict([["money"]]).tolist() == ["spam"]
    assert not hasattr(clone(model), "n_features_in_")
    assert not hasattr(model, "n_features_in_")


def unit_rows(n: int, seed: int = 0, size: int = 1000) -> tuple[np.ndarray, np.ndarray]:
    """Texts of four topics as rows of length 1: a few words of the topic among many others, as tf-idf has them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n)
    words = [np.append(rng.integers(100 * k, 100 * k + 100, 8), rng.zipf(1.3, 60) % size) for k in y]
    X = np.array([np.bincount(row, minlength=size).astype(float) for row in words])
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


@pytest.mark.parametrize(
    ("solver", "penalty"),
    [
        (SGD(passes=10), L1(0.3)),
        (SGD(passes=10, schedule="exponential"), L1(0.3)),
        (AdaGrad(passes=10), L1(0.3)),
    ],
)
def test_automatic_rates_learn_from_rows_of_unit_length(solver: Any, penalty: Any) -> None:
    X, y = unit_rows(1500)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        classifier = MaxentClassifier(penalty=penalty, solver=solver).fit(X, y)
    assert classifier.fit_["objective"] < 0.6 * len(y) * np.log(4)
    assert classifier.score(*unit_rows(500, seed=1)) > 0.85


@pytest.mark.parametrize("settings", [{"l1": 1e4}, {"l1": 0.3, "solver": SGD(eta0=1e-9, passes=2)}])
def test_a_training_that_lowers_nothing_says_so(settings: dict[str, Any]) -> None:
    with pytest.warns(DataWarning, match="did not lower the objective"):
        MaxentClassifier(**settings).fit(*unit_rows(200))
