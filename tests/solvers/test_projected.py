"""Projected SGD on chains: against eager projections, at the constrained optimum, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from epigram import FISTA, L1, L2, CRFTagger, L1Ball, ProjectedSGD
from epigram.penalties.ball import project_l1
from epigram.protocols import Iteration
from epigram.tagging.loss import ChainLoss
from reference.chain import by_name, chain_of
from reference.chain_adaptive import ProjectedTrainer
from reference.chain_corpus import CASES, Case, corpus
from reference.chain_data import TEMPLATE, chain_loss, part
from reference.chain_sgd import close

ETA0, DECAY = 0.6, 0.7


def of(case: Case) -> ChainLoss:
    text = corpus(case)
    return ChainLoss(text.sequences, text.labels, text.layout, text.weights)


@pytest.fixture(scope="module")
def loss() -> ChainLoss:
    return chain_loss(200)


@pytest.mark.parametrize("every", [1, 2])
@pytest.mark.parametrize("batch_size", [1, 4])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_lazy_projections_are_those_of_every_step(case: Case, batch_size: int, every: int) -> None:
    text, loss = corpus(case), of(case)
    n, radius = loss.n_samples, 0.4
    w, orders = np.zeros(loss.n_weights), np.random.default_rng(7)
    trainer = ProjectedTrainer(chain_of(text.layout, w), radius, n, every)
    solver = ProjectedSGD(radius, ETA0, DECAY, project_every=every, batch_size=batch_size)
    samples = text.samples()
    for number in range(3):
        order = orders.permutation(n)
        batches = [[samples[s] for s in order[k : k + batch_size]] for k in range(0, n, batch_size)]
        expected = trainer.run(ETA0, DECAY, batches)
        met = solver._descend(loss, radius, order.astype(np.int32), ETA0, number * n, w)
        assert met == pytest.approx(expected, rel=1e-9)
        assert close(by_name(text.layout, w), trainer.chain.weights)
    assert np.abs(w).sum() <= radius * (1 + 1e-9)


@pytest.mark.parametrize("radius", [2.0, 40.0, 1e6])
def test_many_weights_and_steps_as_by_plain_sgd_and_projections(loss: ChainLoss, radius: float) -> None:
    order = np.random.default_rng(1).permutation(loss.n_samples).astype(np.int32)
    rates = np.linspace(1.0, 0.2, len(order))
    lazy, eager = np.zeros(loss.n_weights), np.zeros(loss.n_weights)
    for _ in range(2):
        met = loss.projected_pass(order, rates, radius, 1, 1, lazy)
        expected = 0.0
        for k in range(len(order)):
            no_penalty, unused = np.zeros(2), np.zeros(loss.n_weights)
            expected += loss.sgd_pass(
                "clipping", order[k : k + 1], rates[k : k + 1], no_penalty, 1, eager, unused
            )
            project_l1(eager, radius, eager)
        assert met == pytest.approx(expected, rel=1e-9)
        np.testing.assert_allclose(lazy, eager, atol=1e-9)
        assert np.count_nonzero(lazy) == pytest.approx(np.count_nonzero(np.abs(eager) > 1e-12), abs=2)


def test_passes_come_close_to_the_constrained_optimum(loss: ChainLoss) -> None:
    radius = 60.0
    best = FISTA(tolerance=1e-8).solve(loss, L1Ball(radius))
    found = ProjectedSGD(radius, passes=60, decay=0.93, project_every=1).solve(loss, L1Ball(radius))
    assert np.abs(best.w).sum() == pytest.approx(radius)
    assert best.objective * (1 - 1e-6) <= found.objective <= 1.02 * best.objective
    assert np.abs(found.w).sum() == pytest.approx(radius)


def test_automatic_rate_comes_close_to_the_best_of_a_grid(loss: ChainLoss) -> None:
    ball = L1Ball(60.0)
    grid = [ProjectedSGD(eta0=eta0).solve(loss, ball).objective for eta0 in (0.06, 0.12, 0.25, 0.5, 1.0)]
    assert ProjectedSGD().solve(loss, ball).objective <= 1.03 * min(grid)


def test_start_seed_and_callback() -> None:
    text, loss = corpus(CASES[0]), of(CASES[0])
    start, ball = text.random_weights(1), L1Ball(1.5)
    kept, nearest = start.copy(), np.empty_like(start)
    project_l1(start, ball.radius, nearest)
    near = ProjectedSGD(eta0=1e-12, passes=1).solve(loss, ball, start=start)
    np.testing.assert_allclose(near.w, nearest, atol=1e-9)
    np.testing.assert_array_equal(start, kept)
    first, again, other = (
        ProjectedSGD(passes=3, eta0=0.5, random_state=seed).solve(loss, ball).w for seed in (5, 5, 6)
    )
    assert first.tobytes() == again.tobytes() != other.tobytes()
    met: list[Iteration] = []

    def stop_after_two(iteration: Iteration) -> bool:
        met.append(iteration)
        return iteration.number == 2

    result = ProjectedSGD(passes=9, eta0=0.5).solve(loss, ball, callback=stop_after_two)
    assert (result.iterations, result.reason, len(met)) == (2, "callback", 2)
    assert result.objective == pytest.approx(loss.value_and_gradient(result.w, np.empty_like(result.w)))


def test_tagger_trains_and_is_stored_with_its_solver() -> None:
    X, y = part("train", 100)
    tagger = CRFTagger(TEMPLATE, l1=0, solver=ProjectedSGD(200.0, passes=10)).fit(X, y)
    assert tagger.score(X, y) > 0.9
    again = CRFTagger.from_bytes(tagger.to_bytes())
    assert isinstance(again.solver, ProjectedSGD)
    assert (again.solver.radius, again.predict(X)) == (200.0, tagger.predict(X))


@pytest.mark.parametrize(
    ("radius", "penalty"),
    [(None, L1(0.0)), (3.0, L1(0.1)), (3.0, L2(0.1)), (None, L1Ball(3.0, nonnegative=True))],
)
def test_penalties_that_do_not_fit(radius: float | None, penalty: object) -> None:
    with pytest.raises(TypeError, match=r"^ProjectedSGD needs a plain L1Ball, .* Use SGD or OWLQN"):
        ProjectedSGD(radius).solve(of(CASES[0]), penalty)  # type: ignore[arg-type]


def test_losses_that_do_not_fit() -> None:
    with pytest.raises(TypeError, match="ProjectedSGD needs a loss with projected_pass; object is not that"):
        ProjectedSGD().solve(object(), L1Ball(1.0))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"radius": 2.0}, "radius is 2.0 here and 1.0 in the penalty; give one of them"),
        ({"radius": -2.0, "penalty": L1(0.0)}, "radius must be above 0 and finite, not -2.0"),
        ({"project_every": 0}, "project_every must be None or at least 1, not 0"),
        ({"eta0": "fast"}, "eta0 must be 'auto' or a positive number, not 'fast'"),
        ({"batch_size": 0}, "passes and batch_size must be at least 1, not 30 and 0"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, Any], said: str) -> None:
    penalty = settings.pop("penalty", L1Ball(1.0))
    with pytest.raises(ValueError, match=said):
        ProjectedSGD(**settings).solve(of(CASES[0]), penalty)
