"""Both searches: the minimum of a valley, fits that start from the best so far, and an end when it is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epigram.tuning import first_simplex, golden_section, nelder_mead, simplex


@dataclass(frozen=True)
class Numbers:
    a: float
    b: float
    fixed: float = 7.0


START = Numbers(1.0, 2.0)
STEPS = {"a": 0.4, "b": -0.3}


def valley(at: Numbers) -> float:
    """Least at a = e, b = 1, turned so that both numbers matter to each other."""
    x, y = np.log(at.a) - 1.0, np.log(at.b)
    return float(x * x + y * y + 0.5 * x * y)


def search(judge: Any, **given: Any) -> Numbers:
    return simplex(judge, START, STEPS, **given)


def test_it_comes_near_the_least_point_and_leaves_other_numbers_alone() -> None:
    found = search(lambda at, best: valley(at))
    assert abs(np.log(found.a) - 1.0) < 0.15
    assert abs(np.log(found.b)) < 0.15
    assert found.fixed == 7.0


def test_a_fit_may_start_from_the_best_before_it() -> None:
    seen: dict[Numbers, float] = {}

    def judge(at: Numbers, best: Numbers) -> float:
        if seen:
            least = min([*seen.values(), valley(START)])
            assert valley(best) <= least + 1e-4
        else:
            assert best == START
        assert at not in seen
        seen[at] = valley(at)
        return seen[at]

    found = search(judge)
    assert valley(found) <= min(seen.values()) + 1e-4


def test_it_ends_when_asked_with_the_best_so_far() -> None:
    seen: list[Numbers] = []

    def judge(at: Numbers, best: Numbers) -> float:
        seen.append(at)
        return valley(at)

    found = search(judge, stop=lambda: len(seen) == 4)
    assert len(seen) == 4
    assert found == min([*seen, START], key=valley) or valley(found) <= min(map(valley, seen)) + 1e-4


def test_the_simplex_has_a_budget_of_trials() -> None:
    seen: list[float] = []
    judge = partial(lambda out, at, best: out.append(valley(at)) or out[-1], seen)
    simplex(judge, START, STEPS, max_trials=7)
    assert len(seen) == 7


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
