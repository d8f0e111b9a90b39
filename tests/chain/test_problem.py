"""The storey between estimators and losses: the same minimum, the same model, penalties and solvers as objects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from epigram import (
    L1,
    L2,
    OWLQN,
    SGD,
    CRFTagger,
    ElasticNet,
    L1Ball,
    MaxentClassifier,
    MaxentTagger,
)
from epigram.errors import InputError
from reference.chain_data import TEMPLATE, part

ROWS, LABELS = part("train", 80)
TEST_ROWS, TEST_LABELS = part("test", 40)


def same_weights(one: Any, other: Any) -> None:
    assert one.table.names(range(len(one.table))) == other.table.names(range(len(other.table)))
    np.testing.assert_array_equal(one.w, other.w)


@pytest.mark.parametrize("kind", [CRFTagger, MaxentTagger])
def test_a_problem_is_what_fit_minimises(kind: Any) -> None:
    estimator = kind(TEMPLATE, l1=0.5, solver=OWLQN(max_iterations=8), min_count=2)
    problem = estimator.problem(ROWS, LABELS)
    result = OWLQN(max_iterations=8).solve(problem.loss, L1(0.5))
    estimator.fit(ROWS, LABELS)
    same_weights(problem.model(result.w), estimator.model_)
    assert estimator.fit_["objective"] == result.objective
    if kind is CRFTagger:
        score = problem.scorer(TEST_ROWS, TEST_LABELS)(result.w)
        report = estimator.fit(ROWS, LABELS, dev=(TEST_ROWS, TEST_LABELS)).history_
        assert score == report[-1]["dev_score"]


def test_a_classifier_has_a_problem_too() -> None:
    X, y = [{"a": 1.0}, {"b": 2.0}, {"a": 1.0, "b": 0.5}], [3, 1, 3]
    problem = MaxentClassifier(l1=0.1).problem(X, y)
    w = OWLQN(tolerance=1e-6).solve(problem.loss, L1(0.1)).w
    same_weights(problem.model(w), MaxentClassifier(l1=0.1).fit(X, y).model_)


def test_a_loss_leaves_its_sentences_alone() -> None:
    problem = CRFTagger(TEMPLATE).problem(ROWS, LABELS)
    sequences = problem.samples.sequences
    given = [array.copy() for array in (sequences.attributes, sequences.values)]
    sequences.attributes.flags.writeable = sequences.values.flags.writeable = False
    type(problem.loss)(sequences, problem.loss.labels, problem.layout)
    np.testing.assert_array_equal(sequences.attributes, given[0])


@pytest.mark.parametrize(
    ("penalty", "strengths"),
    [(L1(0.5), {"l1": 0.5}), (L2(0.5), {"l1": 0, "l2": 0.5}), (ElasticNet(0.5, 0.1), {"l1": 0.5, "l2": 0.1})],
)
@pytest.mark.parametrize("kind", [CRFTagger, MaxentTagger])
def test_penalties_as_objects_are_those_of_the_strengths(kind: Any, penalty: Any, strengths: Any) -> None:
    one = kind(TEMPLATE, penalty=penalty).fit(ROWS[:30], LABELS[:30])
    other = kind(TEMPLATE, **strengths).fit(ROWS[:30], LABELS[:30])
    same_weights(one.model_, other.model_)
    again = kind.from_bytes(one.to_bytes())
    assert type(again.penalty) is type(penalty)
    assert vars(again.penalty) == vars(penalty)
    for tagger in (one, other):
        tagger.partial_fit(ROWS[30:40], LABELS[30:40])
    same_weights(one.model_, other.model_)


def test_a_ball_is_trained_in_and_kept_in() -> None:
    tagger = CRFTagger(TEMPLATE, penalty=L1Ball(20.0)).fit(ROWS, LABELS)
    assert np.abs(tagger.model_.w).sum() == pytest.approx(20.0)
    assert CRFTagger.from_bytes(tagger.to_bytes()).penalty.radius == 20.0  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="partial_fit takes a plain L1, L2 or ElasticNet"):
        tagger.partial_fit(ROWS, LABELS)


def test_solvers_by_name_have_the_estimators_seed() -> None:
    names = CRFTagger(TEMPLATE, l1=0.5, solver="sgd", random_state=7).fit(ROWS[:20], LABELS[:20])
    same_weights(
        names.model_,
        CRFTagger(TEMPLATE, l1=0.5, solver=SGD(random_state=7)).fit(ROWS[:20], LABELS[:20]).model_,
    )
    assert CRFTagger.from_bytes(names.to_bytes()).solver == "sgd"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"solver": "newton"}, "solver must be one of sgd, .*, or an object, not 'newton'"),
        ({"solver": 3}, "solver must be a name or have a method solve; 3 has not"),
        ({"penalty": "l1"}, "penalty must be None or an object such as L1"),
        ({"pairs": "some"}, "pairs must be 'seen' or 'all', not 'some'"),
    ],
)
def test_settings_that_make_no_sense_are_named(settings: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        CRFTagger(TEMPLATE, **settings).fit(ROWS[:3], LABELS[:3])
    with pytest.raises(InputError, match="no tokens"):
        CRFTagger(TEMPLATE).problem([], [])
