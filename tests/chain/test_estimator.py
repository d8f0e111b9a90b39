"""scikit-learn's estimator checks for the taggers: those that need no matrix as they are, the others on sentences."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.utils import estimator_checks, get_tags
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted

from epigram import SGD, CRFTagger, MaxentTagger
from reference.chain_data import TEMPLATE, part

ROWS, LABELS = part("train", 30)
FAST = SGD(passes=3, eta0=0.5)
MATRIX_FREE = [
    "check_estimator_cloneable",
    "check_estimator_tags_renamed",
    "check_valid_tag_types",
    "check_estimator_repr",
    "check_no_attributes_set_in_init",
    "check_estimators_unfitted",
    "check_do_not_raise_errors_in_init_or_set_param",
    "check_mixin_order",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
    "check_estimator_get_tags_default_keys",
]
KINDS: list[Callable[..., Any]] = [CRFTagger, MaxentTagger]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [name for name in MATRIX_FREE if hasattr(estimator_checks, name)])
def test_checks_that_need_no_matrix(kind: Callable[..., Any], name: str) -> None:
    getattr(estimator_checks, name)(kind.__name__, kind())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore:Can't test estimator")
def test_scikit_learn_knows_that_samples_are_sentences(kind: Callable[..., Any]) -> None:
    tags = get_tags(kind())
    assert not tags.input_tags.two_d_array
    assert tags.input_tags.dict
    assert tags.target_tags.required
    assert not is_classifier(
        kind()
    )  # its predictions are sequences, which scikit-learn's classifiers have not
    assert all(result["status"] == "passed" for result in check_estimator(kind()))


@pytest.mark.parametrize("kind", KINDS)
def test_the_other_checks_on_sentences(kind: Callable[..., Any]) -> None:
    tagger = kind(TEMPLATE, l1=0.3, solver=FAST)
    settings = tagger.get_params()
    kept = pickle.dumps((ROWS, LABELS))
    assert tagger.fit(ROWS, LABELS) is tagger
    check_is_fitted(tagger)
    assert tagger.get_params() == settings  # fit overwrites no parameters
    assert pickle.dumps((ROWS, LABELS)) == kept  # nor what it is given
    before = vars(tagger).copy()
    first = tagger.predict(ROWS)
    assert vars(tagger) == before  # predicting changes nothing
    assert tagger.fit(ROWS, LABELS).predict(ROWS) == first  # fitting again is fitting
    assert clone(tagger).fit(ROWS, LABELS).predict(ROWS) == first
    assert [tagger.predict([sentence])[0] for sentence in ROWS] == first  # subsets
    order = np.random.default_rng(0).permutation(len(ROWS)).tolist()
    assert tagger.predict([ROWS[k] for k in order]) == [first[k] for k in order]
    assert tagger.predict(tuple(ROWS)) == first
    unit = clone(tagger).fit(ROWS, LABELS, sample_weight=np.ones(len(ROWS)))
    assert unit.predict(ROWS) == first
    assert unit.model_.w.tobytes() == tagger.model_.w.tobytes()
    assert list(inspect.signature(tagger.fit).parameters)[:3] == ["X", "y", "sample_weight"]
    assert list(inspect.signature(tagger.score).parameters)[:2] == ["X", "y"]
