"""The problem between estimator and loss gives what the estimator fits."""

from __future__ import annotations

import numpy as np
import pytest

from epigram import L1, L2, ElasticNet
from epigram.errors import InputError
from epigram.lm.corpus import Corpus
from epigram.lm.factored.model import ClassFactoredLM
from epigram.lm.loglinear.model import LogLinearLM
from epigram.lm.loglinear.penalties import Strength, build_penalty
from epigram.lm.loglinear.problem import Problem
from epigram.solvers.proximal import FISTA

TEXT = ["a rose is a rose", "a tulip is red", "a rose is red", "red is a colour"]
OTHER = ["a tulip is a rose", "red"]


@pytest.mark.parametrize("penalty", ["elastic", "tree-linf"])
@pytest.mark.parametrize("nonnegative", [True, False])
def test_solving_it_is_fitting_the_estimator(penalty, nonnegative):
    strength = Strength(0.3, 1.1, 0.05 if penalty == "elastic" else 0.0)
    corpus = Corpus.of(TEXT)
    other = Corpus.of(OTHER, corpus.vocabulary)
    problem = Problem.of(corpus, 3, penalty, nonnegative=nonnegative, held_out=other)
    result = problem.solve(FISTA(1e-10, 2000), strength)
    settings = {
        "strength": 0.3,
        "depth_weight": 1.1,
        "ridge": 0.05,
        "tolerance": 1e-10,
        "open_vocabulary": False,
    }
    fitted = LogLinearLM(3, penalty, nonnegative=nonnegative, max_iterations=2000, **settings).fit(
        TEXT, valid=OTHER
    )
    np.testing.assert_allclose(result.w, fitted.weights_, atol=1e-12)
    assert problem.perplexity(result.w) == pytest.approx(fitted.perplexity(OTHER))
    assert fitted.valid_perplexity_ == pytest.approx(fitted.perplexity(OTHER))
    own = build_penalty(penalty, problem.tree, strength, nonnegative)
    assert result.objective == pytest.approx(problem.loss.value(result.w) + own.value(result.w))
    np.testing.assert_allclose(
        problem.model(result.w).distribution("is a"), fitted.distribution("is a"), atol=1e-12
    )


def test_without_held_out_text_there_is_no_perplexity():
    problem = Problem.of(Corpus.of(TEXT), 2)
    assert np.isnan(problem.perplexity(np.zeros(problem.loss.n_weights)))


def test_a_search_reads_and_locates_each_text_once(monkeypatch):
    from epigram.lm.loglinear.tree import Positions

    made = []
    original = Positions.of
    monkeypatch.setattr(Positions, "of", staticmethod(lambda corpus: made.append(corpus) or original(corpus)))
    LogLinearLM(2, max_weights=5).fit(TEXT * 3, valid=OTHER)
    assert len(made) == 2


@pytest.mark.parametrize(
    ("given", "name", "numbers"),
    [
        (L1(0.3), "l1", {"strength": 0.3}),
        (L2(0.2), "l2", {"strength": 0.2}),
        (ElasticNet(0.3, 0.05), "elastic", {"strength": 0.3, "ridge": 0.05}),
    ],
    ids=["l1", "l2", "elastic"],
)
def test_a_penalty_object_is_its_name_and_numbers(tmp_path, given, name, numbers):
    by_object = LogLinearLM(order=3, penalty=given, depth_weight=1.2).fit(TEXT)
    by_name = LogLinearLM(order=3, penalty=name, depth_weight=1.2, **numbers).fit(TEXT)
    np.testing.assert_array_equal(by_object.weights_, by_name.weights_)
    assert by_object.strength_ == by_name.strength_
    assert by_object.trials_ == []
    by_object.save(tmp_path / "m")
    again = LogLinearLM.load(tmp_path / "m")
    assert (again.penalty, again.strength_) == (name, by_name.strength_)
    both = Strength(numbers["strength"], 1.0, numbers.get("ridge", 0.0))
    settings = {"classes": 4, "order": 3, "budget": 0}
    factored = ClassFactoredLM(penalty=given, **settings).fit(TEXT)
    same = ClassFactoredLM(penalty=name, class_strength=both, word_strength=both, **settings).fit(TEXT)
    np.testing.assert_array_equal(factored.distribution("a"), same.distribution("a"))
    factored.save(tmp_path / "f", text=True)
    assert ClassFactoredLM.load(tmp_path / "f").partial_fit(TEXT[:2]).penalty == name


def test_other_penalties_are_refused_before_any_work():
    for wrong in ("l3", L1(0.3, weights=np.ones(3)), object()):
        for model in (LogLinearLM(penalty=wrong), ClassFactoredLM(penalty=wrong)):
            with pytest.raises(InputError, match="penalty"):
                model.fit(TEXT)
