"""Separable penalties: the prox is what it claims to be, against brute force and its defining properties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from epigram.penalties import L1, L2, ElasticNet
from epigram.protocols import Floats, L1Penalty, L2Penalty, ProximalPenalty

N = 5
vectors = hnp.arrays(np.float64, N, elements=st.floats(-10, 10))
positive = hnp.arrays(np.float64, N, elements=st.floats(0.01, 5))
strengths = st.floats(0, 3)


@st.composite
def penalties(draw: st.DrawFn) -> L1 | L2 | ElasticNet:
    weights = draw(st.none() | hnp.arrays(np.float64, N, elements=st.floats(0, 3)))
    nonnegative = draw(st.booleans())
    kind = draw(st.sampled_from([L1, L2, ElasticNet]))
    numbers = [draw(strengths) for _ in range(2 if kind is ElasticNet else 1)]
    return kind(*numbers, weights=weights, nonnegative=nonnegative)


steps = st.floats(0.01, 5) | positive


def prox(penalty: ProximalPenalty, w: Floats, step: float | Floats) -> Floats:
    out = np.full_like(w, np.nan)
    penalty.prox(w, step, out)
    return out


def surrogate(penalty: ProximalPenalty, v: Floats, w: Floats, step: float | Floats) -> float:
    return float(0.5 * np.sum((v - w) ** 2 / step) + penalty.value(v))


@given(penalty=penalties(), w=vectors, step=steps)
@settings(max_examples=40)
def test_prox_is_the_best_point_of_a_fine_grid(
    penalty: ProximalPenalty, w: Floats, step: float | Floats
) -> None:
    """The problem splits over coordinates, so brute force looks at each alone."""
    found = prox(penalty, w, step)
    best = surrogate(penalty, found, w, step)
    assert np.isfinite(best)
    for k in range(N):
        for value in np.linspace(-11, 11, 221):
            other = found.copy()
            other[k] = value
            assert best <= surrogate(penalty, other, w, step) + 1e-9


@given(penalty=penalties(), w=vectors, step=steps, direction=vectors, length=st.floats(1e-6, 1))
def test_prox_beats_every_neighbour(
    penalty: ProximalPenalty, w: Floats, step: float | Floats, direction: Floats, length: float
) -> None:
    found = prox(penalty, w, step)
    neighbour = found + length * direction
    assert surrogate(penalty, found, w, step) <= surrogate(penalty, neighbour, w, step) + 1e-9


@given(penalty=penalties(), a=vectors, b=vectors, step=steps)
def test_prox_is_firmly_non_expansive_in_its_metric(
    penalty: ProximalPenalty, a: Floats, b: Floats, step: float | Floats
) -> None:
    moved = prox(penalty, a, step) - prox(penalty, b, step)
    assert np.sum(moved**2 / step) <= np.sum(moved * (a - b) / step) + 1e-9


@given(penalty=penalties(), step=steps)
def test_zero_stays_zero(penalty: ProximalPenalty, step: float | Floats) -> None:
    assert np.array_equal(prox(penalty, np.zeros(N), step), np.zeros(N))
    assert penalty.value(np.zeros(N)) == 0.0


@given(penalty=penalties(), w=vectors, step=steps)
def test_prox_in_place_and_input_left_alone(
    penalty: ProximalPenalty, w: Floats, step: float | Floats
) -> None:
    kept = w.copy()
    expected = prox(penalty, w, step)
    assert np.array_equal(w, kept)
    penalty.prox(w, step, w)
    assert np.array_equal(w, expected)


@given(penalty=penalties(), w=vectors)
def test_value_term_by_term(penalty: L1 | L2 | ElasticNet, w: Floats) -> None:
    weights = np.ones(N) if penalty.weights is None else penalty.weights
    l1, l2 = getattr(penalty, "l1", 0.0), getattr(penalty, "l2", 0.0)
    expected = sum(c * (l1 * abs(x) + l2 * x * x) for c, x in zip(weights, w, strict=True))
    if penalty.nonnegative and min(w) < 0:
        expected = np.inf
    assert penalty.value(w) == pytest.approx(expected, abs=1e-9)


@given(w=vectors, l1=strengths, l2=strengths, step=steps)
@settings(max_examples=30)
def test_elastic_net_is_both(w: Floats, l1: float, l2: float, step: float | Floats) -> None:
    assert np.array_equal(prox(ElasticNet(l1, 0.0), w, step), prox(L1(l1), w, step))
    assert np.array_equal(prox(ElasticNet(0.0, l2), w, step), prox(L2(l2), w, step))


@given(w=vectors, l1=st.floats(0.1, 3))
@settings(max_examples=30)
def test_l1_makes_exact_zeros(w: Floats, l1: float) -> None:
    assert np.array_equal(prox(L1(l1), w, 1.0) == 0, np.abs(w) <= l1)


def test_what_each_penalty_has() -> None:
    assert isinstance(L1(1.0), L1Penalty)
    assert isinstance(L2(1.0), L2Penalty)
    assert not isinstance(L1(1.0), L2Penalty)
    assert not isinstance(L2(1.0), L1Penalty)
    assert isinstance(ElasticNet(1.0, 1.0), L1Penalty)
    assert isinstance(ElasticNet(1.0, 1.0), L2Penalty)


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_bad_strengths_are_named(bad: float) -> None:
    with pytest.raises(ValueError, match="l1 must be finite and >= 0"):
        L1(bad)
    with pytest.raises(ValueError, match="l2 must be finite and >= 0"):
        ElasticNet(1.0, bad)
    with pytest.raises(ValueError, match="weights must be finite and >= 0"):
        L1(1.0, weights=np.array([1.0, bad]))
