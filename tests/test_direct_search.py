"""The simplex and golden section against scipy's, and on functions whose least point is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epigram.tuning import first_simplex, golden_section, nelder_mead


def rosenbrock(x: np.ndarray) -> float:
    return float((1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2)


@pytest.mark.parametrize("limit", [7, 25, 60, 400])
def test_the_simplex_walks_as_scipys(limit: int) -> None:
    optimize = pytest.importorskip("scipy.optimize")
    start = np.array([-1.2, 1.0])
    seen: list[float] = []

    def watched(x: np.ndarray) -> float:
        seen.append(rosenbrock(x))
        return seen[-1]

    options = {"initial_simplex": first_simplex(start), "maxfev": limit, "xatol": 1e-5, "fatol": 1e-9}
    theirs = optimize.minimize(rosenbrock, start, method="Nelder-Mead", options=options)
    ours = nelder_mead(watched, first_simplex(start), limit, 1e-5, 1e-9)
    assert len(seen) == theirs.nfev
    if theirs.success:
        np.testing.assert_allclose(ours, theirs.x, rtol=1e-9)
    else:  # at the limit scipy forgets a reflection that it could not extend any more
        assert rosenbrock(ours) <= theirs.fun


@pytest.mark.parametrize("limit", range(1, 12))
def test_the_simplex_never_asks_more_often_than_allowed(limit: int) -> None:
    asked = []
    best = nelder_mead(lambda x: asked.append(x) or float(x @ x), first_simplex(np.ones(3)), limit, 0.0, 0.0)
    assert len(asked) <= limit
    assert float(best @ best) == min(float(x @ x) for x in asked)


@settings(max_examples=50)
@given(st.floats(-5, 5), st.floats(0.01, 10))
def test_golden_section_finds_the_valley(centre: float, width: float) -> None:
    found = golden_section(lambda x: np.cosh((x - centre) / width), -6.0, 6.0, 1e-7)
    assert found == pytest.approx(centre, abs=1e-5 * max(width, 1.0) + 1e-6)


def test_golden_section_at_an_edge() -> None:
    assert golden_section(lambda x: x, 0.0, 3.0, 1e-6) == pytest.approx(0.0, abs=1e-6)
