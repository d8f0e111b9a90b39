"""Dual coordinate ascent finds the minimum that OWL-QN and L-BFGS find; its loss has the right gradient."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from epigram import L1, L2, LBFGS, OWLQN, Checkpoint, ElasticNet
from epigram.classify.loss import LinearLoss, scores_of
from epigram.errors import InputError
from epigram.features.grams import Rows
from epigram.penalties import L1Ball
from epigram.protocols import Floats, Iteration
from epigram.solvers.dual import DualAscent


def problem(seed: int, n: int = 40, d: int = 15) -> tuple[LinearLoss, Floats, np.ndarray, Floats]:
    rng = np.random.default_rng(seed)
    dense = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.3)
    dense = dense.astype(np.float32).astype(np.float64)
    i, j = np.nonzero(dense)
    ptr = np.concatenate([[0], np.cumsum(np.bincount(i, minlength=n))]).astype(np.int64)
    rows = Rows(ptr, j.astype(np.int32), dense[i, j].astype(np.float32), d)
    y = rng.random(n) < 0.3
    costs = rng.random(n) * 3.0
    costs[0] = 0.0
    return LinearLoss(rows, y, costs), dense, y, costs


def test_value_and_gradient_by_the_formula_and_by_finite_differences() -> None:
    loss, dense, y, costs = problem(0)
    w = np.random.default_rng(1).normal(size=loss.n_weights)
    g = np.empty_like(w)
    value = loss.value_and_gradient(w, g)
    s = dense @ w[:-1] + w[-1]
    assert value == pytest.approx(costs @ np.log1p(np.exp(np.where(y, -s, s))))
    for k in range(len(w)):
        step = np.zeros_like(w)
        step[k] = 1e-6
        rise = loss.value_and_gradient(w + step, np.empty_like(w)) - loss.value_and_gradient(
            w - step, np.empty_like(w)
        )
        assert g[k] == pytest.approx(rise / 2e-6, abs=1e-5)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("l1", "l2"), [(0.0, 0.05), (0.5, 0.1), (2.0, 1.0), (0.01, 0.003)])
def test_the_minimum_is_that_of_quasi_newton_methods(seed: int, l1: float, l2: float) -> None:
    loss, *_ = problem(seed)
    wanted = (
        OWLQN(tolerance=1e-8).solve(loss, ElasticNet(l1, l2))
        if l1
        else LBFGS(tolerance=1e-8).solve(loss, L2(l2))
    )
    found = DualAscent(passes=40_000, tolerance=1e-9).solve(loss, ElasticNet(l1, l2))
    penalty = ElasticNet(l1, l2)
    objective = loss.value_and_gradient(found.w, np.empty_like(found.w)) + penalty.value(found.w)
    assert found.objective == pytest.approx(objective)
    assert objective == pytest.approx(wanted.objective, rel=1e-5)
    assert np.allclose(found.w, wanted.w, atol=1e-2 * max(1.0, np.abs(wanted.w).max()))
    assert (found.w == 0.0).sum() == (wanted.w == 0.0).sum() or l1 == 0.01


@pytest.mark.parametrize("n_columns", [2, 8])
def test_columns_side_by_side_are_solved_as_one_by_one(n_columns: int) -> None:
    rng = np.random.default_rng(5)
    _, dense, _, costs = problem(6)
    i, j = np.nonzero(dense)
    ptr = np.concatenate([[0], np.cumsum(np.bincount(i, minlength=len(dense)))]).astype(np.int64)
    rows = Rows(ptr, j.astype(np.int32), dense[i, j].astype(np.float32), dense.shape[1])
    targets = rng.random((len(dense), n_columns)) < 0.4
    solver = DualAscent(passes=300, tolerance=1e-6)
    together = solver.solve(LinearLoss(rows, targets, costs), ElasticNet(0.1, 0.05))
    w, total = together.w[:, :n_columns], 0.0
    for k in range(n_columns):
        alone = DualAscent(passes=300, tolerance=1e-6).solve(
            LinearLoss(rows, targets[:, k], costs), ElasticNet(0.1, 0.05)
        )
        assert np.allclose(w[:, k], alone.w, atol=1e-9)
        total += alone.objective
    assert together.objective == pytest.approx(total)
    s = scores_of(rows, w)
    assert np.allclose(s, dense @ w[:-1] + w[-1])
    again = solver.solve(LinearLoss(rows, targets, costs), ElasticNet(0.1, 0.05), duals=solver.duals_)
    assert again.iterations < together.iterations


def test_a_warm_start_and_the_same_seed() -> None:
    loss, *_ = problem(3)
    solver = DualAscent(passes=500, tolerance=1e-8)
    first = solver.solve(loss, L2(0.1))
    again = DualAscent(passes=500, tolerance=1e-8).solve(loss, L2(0.1))
    assert first.w.tolist() == again.w.tolist()
    assert solver.solve(loss, L2(0.1), duals=solver.duals_).iterations < first.iterations


def test_the_callback_stops_and_is_told_the_weights() -> None:
    loss, *_ = problem(4)
    seen: list[int] = []
    result = DualAscent().solve(
        loss, ElasticNet(0.1, 0.1), callback=lambda now: seen.append(now.number) or now.number == 2
    )
    assert (seen, result.reason) == ([1, 2], "callback")


def test_a_stopped_solution_resumes_in_the_same_bits(tmp_path: Path) -> None:
    loss, *_ = problem(7)
    wanted = DualAscent(passes=50, tolerance=1e-6).solve(loss, ElasticNet(0.1, 0.05))

    def stop(now: Iteration) -> None:
        if now.number == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), Checkpoint(tmp_path / "x", every=0.0):
        DualAscent(passes=50, tolerance=1e-6).solve(loss, ElasticNet(0.1, 0.05), callback=stop)
    numbers: list[int] = []
    with Checkpoint(tmp_path / "x", every=0.0, resume=True):
        again = DualAscent(passes=50, tolerance=1e-6).solve(
            loss, ElasticNet(0.1, 0.05), callback=lambda now: numbers.append(now.number)
        )
    assert numbers[0] == 6
    assert (again.w.tolist(), again.iterations) == (wanted.w.tolist(), wanted.iterations)
    smaller, *_ = problem(7, n=20)
    with pytest.raises(InputError, match="does not fit"), Checkpoint(tmp_path / "x", resume=True):
        DualAscent().solve(smaller, ElasticNet(0.1, 0.05))


def test_misfits_are_refused() -> None:
    loss, *_ = problem(5)
    for penalty in (L1(1.0), ElasticNet(1.0, 0.0), L1Ball(1.0)):
        with pytest.raises(TypeError, match="DualAscent needs"):
            DualAscent().solve(loss, penalty)  # type: ignore[arg-type]


def test_scores_are_the_product() -> None:
    loss, dense, *_ = problem(6)
    i, j = np.nonzero(dense)
    ptr = np.concatenate([[0], np.cumsum(np.bincount(i, minlength=len(dense)))]).astype(np.int64)
    rows = Rows(ptr, j.astype(np.int32), dense[i, j].astype(np.float32), dense.shape[1])
    w = np.random.default_rng(0).normal(size=loss.n_weights)
    assert np.allclose(scores_of(rows, w), dense @ w[:-1] + w[-1])


def test_offsets_are_scores_of_a_column_whose_weight_is_1() -> None:
    _, dense, y, costs = problem(8)
    offsets = np.random.default_rng(0).normal(size=len(y)) * 2.0
    i, j = np.nonzero(dense)
    ptr = np.concatenate([[0], np.cumsum(np.bincount(i, minlength=len(y)))]).astype(np.int64)
    rows = Rows(ptr, j.astype(np.int32), dense[i, j].astype(np.float32), dense.shape[1])
    moved = LinearLoss(rows, y, costs, offsets)
    found = DualAscent(passes=40_000, tolerance=1e-9).solve(moved, ElasticNet(0.1, 0.05))
    wanted = OWLQN(tolerance=1e-8).solve(moved, ElasticNet(0.1, 0.05))
    s = dense @ found.w[:-1] + found.w[-1] + offsets
    penalty = ElasticNet(0.1, 0.05).value(found.w)
    assert found.objective == pytest.approx(costs @ np.log1p(np.exp(np.where(y, -s, s))) + penalty)
    assert found.objective == pytest.approx(wanted.objective, rel=1e-5)
