"""SGD on chains against the paper's updates, one by one in plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from epigram import L1, SGD
from epigram.chain.loss import ChainLoss
from epigram.protocols import Iteration, Steps
from epigram.solvers.sgd import SGDState
from reference.chain import by_name, chain_of
from reference.chain_corpus import CASES, WIDE, Case, corpus
from reference.chain_sgd import Trainer, close

C, ETA0, DECAY = 0.8, 0.6, 0.7
HARD = [case for case in CASES if case.name not in ("all edges", "weighted sentences", "constrained")]


def passes(
    case: Case, method: str, schedule: str, batch_size: int, n_passes: int = 3
) -> tuple[Trainer, SGDState]:
    """The same passes by the twin and by the solver."""
    text = corpus(case)
    n = text.sequences.n_sentences
    loss = ChainLoss(text.sequences, text.labels, text.layout, text.weights)
    solver = SGD(method, schedule, ETA0, DECAY, n_passes, batch_size, random_state=7)
    state, rng = SGDState.fresh(loss.n_weights), np.random.default_rng(7)
    trainer = Trainer(chain_of(text.layout, state.w), C, n)
    samples, orders = text.samples(), np.random.default_rng(7)
    for _ in range(n_passes):
        order = orders.permutation(n).tolist()
        batches = [[samples[s] for s in order[k : k + batch_size]] for k in range(0, n, batch_size)]
        expected = trainer.run(method, schedule, ETA0, DECAY, batches)
        assert solver.run_pass(loss, L1(C), state, rng) == pytest.approx(expected, rel=1e-9)
        assert close(by_name(text.layout, state.w), trainer.chain.weights)
    return trainer, state


@pytest.mark.parametrize("case", HARD, ids=str)
@pytest.mark.parametrize("method", ["naive", "clipping", "lazy", "cumulative"])
def test_weights_are_those_of_the_papers_updates(case: Case, method: str) -> None:
    trainer, state = passes(case, method, "exponential", 1)
    assert state.u == pytest.approx(trainer.u)
    assert state.k == trainer.k


@pytest.mark.parametrize("batch_size", [1, 3])
@pytest.mark.parametrize("case", WIDE, ids=str)
def test_rows_of_any_width(case: Case, batch_size: int) -> None:
    trainer, state = passes(case, "cumulative", "exponential", batch_size, n_passes=2)
    assert close(by_name(corpus(case).layout, state.q), trainer.q)


def test_passes_go_on_from_weights_and_penalties_alone() -> None:
    """Two losses that share nothing but w and q give the weights of one."""
    text = corpus(CASES[11])
    order = np.arange(text.sequences.n_sentences, dtype=np.int32)
    rates, penalties = np.full(2 * len(order), 0.3), 0.05 * np.arange(2 * len(order) + 1)
    states = []
    for losses in (1, 2):
        each = [ChainLoss(text.sequences, text.labels, text.layout, text.weights) for _ in range(losses)]
        w, q = np.zeros(each[0].n_weights), np.zeros(each[0].n_weights)
        for k in range(2):
            part = slice(k * len(order), (k + 1) * len(order))
            due = penalties[part.start : part.stop + 1]
            each[k % losses].sgd_pass("cumulative", Steps(order, rates[part], due), w, q)
        states.append((w, q))
    one, two = states
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("method", ["naive", "clipping", "lazy", "cumulative"])
@pytest.mark.parametrize("schedule", ["inverse", "exponential"])
@pytest.mark.parametrize("batch_size", [1, 2, 4, 100])
def test_schedules_and_mini_batches(method: str, schedule: str, batch_size: int) -> None:
    trainer, state = passes(CASES[11], method, schedule, batch_size)
    assert state.u == pytest.approx(trainer.u)


@pytest.mark.parametrize("case", [CASES[0], CASES[10]], ids=str)
def test_received_penalties_are_equation_4(case: Case) -> None:
    trainer, state = passes(case, "cumulative", "inverse", 1)
    assert close(by_name(corpus(case).layout, state.q), trainer.q)


@pytest.mark.parametrize("batch_size", [1, 3])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_lazy_equals_clipping(case: Case, batch_size: int) -> None:
    text = corpus(case)
    loss = ChainLoss(text.sequences, text.labels, text.layout, text.weights)
    lazy, clipping = (
        SGD(method, eta0=0.5, passes=4, batch_size=batch_size).solve(loss, L1(C)).w
        for method in ("lazy", "clipping")
    )
    np.testing.assert_allclose(lazy, clipping, atol=1e-12)
    np.testing.assert_array_equal(lazy == 0.0, clipping == 0.0)


def test_rates_fall_as_the_equations_say() -> None:
    seen: list[tuple[np.ndarray, np.ndarray]] = []

    class Recorder:
        n_weights, n_samples = 1, 4

        def sgd_pass(self, method, steps, w, q):  # type: ignore[no-untyped-def]
            seen.append((steps.rates.copy(), steps.penalties.copy()))
            assert sorted(steps.order.tolist()) == [0, 1, 2, 3]
            return 0.0

    for schedule in ("inverse", "exponential", "linear"):
        seen.clear()
        SGD("cumulative", schedule, eta0=0.5, decay=0.9, passes=2).solve(Recorder(), L1(2.0))
        k = np.arange(8)
        rates = np.concatenate([rate for rate, _ in seen])
        expected = {
            "inverse": 0.5 / (1 + k / 4),
            "exponential": 0.5 * 0.9 ** (k / 4),
            "linear": 0.5 * (1 - k / 8),
        }[schedule]
        np.testing.assert_allclose(rates, expected)
        np.testing.assert_allclose(seen[1][1], 2.0 / 4 * np.cumsum([0, *expected])[4:])


def test_sgd_seed_decides_the_bits() -> None:
    text = corpus(CASES[0])
    loss = ChainLoss(text.sequences, text.labels, text.layout)
    first, again, other = (
        SGD(passes=3, eta0=0.5, random_state=seed).solve(loss, L1(0.1)).w for seed in (5, 5, 6)
    )
    assert first.tobytes() == again.tobytes()
    assert first.tobytes() != other.tobytes()


def test_callback_sees_every_pass_and_can_stop() -> None:
    text = corpus(CASES[0])
    loss = ChainLoss(text.sequences, text.labels, text.layout)
    met: list[Iteration] = []

    def stop_after_two(iteration: Iteration) -> bool:
        met.append(iteration)
        return iteration.number == 2

    result = SGD(passes=9, eta0=0.5).solve(loss, L1(0.1), callback=stop_after_two)
    assert (result.iterations, result.reason) == (2, "callback")
    assert [one.number for one in met] == [1, 2]
    assert met[-1].nonzero == np.count_nonzero(result.w)
    value = loss.value_and_gradient(result.w, np.empty_like(result.w))
    assert result.objective == pytest.approx(value + L1(0.1).value(result.w))


def test_start_is_where_it_begins() -> None:
    text = corpus(CASES[0])
    loss = ChainLoss(text.sequences, text.labels, text.layout)
    start = text.random_weights(1)
    kept = start.copy()
    result = SGD(passes=1, eta0=1e-12).solve(loss, L1(0.1), start=start)
    np.testing.assert_allclose(result.w, kept, atol=1e-9)
    np.testing.assert_array_equal(start, kept)


def test_cumulative_keeps_fewer_weights_than_clipping_and_naive() -> None:
    """Table 1 of the paper, in small: 40 sentences in which half of the attributes are noise."""
    from epigram.chain.layout import lay_out
    from epigram.chain.seen_pairs import SeenPairs
    from epigram.features.sequences import Sequences

    rng = np.random.default_rng(0)
    n, n_noise = 200, 300
    labels = rng.integers(0, 3, size=n).astype(np.int32)
    attributes = np.stack([labels, 3 + rng.integers(0, n_noise, n), 3 + rng.integers(0, n_noise, n)], axis=1)
    sequences = Sequences.of(np.arange(0, n + 1, 5), np.arange(0, 3 * n + 1, 3), attributes.ravel())
    layout = lay_out(SeenPairs.of(sequences, labels, 3, 3 + n_noise), "all")
    loss = ChainLoss(sequences, labels, layout)
    active = {
        method: np.count_nonzero(SGD(method, eta0=0.5, passes=10).solve(loss, L1(0.5)).w)
        for method in ("cumulative", "clipping", "naive")
    }
    assert active["cumulative"] < active["clipping"] < active["naive"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"method": "momentum"}, "method must be one of cumulative, lazy, clipping, naive, not 'momentum'"),
        ({"schedule": "cosine"}, "schedule must be one of auto, linear, exponential, inverse, not 'cosine'"),
        ({"eta0": -1.0}, "eta0 must be 'auto' or a positive number, not -1.0"),
        ({"eta0": "fast"}, "eta0 must be 'auto' or a positive number, not 'fast'"),
        ({"decay": 1.5}, "decay must be 'auto' or in \\(0, 1\\], not 1.5"),
        ({"passes": "many"}, "passes must be 'auto' or at least 1, not 'many'"),
        ({"passes": 0}, "passes and batch_size must be at least 1, not 0 and 1"),
        ({"batch_size": 0}, "passes and batch_size must be at least 1"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, object], said: str) -> None:
    text = corpus(CASES[0])
    loss = ChainLoss(text.sequences, text.labels, text.layout)
    with pytest.raises(ValueError, match=said):
        SGD(**settings).solve(loss, L1(0.1))  # type: ignore[arg-type]
