"""SGD's own part: calibration of the first rate."""

from __future__ import annotations

import numpy as np
import pytest

from epigram import L1, OWLQN, SGD
from epigram.tagging.attributes import AttributeTable
from epigram.tagging.estimator import encode_labels
from epigram.tagging.layout import SeenPairs, lay_out
from epigram.tagging.loss import ChainLoss
from epigram.tagging.model import encode_sentences
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
