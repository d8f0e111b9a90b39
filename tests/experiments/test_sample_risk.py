"""Minimum sample risk against brute force, and the l2 penalty on the exponential loss by its optimality."""

from __future__ import annotations

import numpy as np
import pytest

from epigram import Reranker
from epigram._core import bindings
from epigram.errors import InputError
from epigram.rerank import ExponentialLoss, FeatureSpace, NBest, Pairs, WeightPath
from experiments.lasso_ime.ridge import Ridge
from experiments.lasso_ime.sample_risk import MinimumSampleRisk, SampleRisk
from reference import sample_risk as slow
from reference.rerank_lists import random_lists


def problem(seed: int, n_lists: int = 10) -> tuple[list[dict], FeatureSpace, Pairs]:
    records = random_lists(seed, n_lists)
    lists = NBest.from_lists(records)
    space = FeatureSpace.collect(lists, 2, 1)
    return records, space, Pairs.of(lists, space)


def named(space: FeatureSpace, w: np.ndarray) -> dict[str, float]:
    return {space.name(k): float(w[k]) for k in np.flatnonzero(w)}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("somewhere", [False, True])
def test_the_line_search_finds_the_exact_minimum(seed: int, somewhere: bool) -> None:
    records, space, pairs = problem(seed)
    loss = SampleRisk(pairs)
    w = np.random.default_rng(seed).normal(size=space.n_weights) * somewhere
    here = slow.risk(records, named(space, w), loss.base_weight)
    assert loss.value(w) == here
    lines, ends, moved = loss.lines(loss.margins(w)), np.empty(2), 0
    for k in range(space.n_weights):
        saved = bindings.rerank_line_search(lines, k, k, ends)
        least = slow.least_risk(records, named(space, w), loss.base_weight, space.name(k))
        assert here - saved == pytest.approx(least)
        if saved > 0:
            moved += 1
            low, high = ends.tolist()
            open_left, open_right = np.isinf(ends).tolist()
            inside = high - 1 if open_left else low + 1 if open_right else (low + high) / 2
            there = w.copy()
            there[k] += inside
            assert loss.value(there) == pytest.approx(least)
    assert moved > 2


def test_every_move_saves_what_it_says() -> None:
    records, space, pairs = problem(7, 30)
    loss = SampleRisk(pairs)
    path = WeightPath.joined(list(MinimumSampleRisk(reach=0.5).walk(loss, WeightPath.empty())))
    risks = [loss.value(np.zeros(space.n_weights)), *path.losses]
    assert len(path) >= 5
    assert (np.diff(risks) <= -1.0).all()
    for step in range(1, len(path) + 1):
        assert loss.value(path.weights(space.n_weights, step)) == path.losses[step - 1]
    end = path.weights(space.n_weights)
    assert slow.risk(records, named(space, end), loss.base_weight) == path.losses[-1]
    start = slow.risk(records, {}, loss.base_weight)
    for name in map(space.name, range(space.n_weights)):
        if slow.least_risk(records, {}, loss.base_weight, name) < start:  # it is among the ranked features
            least = slow.least_risk(records, named(space, end), loss.base_weight, name)
            assert least >= path.losses[-1]


def test_features_are_ranked_by_what_they_save_alone() -> None:
    records, space, pairs = problem(3, 16)
    loss = SampleRisk(pairs)
    path = WeightPath.joined(list(MinimumSampleRisk(steps=1).walk(loss, WeightPath.empty())))
    saved = [
        loss.value(np.zeros(space.n_weights)) - slow.least_risk(records, {}, loss.base_weight, space.name(k))
        for k in range(space.n_weights)
    ]
    assert path.features.tolist() == [int(np.argmax(saved))]
    few = WeightPath.joined(list(MinimumSampleRisk(top=3).walk(loss, WeightPath.empty())))
    assert set(few.features.tolist()) <= set(np.argsort(-np.array(saved), kind="stable")[:3].tolist())


def test_the_loss_of_the_path_is_the_errors_of_the_reranker() -> None:
    lists = NBest.from_lists(random_lists(1, 60))
    model = Reranker(MinimumSampleRisk(20_000, 10_000, 0.5), min_count=1).fit(lists)
    errors = lists.errors("cer")
    chosen = errors[lists.list_ptr[:-1] + model.predict(lists)].sum()
    assert chosen - errors[lists.oracle("cer")].sum() == model.curves_.losses[-1]
    assert model.curves_.losses[-1] < model.curves_.losses[0]
    with pytest.raises(InputError, match="MinimumSampleRisk"):
        model.to_bytes()


@pytest.mark.parametrize("settings", [{"top": 0}, {"reach": 0.0}, {"least": 0.0}, {"steps": -1}])
def test_bad_settings_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        MinimumSampleRisk(**settings)  # type: ignore[arg-type]


def test_ridge_has_no_slope_left() -> None:
    """At the solution the gradient of ExpLoss + l2 sum w^2, taken by finite differences, is zero."""
    _, space, pairs = problem(5, 20)
    loss = ExponentialLoss(pairs)
    path = WeightPath.joined(
        list(Ridge(steps=3, strongest=10.0, weakest=0.1, tolerance=1e-9).walk(loss, WeightPath.empty()))
    )
    assert path.alphas.tolist() == pytest.approx([10.0, 1.0, 0.1])
    for step, l2 in enumerate(path.alphas, 1):
        w = path.weights(space.n_weights, step)

        def objective(v: np.ndarray, l2: float = l2) -> float:
            return loss.value(v) + l2 * float(v @ v)

        for k in range(0, space.n_weights, 5):
            nudge = np.zeros_like(w)
            nudge[k] = 1e-5
            slope = (objective(w + nudge) - objective(w - nudge)) / 2e-5
            assert slope == pytest.approx(0.0, abs=1e-5)
            assert objective(w + 100 * nudge) > objective(w)
    assert (np.diff(path.losses) < 0).all()
