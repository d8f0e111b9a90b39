"""Both searches: the minimum of a valley, fits that start from the best so far, and an end when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

from epigram.tuning import compass, simplex


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


def compass_from_start(judge: Any, **given: Any) -> Numbers:
    return compass(judge, START, valley(START), STEPS, **given)


SEARCHES: list[Callable[..., Numbers]] = [
    lambda judge, **given: simplex(judge, START, STEPS, **given),
    compass_from_start,
]


@pytest.mark.parametrize("search", SEARCHES)
def test_it_comes_near_the_least_point_and_leaves_other_numbers_alone(search: Any) -> None:
    found = search(lambda at, best: valley(at))
    assert abs(np.log(found.a) - 1.0) < 0.15
    assert abs(np.log(found.b)) < 0.15
    assert found.fixed == 7.0


@pytest.mark.parametrize("search", SEARCHES)
def test_a_fit_may_start_from_the_best_before_it(search: Any) -> None:
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


@pytest.mark.parametrize("search", SEARCHES)
def test_it_ends_when_asked_with_the_best_so_far(search: Any) -> None:
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
