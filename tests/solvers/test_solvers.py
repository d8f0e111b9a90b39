"""Every loss with every penalty and every solver: the triples that fit reach a minimum, the others say what to use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from epigram import (
    FISTA,
    L1,
    L2,
    LBFGS,
    OWLQN,
    SGD,
    AdaGrad,
    ElasticNet,
    L1Ball,
    NBest,
    StochasticProximal,
    TreeL2,
    TreeLinf,
)
from epigram.chain.loss import ChainLoss
from epigram.lm.corpus import Corpus
from epigram.lm.factored.classes import WordClasses
from epigram.lm.factored.contexts import Contexts
from epigram.lm.factored.loss import Factor, FactorLoss
from epigram.lm.loglinear.loss import SuffixLoss
from epigram.lm.loglinear.tree import ContextTree, Positions
from epigram.protocols import BatchLoss, Steps, StochasticLoss
from epigram.rerank import FeatureSpace
from epigram.rerank.losses import ExponentialLoss, PairLoss, SoftmaxLoss
from epigram.rerank.pairs import Pairs
from epigram.solvers.adagrad import AdaptiveLoss
from epigram.solvers.proximal import MiniBatchLoss
from reference.chain_corpus import CASES, corpus
from reference.rerank_lists import random_lists


class Bowl:
    """Batch only: sum (w - target)^2 / 2."""

    n_samples, n_weights = 1, 5

    def __init__(self, seed: int = 0) -> None:
        self.target = np.random.default_rng(seed).normal(0.0, 2.0, 5)

    def value_and_gradient(self, w: np.ndarray, out: np.ndarray) -> float:
        out[:] = w - self.target
        return 0.5 * float(out @ out)


class Walker:
    """Stochastic only: the same bowl, one coordinate a sample."""

    n_samples = n_weights = 5

    def __init__(self, seed: int = 0) -> None:
        self.target = Bowl(seed).target

    def sgd_pass(self, method: str, steps: Steps, w: np.ndarray, q: np.ndarray) -> float:
        order, rates, penalties, _ = steps
        met = 0.0
        for k, s in enumerate(order):
            met += 0.5 * (w[s] - self.target[s]) ** 2
            z = w[s] - rates[k] * (w[s] - self.target[s])
            u = penalties[k + 1]
            w[s] = max(0.0, z - (u + q[s])) if z > 0 else min(0.0, z + (u - q[s]))
            q[s] += w[s] - z
        return met


def chain(seed: int, index: int = 0) -> ChainLoss:
    text = corpus(CASES[index], seed)
    return ChainLoss(text.sequences, text.labels, text.layout, text.weights)


def text(seed: int) -> Corpus:
    rng = np.random.default_rng(seed)
    return Corpus.of([[f"w{k}" for k in rng.zipf(1.6, 5) % 7] for _ in range(8)])


def suffix(seed: int) -> SuffixLoss:
    positions = Positions.of(text(seed))
    return SuffixLoss(ContextTree.grow(positions, 3), positions=positions)


def factor(seed: int) -> FactorLoss:
    words = text(seed)
    class_of = 1 + np.arange(len(words.vocabulary), dtype=np.int32) % 2
    class_of[0] = 0
    part = Factor("word", WordClasses(words.vocabulary, class_of), Contexts.parse("c1 w1; c2"))
    return part.loss(Positions.of(words), 1)


def pairs(seed: int, kind: type[PairLoss]) -> PairLoss:
    lists = NBest.from_lists(random_lists(seed))
    return kind(Pairs.of(lists, FeatureSpace.collect(lists, 1, 1)))


def forest(n: int) -> list[int]:
    """Parents: every node hangs below an earlier one or is a root."""
    return [int(parent) for parent in np.random.default_rng(n).integers(-1, np.arange(n))]


LOSSES: dict[str, Callable[[int], Any]] = {
    "chain": chain,
    "maxent": lambda seed: chain(seed, 9),
    "batch": Bowl,
    "stochastic": Walker,
    "suffix": suffix,
    "factor": factor,
    "exponential": lambda seed: pairs(seed, ExponentialLoss),
    "softmax": lambda seed: pairs(seed, SoftmaxLoss),
}
PENALTIES: dict[str, Callable[[int, float], Any]] = {
    "l1": lambda n, price: L1(price),
    "l2": lambda n, price: L2(price),
    "elastic net": lambda n, price: ElasticNet(price, price / 2),
    "l1 with prices": lambda n, price: L1(price, weights=np.linspace(0.5, 1.5, n)),
    "l1 of one sign": lambda n, price: L1(price, nonnegative=True),
    "l1 ball": lambda n, price: L1Ball(1.0 / price),
    "l1 ball with prices": lambda n, price: L1Ball(1.0 / price, weights=np.linspace(0.5, 1.5, n)),
    "tree l2": lambda n, price: TreeL2(price, forest(n)),
    "tree linf": lambda n, price: TreeLinf(price, forest(n)),
    "none": lambda n, price: None,
}
SOLVERS: dict[str, Callable[[], Any]] = {
    "SGD": lambda: SGD(passes=40, eta0=0.2),
    "AdaGrad": lambda: AdaGrad(passes=60, eta0=0.5),
    "OWLQN": lambda: OWLQN(tolerance=1e-8),
    "LBFGS": lambda: LBFGS(tolerance=1e-8),
    "FISTA": lambda: FISTA(tolerance=1e-12, max_iterations=5000),
    "StochasticProximal": lambda: StochasticProximal(batch_size=20, passes=200, tolerance=1e-9),
}
WITH_PROX = set(PENALTIES) - {"none"}
BATCH = set(LOSSES) - {"stochastic"}
FITS_PENALTY = {
    "SGD": {"l1"},
    "AdaGrad": {"l1"},
    "OWLQN": {"l1", "elastic net"},
    "LBFGS": {"l2"},
    "FISTA": WITH_PROX,
    "StochasticProximal": WITH_PROX,
}
FITS_LOSS = {
    "SGD": {"chain", "maxent", "stochastic"},
    "AdaGrad": {"chain", "maxent"},
    "OWLQN": BATCH,
    "LBFGS": BATCH,
    "FISTA": BATCH,
    "StochasticProximal": {"suffix", "factor"},
}
IN_PASSES = {"SGD", "AdaGrad"}
INEXACT = {*IN_PASSES, "StochasticProximal"}
TRIPLES = [(loss, penalty, solver) for loss in LOSSES for penalty in PENALTIES for solver in SOLVERS]
FITTING = [
    (loss, penalty, solver)
    for loss, penalty, solver in TRIPLES
    if loss in FITS_LOSS[solver] and penalty in FITS_PENALTY[solver]
]
MISFITS = [triple for triple in TRIPLES if triple not in FITTING]


def objective_of(loss: Any, penalty: Any) -> Callable[[np.ndarray], float]:
    """loss + penalty at any weights."""
    if isinstance(loss, Walker):
        walked, loss = loss, Bowl()
        loss.target = walked.target
    spare = np.empty(loss.n_weights)

    def objective(w: np.ndarray) -> float:
        return float(loss.value_and_gradient(w, spare)) + (0.0 if penalty is None else penalty.value(w))

    return objective


def test_the_losses_are_of_the_kinds_named() -> None:
    for name, make in LOSSES.items():
        assert isinstance(make(0), BatchLoss) == (name in FITS_LOSS["FISTA"])
        assert isinstance(make(0), StochasticLoss) == (name in FITS_LOSS["SGD"])
        assert isinstance(make(0), AdaptiveLoss) == (name in FITS_LOSS["AdaGrad"])
        assert isinstance(make(0), MiniBatchLoss) == (name in FITS_LOSS["StochasticProximal"])


@pytest.mark.parametrize(("loss_name", "penalty_name", "solver_name"), FITTING)
def test_fitting_triples_reach_a_minimum(loss_name: str, penalty_name: str, solver_name: str) -> None:
    loss = LOSSES[loss_name](0)
    penalty = PENALTIES[penalty_name](loss.n_weights, 0.4)
    result = SOLVERS[solver_name]().solve(loss, penalty)
    objective = objective_of(loss, penalty)
    here = objective(result.w)
    assert here < objective(np.zeros(loss.n_weights))
    if solver_name != "SGD":
        assert result.objective == pytest.approx(here)
    slack = 0.05 if solver_name in INEXACT else 1e-7
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-1):
        for _ in range(20):
            nearby = result.w + size * rng.normal(size=loss.n_weights)
            assert here <= objective(nearby) + slack * max(1.0, abs(here))


SHORT: dict[str, Callable[[], Any]] = {
    **SOLVERS,
    "SGD": lambda: SGD(passes=8, eta0=0.05),
    "AdaGrad": lambda: AdaGrad(passes=8, eta0=0.2),
    "OWLQN": lambda: OWLQN(max_iterations=15),
    "LBFGS": lambda: LBFGS(max_iterations=15),
    "FISTA": lambda: FISTA(max_iterations=15),
    "StochasticProximal": lambda: StochasticProximal(batch_size=20, passes=5),
}


@pytest.mark.parametrize("part", range(10))
def test_a_thousand_random_problems_stay_finite_and_do_not_rise(part: int) -> None:
    """Every fitting triple in turn, with data and a price of its own; solvers are cut short on purpose."""
    for seed in range(100 * part, 100 * (part + 1)):
        loss_name, penalty_name, solver_name = FITTING[seed % len(FITTING)]
        rng = np.random.default_rng(seed)
        loss = LOSSES[loss_name](seed)
        penalty = PENALTIES[penalty_name](loss.n_weights, float(np.exp(rng.uniform(-4.0, 1.5))))
        start = np.zeros(loss.n_weights)
        if penalty is not None and solver_name not in IN_PASSES:
            penalty.prox(rng.normal(size=loss.n_weights), 1.0, start)
        result = SHORT[solver_name]().solve(loss, penalty, start)
        objective, where = objective_of(loss, penalty), (seed, loss_name, penalty_name, solver_name)
        assert np.isfinite(result.w).all(), where
        assert np.isfinite(result.objective), where
        slack = 1e-3 if solver_name in INEXACT else 1e-9  # a random step from the minimum leads away from it
        assert objective(result.w) <= objective(start) * (1.0 + slack) + 1e-9, where


@pytest.mark.parametrize("radius", [1e3, 1e9])
def test_fista_in_a_large_ball_steps_back_into_the_range_of_exp(radius: float) -> None:
    """So many copies of a text that a first step along the gradient puts its scores out of that range."""
    text = corpus(CASES[0], 0)
    loss = ChainLoss(text.sequences, text.labels, text.layout, np.full(text.sequences.n_sentences, 1e6))
    met: list[float] = []

    class Recorder:
        n_weights, n_samples = loss.n_weights, loss.n_samples

        def value_and_gradient(self, w: np.ndarray, out: np.ndarray) -> float:
            met.append(float(np.abs(w).max()))
            return loss.value_and_gradient(w, out)

    result = FISTA(max_iterations=200).solve(Recorder(), L1Ball(radius))
    assert met[1] > 900.0  # exp(709) is the last number
    assert np.isfinite(result.w).all()
    at_zero = loss.value_and_gradient(np.zeros(loss.n_weights), np.empty(loss.n_weights))
    assert result.objective < 0.5 * at_zero


@pytest.mark.parametrize(("loss_name", "penalty_name", "solver_name"), MISFITS)
def test_misfits_say_what_to_use_instead(loss_name: str, penalty_name: str, solver_name: str) -> None:
    loss = LOSSES[loss_name](0)
    penalty = PENALTIES[penalty_name](loss.n_weights, 0.4)
    with pytest.raises(TypeError) as error:
        SOLVERS[solver_name]().solve(loss, penalty)
    named = type(penalty if loss_name in FITS_LOSS[solver_name] else loss).__name__
    assert str(error.value).startswith(f"{solver_name} needs ")
    assert f"; {named} is not that. Use " in str(error.value)
