"""SGD's own part: calibration of the first rate."""

from __future__ import annotations

import numpy as np
import pytest

from epigram import L1, OWLQN, SGD
from epigram.tagging.attributes import AttributeTable
from epigram.tagging.corpus import SeenPairs, encode_labels
from epigram.tagging.encoding import encode_sentences
from epigram.tagging.layout import lay_out
from epigram.tagging.loss import ChainLoss
from epigram.tagging.template import Template
from reference.chain_data import TEMPLATE, part


@pytest.fixture(scope="module")
def loss() -> ChainLoss:
    rows, labels = part("train", 200)
    table = AttributeTable()
    sequences = encode_sentences(rows, Template.parse(TEMPLATE), table, grow=True)
    names, ids = encode_labels(labels, sequences)
    return ChainLoss(sequences, ids, lay_out(SeenPairs.of(sequences, ids, len(names), len(table))))


@pytest.mark.parametrize("schedule", ["exponential", "inverse"])
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
    by_hand = SGD(eta0=first, passes=2, random_state=4).solve(loss, L1(0.5))
    by_auto = SGD(passes=2, random_state=4)
    assert by_auto.calibrate(loss, L1(0.5)) != 0.0
    same = SGD(eta0=by_auto.calibrate(loss, L1(0.5)), passes=2, random_state=4).solve(loss, L1(0.5))
    assert by_auto.solve(loss, L1(0.5)).w.tobytes() == same.w.tobytes()
    assert np.isfinite(by_hand.objective)


@pytest.mark.parametrize("passes", [1, 5, 30])
def test_automatic_decay_ends_where_the_inverse_schedule_does(passes: int) -> None:
    assert SGD(passes=passes).decay_per_pass ** passes == pytest.approx(1.0 / passes)
    assert SGD(decay=0.7, passes=passes).decay_per_pass == 0.7


@pytest.mark.parametrize(("passes", "bar"), [(3, 1.03), (10, 1.03), (30, 1.01)])
def test_automatic_settings_come_close_to_the_papers_grid(loss: ChainLoss, passes: int, bar: float) -> None:
    """Section 4.1: eta_0 at decay 0.85, then the decay at that eta_0, each by the objective at the end."""

    def reached(eta0: float, decay: float) -> float:
        return SGD(eta0=eta0, decay=decay, passes=passes).solve(loss, L1(0.3)).objective

    by_rate = {eta0: reached(eta0, 0.85) for eta0 in (1.0, 0.5, 0.2, 0.1)}
    rate = min(by_rate, key=lambda eta0: by_rate[eta0])
    grid = min(by_rate[rate], *(reached(rate, decay) for decay in (0.9, 0.8)))
    assert SGD(passes=passes).solve(loss, L1(0.3)).objective <= bar * grid


def test_automatic_passes_stop_where_the_objective_settles(loss: ChainLoss) -> None:
    met: list[float] = []
    result = SGD(passes="auto").solve(loss, L1(0.3), callback=lambda now: met.append(now.objective))
    assert (result.reason, result.iterations) == ("converged", len(met))
    falls = [(before - after) / before for before, after in zip(met, met[3:], strict=False)]
    assert falls[-1] < 0.01 <= min(falls[:-1])
    same = SGD(passes="auto", eta0=SGD(passes="auto").calibrate(loss, L1(0.3))).solve(loss, L1(0.3))
    assert same.w.tobytes() == result.w.tobytes()
    assert result.objective <= 1.02 * SGD(passes=30).solve(loss, L1(0.3)).objective
    assert SGD(passes="auto").decay_per_pass == SGD(passes=30).decay_per_pass


def test_automatic_passes_end_at_a_limit_and_heed_the_callback(loss: ChainLoss) -> None:
    class Restless:
        n_weights, n_samples, calls = 1, 1, 0

        def sgd_pass(self, method, order, rates, penalties, batch_size, w, q):  # type: ignore[no-untyped-def]
            self.calls += 1
            return 0.9**self.calls

    restless = Restless()
    result = SGD(passes="auto", eta0=1.0).solve(restless, L1(0.0))
    assert (result.reason, result.iterations, restless.calls) == ("limit", 100, 100)
    stopped = SGD(passes="auto", eta0=0.2).solve(loss, L1(0.3), callback=lambda now: now.number == 2)
    assert (stopped.reason, stopped.iterations) == ("callback", 2)
