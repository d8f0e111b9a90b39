"""The l1 ball: projections against enumeration and by their defining properties, and training under a limit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from epigram import FISTA, L1, L1Ball
from epigram.chain.loss import ChainLoss
from epigram.penalties import project_l1
from epigram.protocols import Floats, L1Penalty, ProximalPenalty
from reference.chain_corpus import CASES, corpus
from reference.l1_ball import project

N = 5
vectors = hnp.arrays(np.float64, N, elements=st.floats(-10, 10) | st.sampled_from([0.0, 1.0, -1.0, 2.0]))
positive = hnp.arrays(np.float64, N, elements=st.floats(0.01, 5))
prices = hnp.arrays(np.float64, N, elements=st.just(0.0) | st.floats(0.05, 3))
radii = st.floats(0.01, 20)
steps = st.floats(0.01, 5) | positive


@st.composite
def balls(draw: st.DrawFn) -> L1Ball:
    return L1Ball(draw(radii), draw(st.none() | prices), draw(st.booleans()))


def prox(ball: L1Ball, w: Floats, step: float | Floats) -> Floats:
    out = np.full_like(w, np.nan)
    ball.prox(w, step, out)
    return out


@given(ball=balls(), w=vectors, step=steps)
@settings(max_examples=200)
def test_projection_is_the_nearest_of_all_supports(ball: L1Ball, w: Floats, step: float | Floats) -> None:
    weights = np.ones(N) if ball.weights is None else ball.weights
    expected = project(w, ball.radius, np.broadcast_to(step, N), weights, ball.nonnegative)
    np.testing.assert_allclose(prox(ball, w, step), expected, atol=1e-9)


@given(ball=balls(), w=vectors, step=steps)
def test_it_is_inside_and_at_the_border_if_it_moved(ball: L1Ball, w: Floats, step: float | Floats) -> None:
    found = prox(ball, w, step)
    assert ball.value(found) == 0.0
    clipped = np.maximum(w, 0.0) if ball.nonnegative else w
    if not np.array_equal(found, clipped):
        weights = np.ones(N) if ball.weights is None else ball.weights
        assert weights @ np.abs(found) == pytest.approx(ball.radius, rel=1e-9)
    np.testing.assert_allclose(prox(ball, found, step), found, atol=1e-9)


@given(ball=balls(), a=vectors, b=vectors, step=steps)
def test_it_is_firmly_non_expansive_in_its_metric(
    ball: L1Ball, a: Floats, b: Floats, step: float | Floats
) -> None:
    moved = prox(ball, a, step) - prox(ball, b, step)
    assert np.sum(moved**2 / step) <= np.sum(moved * (a - b) / step) + 1e-8


@given(w=vectors, radius=radii, order=st.permutations(range(N)))
def test_order_and_sign_do_not_matter(w: Floats, radius: float, order: list[int]) -> None:
    plain, turned = np.empty(N), np.empty(N)
    project_l1(w, radius, plain)
    project_l1(-w[order], radius, turned)
    np.testing.assert_allclose(turned, -plain[order], atol=1e-9)


@given(ball=balls(), w=vectors, step=steps)
def test_in_place_and_input_left_alone(ball: L1Ball, w: Floats, step: float | Floats) -> None:
    kept = w.copy()
    expected = prox(ball, w, step)
    assert np.array_equal(w, kept)
    ball.prox(w, step, w)
    assert np.array_equal(w, expected)


@pytest.mark.parametrize("ties", [False, True])
def test_many_weights(ties: bool) -> None:
    """Against sorting (Duchi et al., Figure 1)."""
    w = np.random.default_rng(1).normal(size=50_000)
    w = np.round(w, 1) if ties else w
    out = np.empty_like(w)
    project_l1(w, 100.0, out)
    falling = np.sort(np.abs(w))[::-1]
    thetas = (np.cumsum(falling) - 100.0) / np.arange(1, w.size + 1)
    theta = thetas[np.flatnonzero(falling > thetas)[-1]]
    np.testing.assert_allclose(out, np.sign(w) * np.maximum(np.abs(w) - theta, 0.0), atol=1e-10)


def test_what_it_is_and_what_it_refuses() -> None:
    assert isinstance(L1Ball(1.0), ProximalPenalty)
    assert not isinstance(L1Ball(1.0), L1Penalty)
    for bad in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="radius must be finite and above 0"):
            L1Ball(bad)
    with pytest.raises(ValueError, match="weights must be finite and >= 0"):
        L1Ball(1.0, weights=[1.0, -1.0])
    assert L1Ball(1.0, nonnegative=True).value(np.array([-0.1])) == np.inf


class SquaredError:
    """1/2 ||X w - y||^2, strictly convex where X has full rank."""

    n_samples, n_weights = 40, 8

    def __init__(self) -> None:
        rng = np.random.default_rng(2)
        self.X = rng.normal(size=(40, 8))
        self.y = self.X @ np.array([3.0, -2.0, 1.0, 0.0, 0.0, 0.5, 0.0, 0.0]) + rng.normal(size=40)

    def value_and_gradient(self, w: Floats, out: Floats) -> float:
        residual = self.X @ w - self.y
        out[:] = self.X.T @ residual
        return 0.5 * float(residual @ residual)


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2.0, 8)])
@pytest.mark.parametrize("strength", [1.0, 10.0, 40.0])
def test_a_limit_is_a_price(strength: float, weights: Floats | None) -> None:
    """The solution at the price c is the solution on the ball of its own size."""
    loss, solver = SquaredError(), FISTA(1e-15, 20_000)
    priced = solver.solve(loss, L1(strength, weights)).w
    radius = L1(1.0, weights).value(priced)
    limited = solver.solve(loss, L1Ball(radius, weights)).w
    np.testing.assert_allclose(limited, priced, atol=1e-6)


def test_a_limit_is_a_price_for_chains() -> None:
    text = corpus(CASES[0])
    loss = ChainLoss(text.sequences, text.labels, text.layout, text.weights)
    solver, spare = FISTA(1e-13, 20_000), np.empty(loss.n_weights)
    priced = solver.solve(loss, L1(0.3)).w
    limited = solver.solve(loss, L1Ball(float(np.abs(priced).sum())))
    assert np.abs(limited.w).sum() <= np.abs(priced).sum() * (1.0 + 1e-9)
    assert limited.objective == pytest.approx(loss.value_and_gradient(priced, spare), rel=1e-6)
