"""The reranker in scikit-learn's hands: clone, parameters, grid search, cross-validation, lists in columns."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from epigram import FSLR, BLasso, Boosting, Reranker
from epigram.rerank import NBest
from reference.rerank_lists import random_lists

LISTS = random_lists(1, n_lists=40, named=True)
EASY = [
    {"reference": "a b", "candidates": [{"text": "a c", "score": -1.0}, {"text": "a b", "score": -1.5}]}
] * 8


def test_score_is_minus_the_error_rate() -> None:
    model = Reranker(BLasso(20, 0.5, 0.0), min_count=1).fit(EASY)
    assert model.score(EASY) == 0.0
    assert model.at(0).score(EASY) == -50.0 == -model.at(0).error_rate(EASY)
    assert isinstance(model.score(EASY), float)


@pytest.mark.parametrize("lists", [EASY, NBest.from_lists(EASY)], ids=["dictionaries", "NBest"])
def test_grid_search_picks_what_makes_fewer_errors(lists: object) -> None:
    grid = {"learner": [BLasso(0, 0.5, 0.0), BLasso(20, 0.5, 0.0), Boosting(0, 1e-3, 1.0)], "ngrams": [1, 2]}
    search = GridSearchCV(Reranker(min_count=1), grid, cv=2).fit(lists)
    assert search.best_params_ == {"learner": BLasso(20, 0.5, 0.0), "ngrams": 1}
    assert search.best_score_ == 0.0
    assert search.best_estimator_.predict(lists).tolist() == [1] * 8


def test_cross_validation_equals_the_folds_by_hand() -> None:
    model, lists = Reranker(FSLR(30, 0.5), min_count=1, chars=1), NBest.from_lists(LISTS)
    scores = cross_val_score(model, lists, cv=KFold(4))
    by_hand = []
    for train, test in KFold(4).split(LISTS):
        fold = clone(model).fit([LISTS[i] for i in train])
        by_hand.append(fold.score([LISTS[i] for i in test]))
    np.testing.assert_allclose(scores, by_hand)
    np.testing.assert_allclose(cross_val_score(model, LISTS, cv=KFold(4)), by_hand)


def test_fit_leaves_parameters_alone() -> None:
    model = Reranker(Boosting(steps=20), ngrams=1)
    before = model.get_params()
    model.fit(LISTS)
    assert model.get_params() == before
    assert model.learner_ != model.learner
    again = clone(model).set_params(chars=2)
    assert again.get_params() == {**before, "chars": 2}
    assert not hasattr(again, "weights_")


def test_lists_can_be_cut_and_joined() -> None:
    lists = NBest.from_lists(LISTS)
    lists.tags = [["N"] * int(n) for n in np.diff(lists.token_ptr)]
    pieces = [lists[5:40], lists[0], lists[1:5]]
    assert [len(piece) for piece in pieces] == [35, 1, 4]
    again = NBest.joined([pieces[1], pieces[2], pieces[0]])
    assert again.ids == lists.ids
    assert [again.words(c) for c in range(again.n_candidates)] == [
        lists.words(c) for c in range(lists.n_candidates)
    ]
    for name in ("list_ptr", "token_ptr", "scores", "named_ptr", "named_values"):
        np.testing.assert_array_equal(getattr(again, name), getattr(lists, name))
    assert [again.names[k] for k in again.named] == [lists.names[k] for k in lists.named]
    assert (again.references, again.texts, again.tags) == (lists.references, lists.texts, lists.tags)
    np.testing.assert_array_equal(again.errors(), lists.errors())
    with pytest.raises(IndexError):
        lists[40]
