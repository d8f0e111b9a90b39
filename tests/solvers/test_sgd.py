"""SGD's own part: calibration of the first rate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from epigram import L1, OWLQN, SGD
from epigram.chain.labels import encode_labels
from epigram.chain.layout import lay_out
from epigram.chain.loss import ChainLoss
from epigram.chain.seen_pairs import SeenPairs
from epigram.features.attributes import AttributeTable
from epigram.features.encoding import encode_sentences
from epigram.features.template import Template
from reference.chain_data import TEMPLATE, part


@pytest.fixture(scope="module")
def loss() -> ChainLoss:
    rows, labels = part("train", 200)
    table = AttributeTable()
    sequences = encode_sentences(rows, Template.parse(TEMPLATE), table, grow=True)
    names, ids = encode_labels(labels, sequences)
    return ChainLoss(sequences, ids, lay_out(SeenPairs.of(sequences, ids, len(names), len(table))))


@pytest.mark.parametrize("schedule", ["linear", "exponential", "inverse"])
@pytest.mark.parametrize("l1", [0.1, 0.3, 1.0])
def test_auto_comes_close_to_the_best_rate_of_a_grid(loss: ChainLoss, schedule: str, l1: float) -> None:
    best = min(
        SGD(schedule=schedule, eta0=eta0).solve(loss, L1(l1)).objective
        for eta0 in (0.03, 0.06, 0.12, 0.25, 0.5, 1.0, 2.0)
    )
    auto = SGD(schedule=schedule).solve(loss, L1(l1)).objective
    assert auto <= 1.02 * best
    assert OWLQN(tolerance=1e-4).solve(loss, L1(l1)).objective <= auto * (1 + 1e-4)


def test_calibration_has_a_seed_and_leaves_no_trace(loss: ChainLoss) -> None:
    first, again = (SGD(random_state=4).calibrate(loss, L1(0.5)) for _ in range(2))
    assert first == again > 0
    by_auto = SGD(passes=2, random_state=4)
    eta0 = by_auto.calibrate(loss, L1(0.5))
    same = SGD(schedule="linear", eta0=eta0, passes=2, random_state=4).solve(loss, L1(0.5))
    assert by_auto.solve(loss, L1(0.5)).w.tobytes() == same.w.tobytes()


@pytest.mark.parametrize("settings", [{"eta0": 0.3}, {"decay": 0.8}, {"eta0": 0.3, "decay": 0.8}])
def test_a_rate_or_decay_of_ones_own_falls_as_the_paper_says(
    loss: ChainLoss, settings: dict[str, float]
) -> None:
    found, papers = (
        SGD(schedule=schedule, passes=3, **settings).solve(loss, L1(0.5))  # type: ignore[arg-type]
        for schedule in ("auto", "exponential")
    )
    assert found.w.tobytes() == papers.w.tobytes()


def recorded(solver: SGD, objectives: Sequence[float], samples: int = 4) -> list[float]:
    """The rate of every step, on a loss that falls as told."""
    rates: list[float] = []

    class Recorder:
        n_weights, n_samples, calls = 1, samples, 0

        def sgd_pass(self, method, steps, w, q):  # type: ignore[no-untyped-def]
            rates.extend(steps.rates)
            self.calls += 1
            return objectives[min(self.calls, len(objectives)) - 1]

    solver.solve(Recorder(), L1(0.0))
    return rates


def test_a_line_ends_at_zero_with_the_last_pass() -> None:
    rates = recorded(SGD(schedule="linear", eta0=0.5, passes=3), [1.0])
    np.testing.assert_allclose(rates, 0.5 * (1.0 - np.arange(12) / 12))


def test_a_line_of_automatic_length_turns_where_progress_slows() -> None:
    """Passes 3 to 6 lower the objective by less than 4 % for the first time: six more follow."""
    rates = recorded(
        SGD(schedule="linear", eta0=0.5, passes="auto"), [100.0, 80.0, 60.0, 59.9, 59.0, 58.0, 1.0]
    )
    k = np.arange(48) / 4
    turned = 1.0 / (1.0 + 6.0 / 15.0)
    expected = np.where(k < 6.0, 1.0 / (1.0 + k / 15.0), turned * (12.0 - k) / 6.0)
    np.testing.assert_allclose(rates, 0.5 * expected)
    endless = recorded(SGD(schedule="linear", eta0=0.5, passes="auto"), [0.9**k for k in range(100)])
    assert len(endless) == 400
    assert endless[-1] < 0.5 * endless[-5] < endless[200]


@pytest.mark.parametrize("passes", [1, 5, 30])
def test_automatic_decay_ends_where_the_inverse_schedule_does(passes: int) -> None:
    assert SGD(passes=passes).decay_per_pass ** passes == pytest.approx(1.0 / passes)
    assert SGD(decay=0.7, passes=passes).decay_per_pass == 0.7


@pytest.mark.parametrize(("passes", "bar"), [(3, 1.01), (10, 1.01), (30, 1.005), ("auto", 1.005)])
def test_automatic_settings_are_as_good_as_the_best_of_a_grid(
    loss: ChainLoss, passes: int | str, bar: float
) -> None:
    """Of both numbers at once, by the objective at the end."""
    grid = min(
        SGD(eta0=eta0, decay=decay, passes=30 if passes == "auto" else passes).solve(loss, L1(0.3)).objective
        for eta0 in (0.1, 0.2, 0.35, 0.5, 0.7, 1.0)
        for decay in (0.8, 0.85, 0.9, 0.95)
    )
    assert SGD(passes=passes).solve(loss, L1(0.3)).objective <= bar * grid


def test_automatic_passes_stop_where_the_objective_settles(loss: ChainLoss) -> None:
    """By the paper's schedule; a line ends at a time of its own, twice that of the turn."""
    met: list[float] = []
    settings = {"passes": "auto", "schedule": "exponential"}
    result = SGD(**settings).solve(loss, L1(0.3), callback=lambda now: met.append(now.objective))  # type: ignore[arg-type]
    assert (result.reason, result.iterations) == ("converged", len(met))
    falls = [(before - after) / before for before, after in zip(met, met[3:], strict=False)]
    assert falls[-1] < 0.01 <= min(falls[:-1])
    same = SGD(**settings, eta0=SGD(**settings).calibrate(loss, L1(0.3))).solve(loss, L1(0.3))  # type: ignore[arg-type]
    assert same.w.tobytes() == result.w.tobytes()
    assert result.objective <= 1.02 * SGD(schedule="exponential").solve(loss, L1(0.3)).objective
    assert SGD(passes="auto").decay_per_pass == SGD(passes=30).decay_per_pass
    line = SGD(passes="auto").solve(loss, L1(0.3))
    assert (line.reason, line.iterations % 2) == ("converged", 0)


def test_automatic_passes_end_at_a_limit_and_heed_the_callback(loss: ChainLoss) -> None:
    class Restless:
        n_weights, n_samples, calls = 1, 1, 0

        def sgd_pass(self, method, steps, w, q):  # type: ignore[no-untyped-def]
            self.calls += 1
            return 0.9**self.calls

    restless = Restless()
    result = SGD(passes="auto", eta0=1.0).solve(restless, L1(0.0))
    assert (result.reason, result.iterations, restless.calls) == ("limit", 100, 100)
    stopped = SGD(passes="auto", eta0=0.2).solve(loss, L1(0.3), callback=lambda now: now.number == 2)
    assert (stopped.reason, stopped.iterations) == ("callback", 2)
