"""OWL-QN and L-BFGS at their solutions: optimality residuals, other minimisers, and the two-loop recursion by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from epigram import FISTA, L1, L2, LBFGS, OWLQN, ElasticNet
from epigram._core.threads import FEW
from epigram.chain.loss import ChainLoss
from epigram.protocols import Iteration
from epigram.solvers.quasi_newton import _History
from reference.chain_corpus import CASES, Case, corpus


class Logistic:
    """Binary logistic regression with dense columns: a second loss, so that nothing hangs on chains."""

    def __init__(self, n: int = 60, d: int = 12, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.X = rng.normal(size=(n, d))
        self.y = np.sign(self.X @ rng.normal(size=d) * (np.arange(d) < 4).mean() + rng.normal(size=n))
        self.n_samples, self.n_weights = n, d

    def value_and_gradient(self, w: np.ndarray, out: np.ndarray) -> float:
        margins = self.y * (self.X @ w)
        out[:] = -(self.X.T @ (self.y / (1.0 + np.exp(margins))))
        return float(np.logaddexp(0.0, -margins).sum())


class Squares:
    """1/2 sum scale (w - at)^2: the lasso has its solution in closed form."""

    def __init__(self, scale: np.ndarray, at: np.ndarray) -> None:
        self.scale, self.at, self.n_weights, self.n_samples = scale, at, at.size, 1

    def value_and_gradient(self, w: np.ndarray, out: np.ndarray) -> float:
        out[:] = self.scale * (w - self.at)
        return 0.5 * float(out @ (w - self.at))


def loss_of(case: Case | None) -> Logistic | ChainLoss:
    if case is None:
        return Logistic()
    text = corpus(case)
    return ChainLoss(text.sequences, text.labels, text.layout, text.weights)


LOSSES = [None, CASES[0], CASES[3], CASES[9], CASES[11]]


def residual(loss: Logistic | ChainLoss, w: np.ndarray, l1: float, l2: float) -> float:
    """The largest violation of 0 in the subdifferential of loss + l1 |w| + l2 w^2."""
    g = np.empty_like(w)
    loss.value_and_gradient(w, g)
    g += 2.0 * l2 * w
    at_zero = np.maximum(np.abs(g) - l1, 0.0)
    return float(np.where(w == 0.0, at_zero, np.abs(g + l1 * np.sign(w))).max())


@pytest.mark.parametrize("case", LOSSES, ids=str)
@pytest.mark.parametrize(("l1", "l2"), [(0.3, 0.0), (1.0, 0.0), (0.2, 0.1)])
def test_owlqn_is_optimal(case: Case | None, l1: float, l2: float) -> None:
    loss = loss_of(case)
    result = OWLQN(tolerance=1e-8).solve(loss, ElasticNet(l1, l2) if l2 else L1(l1))
    assert result.reason == "converged"
    assert residual(loss, result.w, l1, l2) < 1e-5


@pytest.mark.parametrize("case", LOSSES, ids=str)
def test_lbfgs_is_optimal_and_equals_scipys(case: Case | None) -> None:
    loss = loss_of(case)
    result = LBFGS(tolerance=1e-8).solve(loss, L2(0.3))
    assert residual(loss, result.w, 0.0, 0.3) < 1e-5

    def objective(w: np.ndarray) -> tuple[float, np.ndarray]:
        g = np.empty_like(w)
        value = loss.value_and_gradient(w, g)
        return value + 0.3 * float(w @ w), g + 0.6 * w

    other = minimize(objective, np.zeros(loss.n_weights), jac=True, method="BFGS", options={"gtol": 1e-8})
    assert result.objective == pytest.approx(other.fun, rel=1e-9)
    np.testing.assert_allclose(result.w, other.x, atol=1e-4)


@pytest.mark.parametrize("case", LOSSES, ids=str)
def test_owlqn_equals_fista(case: Case | None) -> None:
    loss = loss_of(case)
    ours = OWLQN(tolerance=1e-8).solve(loss, L1(0.5))
    theirs = FISTA(tolerance=1e-12, max_iterations=5000).solve(loss, L1(0.5))
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-7)
    np.testing.assert_array_equal(ours.w != 0.0, theirs.w != 0.0)


def test_a_strong_penalty_leaves_nothing() -> None:
    loss = loss_of(None)
    g = np.empty(loss.n_weights)
    loss.value_and_gradient(np.zeros(loss.n_weights), g)
    result = OWLQN().solve(loss, L1(float(np.abs(g).max()) * 1.001))
    assert (result.iterations, result.reason) == (0, "converged")
    assert not result.w.any()
    weaker = OWLQN(tolerance=1e-7).solve(loss, L1(float(np.abs(g).max()) * 0.98))
    assert np.count_nonzero(weaker.w) == 1


def test_objective_falls_and_callback_sees_it() -> None:
    met: list[Iteration] = []
    loss = loss_of(CASES[0])
    result = OWLQN(tolerance=1e-7).solve(loss, L1(0.2), callback=lambda one: met.append(one))
    objectives = [one.objective for one in met]
    assert [one.number for one in met] == list(range(1, result.iterations + 1))
    assert all(a >= b for a, b in itertools.pairwise(objectives))
    assert result.objective == objectives[-1]
    assert met[-1].optimality == result.optimality
    assert met[-1].nonzero == np.count_nonzero(result.w)
    assert result.optimality is not None
    assert result.optimality <= 1e-7


def test_callback_stops_and_limit_is_told() -> None:
    loss = loss_of(CASES[0])
    stopped = OWLQN(tolerance=1e-9).solve(loss, L1(0.2), callback=lambda one: one.number == 3)
    assert (stopped.iterations, stopped.reason) == (3, "callback")
    limited = OWLQN(tolerance=1e-9, max_iterations=2).solve(loss, L1(0.2))
    assert (limited.iterations, limited.reason) == (2, "limit")


def test_start_changes_the_way_not_the_end() -> None:
    loss = loss_of(CASES[0])
    cold = OWLQN(tolerance=1e-7).solve(loss, L1(0.3))
    warm = OWLQN(tolerance=1e-7).solve(loss, L1(0.3), start=cold.w)
    assert (warm.iterations, warm.reason) == (0, "converged")
    far = OWLQN(tolerance=1e-7).solve(loss, L1(0.3), start=np.full(loss.n_weights, 2.0))
    assert far.objective == pytest.approx(cold.objective, rel=1e-9)


def test_it_stops_where_rounding_hides_the_rest() -> None:
    result = OWLQN(tolerance=1e-15).solve(loss_of(CASES[0]), L1(0.3))
    assert result.reason == "converged"
    assert result.iterations < 300


def test_threads_reach_the_same_optimum() -> None:
    text = corpus(CASES[10])
    results = [
        OWLQN(tolerance=1e-8, threads=of_solver).solve(
            ChainLoss(text.sequences, text.labels, text.layout, threads=of_loss), L1(0.2)
        )
        for of_loss, of_solver in ((1, 1), (2, 1), (1, 2), (2, 2))
    ]
    for result in results[1:]:
        assert result.objective == pytest.approx(results[0].objective, rel=1e-9)


def test_threads_of_a_loss_are_not_those_of_the_solver() -> None:
    loss = loss_of(CASES[0])
    alone = OWLQN(tolerance=1e-7).solve(loss, L1(0.3))
    loss.threads = 3  # what the loss says of itself, without another value of it
    assert np.array_equal(OWLQN(tolerance=1e-7).solve(loss, L1(0.3)).w, alone.w)
    with pytest.raises(ValueError, match="threads must be at least 1"):
        OWLQN(threads=0).solve(loss, L1(0.3))


def test_direction_is_minus_the_bfgs_inverse_hessian_times_g() -> None:
    """The recursion on inner products against BFGS updates of a full matrix; small integers are exact as float32."""
    rng = np.random.default_rng(0)
    d, memory = 6, 3
    A = rng.integers(-3, 4, size=(d, d))
    A = A @ A.T + np.eye(d)
    history = _History(memory, d)
    pairs = []
    for _ in range(5):
        s = rng.integers(-9, 10, size=d).astype(float)
        history.push(s, 0 * s, A @ s, 0 * s)
        history.direction(s)
        pairs.append((s, A @ s))
    s, y = pairs[-1]
    H = np.eye(d) * (s @ y) / (y @ y)
    for s, y in pairs[-memory:]:
        rho = 1.0 / (s @ y)
        V = np.eye(d) - rho * np.outer(y, s)
        H = V.T @ H @ V + rho * np.outer(s, s)
    g = rng.normal(size=d)
    np.testing.assert_allclose(history.direction(g), -H @ g, rtol=1e-9)


@pytest.mark.parametrize("scale", [2.0**-400, 2.0**-60, 2.0**300])
def test_the_direction_does_not_depend_on_the_size_of_pairs(scale: float) -> None:
    """Near the minimum moves are far smaller than float32 can say; only their shape counts."""
    rng = np.random.default_rng(1)
    pairs = [(s, 2.0 * s + rng.normal(size=5) / 9) for s in rng.normal(size=(4, 5))]
    large, small, zero = _History(3, 5), _History(3, 5), np.zeros(5)
    for s, y in pairs:
        large.push(s, zero, y, zero)
        small.push(scale * s, zero, scale * y, zero)
        assert np.array_equal(large.direction(s), small.direction(s))


def test_vectors_in_threads_are_those_in_one() -> None:
    rng = np.random.default_rng(2)
    loss = Squares(rng.uniform(0.5, 2.0, 2 * FEW), rng.normal(size=2 * FEW))
    alone, shared, again = (OWLQN(tolerance=1e-7, threads=k).solve(loss, L1(0.3)) for k in (1, 3, 3))
    exact = np.sign(loss.at) * np.maximum(np.abs(loss.at) - 0.3 / loss.scale, 0.0)
    assert np.array_equal(shared.w, again.w)
    for result in (alone, shared):
        np.testing.assert_allclose(result.w, exact, atol=1e-5)
    assert shared.objective == pytest.approx(alone.objective, rel=1e-12)


def test_pairs_without_curvature_are_left_out() -> None:
    history = _History(2, 3)
    one, zero = np.ones(3), np.zeros(3)
    history.push(one, zero, -one, zero)
    history.push(one, zero, zero, zero)
    assert history.slots == []


@pytest.mark.parametrize(
    "settings", [{"memory": 0}, {"tolerance": 0.0}, {"tolerance": -1.0}, {"max_iterations": 0}]
)
def test_bad_settings_are_named(settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be at least 1 and tolerance positive, not"):
        OWLQN(**settings).solve(loss_of(None), L1(1.0))  # type: ignore[arg-type]


def test_settles_where_ten_iterations_gain_less_than_the_share() -> None:
    loss = Logistic(60, 40)
    loss.X *= np.logspace(-2, 1, 40)
    met: list[float] = []

    def keep(now: Iteration) -> bool:
        met.append(now.objective)
        return False

    exact = OWLQN(tolerance=1e-9).solve(loss, L1(0.1), callback=keep)
    share = 0.02
    gains = [met[k - 10] - met[k] < share * met[k] for k in range(10, len(met))]
    found = OWLQN(tolerance=1e-9, settled=share).solve(loss, L1(0.1))
    assert found.reason == "settled"
    assert found.iterations == 11 + gains.index(True) < exact.iterations
