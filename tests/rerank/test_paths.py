"""Settings chosen on held-out lists: the search on its ladder, the lists set apart, the length of a path, the file."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from epigram import FSLR, BLasso, Boosting, FBoosting, InputError, Perceptron, Reranker
from epigram.rerank import LearnedPath, NBest, RerankProblem, WeightPath
from epigram.rerank.model import LEARNERS, make_learner
from epigram.rerank.paths import Curves, long_enough, tune
from reference.rerank_lists import random_lists

TRAIN, DEV = random_lists(1, n_lists=40), random_lists(2, n_lists=20)


def made_up(learner: Any, errors: float) -> LearnedPath:
    """A path of one step with so many held-out errors."""
    one = np.ones(2)
    return LearnedPath(
        learner, WeightPath.empty(), Curves(one, one, one, np.array([errors + 1.0, errors])), 1.0
    )


@given(
    smoothing=st.sampled_from(Boosting.ladders["smoothing"]),
    shrinkage=st.sampled_from(Boosting.ladders["shrinkage"]),
)
def test_the_search_finds_the_lowest_point_of_a_valley(smoothing: float, shrinkage: float) -> None:
    """Wherever on the ladders it lies, at their ends too: all pairs of values are compared by hand."""

    def errors(learner: Boosting) -> float:
        return abs(np.log(learner.value("smoothing") / smoothing)) + abs(
            np.log(learner.value("shrinkage") / shrinkage)
        )

    best, trials = tune(Boosting(), lambda learner: made_up(learner, errors(learner)))
    grid = [
        errors(Boosting(smoothing=a, shrinkage=b))
        for a in Boosting.ladders["smoothing"]
        for b in Boosting.ladders["shrinkage"]
    ]
    assert best.dev_errors == min(grid) == 0.0
    assert best.learner == Boosting(None, smoothing, shrinkage)
    assert min(trial.dev_errors for trial in trials) == 0.0
    assert len({tuple(trial.settings.values()) for trial in trials}) == len(trials)


def test_given_settings_are_not_searched() -> None:
    tried: list[Any] = []

    def walk(learner: Any) -> LearnedPath:
        tried.append(learner)
        return made_up(learner, 1.0)

    tune(BLasso(eps=0.3), walk)
    assert {learner.eps for learner in tried} == {0.3}
    assert {learner.theta for learner in tried} == {0.0, 0.01}
    tried.clear()
    tune(FBoosting(), walk)
    assert {learner.theta for learner in tried} == {1e3}
    tried.clear()
    tune(BLasso(), walk, lambda: True)
    assert tried == [BLasso(eps=0.5, theta=0.0)]


def test_a_fit_takes_the_best_of_all_it_tried() -> None:
    model = Reranker(FSLR(), min_count=1).fit(TRAIN, dev=DEV)
    assert len(model.trials_) >= 3
    for trial in model.trials_:
        alone = Reranker(FSLR(steps=trial.steps, **trial.settings), min_count=1).fit(TRAIN, dev=DEV)
        assert alone.curves_.dev_errors[alone.step_] == trial.dev_errors
        assert alone.step_ == trial.step
    best = min(trial.dev_errors for trial in model.trials_)
    assert model.curves_.dev_errors[model.step_] == best
    assert asdict(model.learner_)["eps"] in [t.settings["eps"] for t in model.trials_ if t.dev_errors == best]
    assert model.learner == FSLR()


def test_the_last_tenth_is_held_out_where_something_is_open() -> None:
    model = Reranker(BLasso(eps=0.5, theta=0.0), min_count=1).fit(TRAIN)
    by_hand = Reranker(BLasso(eps=0.5, theta=0.0), min_count=1).fit(TRAIN[:36], dev=TRAIN[36:])
    assert model.n_held_out_ == 4
    np.testing.assert_array_equal(model.path_.deltas, by_hand.path_.deltas)
    np.testing.assert_array_equal(model.curves_.dev_errors, by_hand.curves_.dev_errors)
    given = Reranker(BLasso(steps=30, eps=0.5, theta=0.0), min_count=1).fit(TRAIN)
    assert (given.n_held_out_, given.step_, given.dev_length_) == (0, 30, None)
    few = Reranker(BLasso(), min_count=1).fit(TRAIN[:9])
    assert (few.n_held_out_, few.learner_, few.trials_) == (0, BLasso(20_000, 0.5, 0.0), [])
    none = Reranker(Boosting(), min_count=1, held_out=0.0).fit(TRAIN)
    assert none.learner_ == Boosting(20_000, 1e-4, 1.0)
    with pytest.raises(ValueError, match="held_out"):
        Reranker(held_out=1.0).fit(TRAIN)


def test_a_path_of_no_given_length_goes_half_as_far_again_as_its_best_step() -> None:
    def curves(best: int, steps: int) -> Curves:
        errors = np.full(steps + 1, 5.0)
        errors[best] = 4.0
        return Curves(errors, errors, errors, errors)

    assert not long_enough(BLasso(), curves(1, 9_999))
    assert long_enough(BLasso(), curves(1, 10_000))
    assert not long_enough(BLasso(), curves(20_000, 29_999))
    assert long_enough(BLasso(), curves(20_000, 30_000))
    assert not long_enough(BLasso(steps=40_000), curves(20_000, 30_000))
    problem = RerankProblem(NBest.from_lists(TRAIN), NBest.from_lists(DEV))
    learner = Perceptron(rate=1.0)
    walk = problem.walk(learner, None, lambda curves: long_enough(learner, curves))
    assert len(walk.path) == max(10, int(np.ceil(1.5 * walk.step)))


@pytest.mark.parametrize("name", LEARNERS)
def test_chosen_settings_are_stored(name: str, tmp_path: Path) -> None:
    steps = None if name in ("lasso", "softmax", "perceptron") else 20
    model = Reranker(make_learner(name, steps=steps), min_count=1).fit(TRAIN)
    model.save(tmp_path / "model.epigram")
    loaded = Reranker.load(tmp_path / "model.epigram")
    assert loaded.learner == model.learner
    assert loaded.learner_ == model.learner_
    assert loaded.trials_ == model.trials_
    assert loaded.n_held_out_ == model.n_held_out_ == 4
    assert None not in [getattr(loaded.learner_, setting) for setting in loaded.learner_.ladders]


def test_going_on_holds_out_the_same_lists(tmp_path: Path) -> None:
    learner = BLasso(eps=0.1, theta=0.0)
    short = Reranker(replace(learner, steps=None), min_count=1, patience=1).fit(TRAIN)
    short.save(tmp_path / "model.epigram")
    longer = Reranker.load(tmp_path / "model.epigram").resume(TRAIN, steps=len(short.path_) + 100)
    whole = Reranker(replace(learner, steps=len(short.path_) + 100), min_count=1).fit(
        TRAIN[:36], dev=TRAIN[36:]
    )
    np.testing.assert_allclose(longer.path_.losses, whole.path_.losses, rtol=1e-9)
    np.testing.assert_array_equal(longer.curves_.dev_errors, whole.curves_.dev_errors)


def test_settings_that_a_learner_does_not_have_are_refused() -> None:
    with pytest.raises(
        InputError, match="eps has no meaning for boosting, which has steps, smoothing, shrinkage"
    ):
        make_learner("boosting", eps=0.5)
    with pytest.raises(InputError, match="unknown learner 'magic'"):
        make_learner("magic")
    with pytest.raises(InputError, match="smoothing must be > 0"):
        make_learner("boosting", smoothing=0.0)
