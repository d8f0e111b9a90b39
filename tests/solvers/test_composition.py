"""Every loss with every penalty and every solver: the triples that fit reach a minimum, the others say what to use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from epigram import FISTA, L1, L2, LBFGS, OWLQN, SGD, ElasticNet, StochasticProximal
from epigram.protocols import BatchLoss, StochasticLoss
from epigram.tagging.loss import ChainLoss
from reference.chain_corpus import CASES, corpus


class Bowl:
    """Batch only: sum (w - target)^2 / 2."""

    n_samples = 1

    def __init__(self, n_weights: int = 5) -> None:
        self.n_weights = n_weights
        self.target = np.linspace(-2.0, 2.0, n_weights)

    def value_and_gradient(self, w: np.ndarray, out: np.ndarray) -> float:
        out[:] = w - self.target
        return 0.5 * float(out @ out)


class Walker:
    """Stochastic only: the same bowl, one coordinate a sample."""

    n_samples = n_weights = 5
    target = np.linspace(-2.0, 2.0, 5)

    def sgd_pass(
        self,
        method: str,
        order: np.ndarray,
        rates: np.ndarray,
        penalties: np.ndarray,
        batch_size: int,
        w: np.ndarray,
        q: np.ndarray,
    ) -> float:
        met = 0.0
        for k, s in enumerate(order):
            met += 0.5 * (w[s] - self.target[s]) ** 2
            z = w[s] - rates[k] * (w[s] - self.target[s])
            u = penalties[k + 1]
            w[s] = max(0.0, z - (u + q[s])) if z > 0 else min(0.0, z + (u - q[s]))
            q[s] += w[s] - z
        return met


def chain(index: int) -> Callable[[], ChainLoss]:
    def make() -> ChainLoss:
        text = corpus(CASES[index])
        return ChainLoss(text.sequences, text.labels, text.layout, text.weights)

    return make


LOSSES: dict[str, Callable[[], Any]] = {
    "chain": chain(0),
    "maxent": chain(9),
    "batch": Bowl,
    "stochastic": Walker,
}
PENALTIES: dict[str, Callable[[int], Any]] = {
    "l1": lambda n: L1(0.4),
    "l2": lambda n: L2(0.4),
    "elastic net": lambda n: ElasticNet(0.4, 0.2),
    "l1 with prices": lambda n: L1(0.4, weights=np.linspace(0.5, 1.5, n)),
    "l1 of one sign": lambda n: L1(0.4, nonnegative=True),
}
SOLVERS: dict[str, Callable[[], Any]] = {
    "SGD": lambda: SGD(passes=40, eta0=0.2),
    "OWLQN": lambda: OWLQN(tolerance=1e-8),
    "LBFGS": lambda: LBFGS(tolerance=1e-8),
    "FISTA": lambda: FISTA(tolerance=1e-12, max_iterations=5000),
}
FITS_PENALTY = {
    "SGD": {"l1"},
    "OWLQN": {"l1", "elastic net"},
    "LBFGS": {"l2"},
    "FISTA": set(PENALTIES),
}
FITS_LOSS = {
    "SGD": {"chain", "maxent", "stochastic"},
    "OWLQN": {"chain", "maxent", "batch"},
    "LBFGS": {"chain", "maxent", "batch"},
    "FISTA": {"chain", "maxent", "batch"},
}
TRIPLES = [(loss, penalty, solver) for loss in LOSSES for penalty in PENALTIES for solver in SOLVERS]
FITTING = [
    (loss, penalty, solver)
    for loss, penalty, solver in TRIPLES
    if loss in FITS_LOSS[solver] and penalty in FITS_PENALTY[solver]
]
MISFITS = [triple for triple in TRIPLES if triple not in FITTING]


def test_the_losses_are_of_the_kinds_named() -> None:
    for name, make in LOSSES.items():
        assert isinstance(make(), BatchLoss) == (name != "stochastic")
        assert isinstance(make(), StochasticLoss) == (name != "batch")


@pytest.mark.parametrize(("loss_name", "penalty_name", "solver_name"), FITTING)
def test_fitting_triples_reach_a_minimum(loss_name: str, penalty_name: str, solver_name: str) -> None:
    loss = LOSSES[loss_name]()
    penalty = PENALTIES[penalty_name](loss.n_weights)
    result = SOLVERS[solver_name]().solve(loss, penalty)
    batch = Bowl() if loss_name == "stochastic" else loss
    ignored = np.empty(loss.n_weights)

    def objective(w: np.ndarray) -> float:
        return float(batch.value_and_gradient(w, ignored)) + penalty.value(w)

    slack = 0.05 if solver_name == "SGD" else 1e-7
    here = objective(result.w)
    assert here < objective(np.zeros(loss.n_weights))
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-1):
        for _ in range(20):
            nearby = result.w + size * rng.normal(size=loss.n_weights)
            assert here <= objective(nearby) + slack * max(1.0, abs(here))
    if solver_name != "SGD":
        assert result.objective == pytest.approx(here)


@pytest.mark.parametrize(("loss_name", "penalty_name", "solver_name"), MISFITS)
def test_misfits_say_what_to_use_instead(loss_name: str, penalty_name: str, solver_name: str) -> None:
    loss = LOSSES[loss_name]()
    penalty = PENALTIES[penalty_name](loss.n_weights)
    with pytest.raises(TypeError, match=rf"^{solver_name} needs .* is not that\. Use .*\.$") as error:
        SOLVERS[solver_name]().solve(loss, penalty)
    named = type(penalty if loss_name in FITS_LOSS[solver_name] else loss).__name__
    assert f"; {named} is not that" in str(error.value)


def test_stochastic_proximal_says_that_chains_do_not_fit() -> None:
    with pytest.raises(TypeError, match="StochasticProximal needs"):
        StochasticProximal().solve(chain(0)(), L1(0.1))
