"""The problem between estimator and loss gives what the estimator fits."""

from __future__ import annotations

import numpy as np
import pytest

from epigram.lm.corpus import Corpus
from epigram.lm.loglinear.model import LogLinearLM
from epigram.lm.loglinear.penalty import Strength, build_penalty
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
    settings = {"strength": 0.3, "depth_weight": 1.1, "ridge": 0.05, "tolerance": 1e-10}
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
