"""Solvers by name: defaults by the penalty, and refusals of settings and penalties that do not fit."""

from __future__ import annotations

from typing import Any

import pytest

from epigram.errors import InputError
from epigram.penalties import L1, L2, ElasticNet
from epigram.solvers import FISTA, LBFGS, OWLQN, SGD, AdaGrad, StochasticProximal
from epigram.solvers.make import make


@pytest.mark.parametrize(
    ("penalty", "kind"),
    [(L2(1.0), LBFGS), (L1(1.0), SGD), (ElasticNet(1.0, 1.0), OWLQN), (L1(1.0, nonnegative=True), FISTA)],
)
def test_the_default_solver_fits_the_penalty(penalty: Any, kind: type) -> None:
    assert type(make(None, penalty)) is kind


def test_settings_and_seed_reach_the_solver() -> None:
    made: Any = make("adagrad", random_state=7, passes=3, eta0=None)
    assert (type(made), made.random_state, made.passes, made.eta0) == (AdaGrad, 7, 3, AdaGrad().eta0)
    quasi: Any = make("owlqn", passes=9, threads=2)
    assert (quasi.max_iterations, quasi.threads, quasi.settled) == (9, 2, 0.0)
    stochastic: Any = make("stochastic", random_state=5)
    assert (type(stochastic), stochastic.seed) == (StochasticProximal, 5)
    given = SGD()
    assert make(given, L2(1.0)) is given


@pytest.mark.parametrize(
    ("name", "penalty", "settings", "said"),
    [
        ("sgd", L2(1.0), {}, "sgd takes l1 only"),
        ("adagrad", ElasticNet(1.0, 1.0), {}, "adagrad takes l1 only"),
        ("lbfgs", L1(1.0), {}, "lbfgs takes l2 only"),
        ("owlqn", L2(1.0), {}, "owlqn needs l1 above 0"),
        ("lbfgs", None, {"batch_size": 2}, "batch_size is not a setting of the solver lbfgs"),
        ("owlqn", None, {"passes": "auto"}, "passes='auto' is for the solver sgd"),
        ("sgd", None, {"nonsense": 2}, "nonsense is not a setting of any solver"),
        ("magic", None, {}, "solver must be one of sgd, adagrad"),
        (3, None, {}, "solver must be a name or have a method solve"),
    ],
)
def test_misfits_are_refused(name: Any, penalty: Any, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        make(name, penalty, **settings)
