"""AdaGrad on chains: against the updates written out eagerly, at the optimum, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from epigram import L1, L2, OWLQN, AdaGrad, CRFTagger, ElasticNet
from epigram.chain.loss import ChainLoss
from epigram.protocols import Iteration
from epigram.solvers.adagrad import _State
from reference.chain import by_name, chain_of
from reference.chain_adaptive import AdaGradTrainer
from reference.chain_corpus import CASES, Case, corpus
from reference.chain_data import TEMPLATE, chain_loss, part
from reference.chain_sgd import close

C, ETA0, DECAY = 0.8, 0.6, 0.7


def of(case: Case) -> ChainLoss:
    text = corpus(case)
    return ChainLoss(text.sequences, text.labels, text.layout, text.weights)


@pytest.mark.parametrize("batch_size", [1, 4])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_lazy_weights_are_those_of_eager_updates(case: Case, batch_size: int) -> None:
    text, loss = corpus(case), of(case)
    n = loss.n_samples
    solver, run = AdaGrad(ETA0, DECAY, batch_size=batch_size), _State.at(np.zeros(loss.n_weights), ETA0)
    trainer = AdaGradTrainer(chain_of(text.layout, run.w), C, n)
    samples, rng = text.samples(), np.random.default_rng(7)
    for _ in range(3):
        order = rng.permutation(n)
        batches = [[samples[s] for s in order[k : k + batch_size]] for k in range(0, n, batch_size)]
        expected = trainer.run(ETA0, DECAY, batches)
        assert solver._visit(loss, L1(C), run, order.astype(np.int32), n) == pytest.approx(expected, rel=1e-9)
        assert close(by_name(text.layout, run.w), trainer.chain.weights)


@pytest.fixture(scope="module")
def loss() -> ChainLoss:
    return chain_loss(200)


def test_more_passes_come_close_to_the_optimum(loss: ChainLoss) -> None:
    best = OWLQN(tolerance=1e-4).solve(loss, L1(0.5))
    found = AdaGrad(passes=60).solve(loss, L1(0.5))
    assert best.objective <= found.objective * (1 + 1e-4)
    assert found.objective <= best.objective * 1.01
    assert np.count_nonzero(found.w) <= 1.5 * np.count_nonzero(best.w)


def test_automatic_rate_comes_close_to_the_best_of_a_grid(loss: ChainLoss) -> None:
    for l1 in (0.1, 1.0):
        grid = [AdaGrad(eta0=eta0).solve(loss, L1(l1)).objective for eta0 in (0.25, 0.5, 1.0, 2.0, 4.0)]
        assert AdaGrad().solve(loss, L1(l1)).objective <= 1.02 * min(grid)


def test_start_seed_and_callback() -> None:
    text, loss = corpus(CASES[0]), of(CASES[0])
    start = text.random_weights(1)
    kept = start.copy()
    near = AdaGrad(eta0=1e-9, passes=1).solve(loss, L1(0.0), start=start)
    np.testing.assert_allclose(near.w, kept, atol=1e-6)
    np.testing.assert_array_equal(start, kept)
    first, again, other = (
        AdaGrad(passes=3, eta0=0.5, random_state=seed).solve(loss, L1(0.1)).w for seed in (5, 5, 6)
    )
    assert first.tobytes() == again.tobytes() != other.tobytes()
    met: list[Iteration] = []

    def stop_after_two(iteration: Iteration) -> bool:
        met.append(iteration)
        return iteration.number == 2

    result = AdaGrad(passes=9, eta0=0.5).solve(loss, L1(0.1), callback=stop_after_two)
    assert (result.iterations, result.reason, len(met)) == (2, "callback", 2)
    value = loss.value_and_gradient(result.w, np.empty_like(result.w))
    assert result.objective == pytest.approx(value + L1(0.1).value(result.w))


def test_tagger_trains_and_is_stored_with_its_solver() -> None:
    X, y = part("train", 100)
    tagger = CRFTagger(TEMPLATE, l1=0.3, solver=AdaGrad(passes=5)).fit(X, y)
    assert tagger.score(X, y) > 0.9
    again = CRFTagger.from_bytes(tagger.to_bytes())
    assert isinstance(again.solver, AdaGrad)
    assert (again.solver.passes, again.predict(X)) == (5, tagger.predict(X))


@pytest.mark.parametrize("penalty", [L2(0.1), ElasticNet(0.1, 0.1), L1(0.1, nonnegative=True)])
def test_penalties_that_do_not_fit(penalty: object) -> None:
    with pytest.raises(TypeError, match=r"^AdaGrad needs a penalty with .* Use LBFGS"):
        AdaGrad().solve(of(CASES[0]), penalty)  # type: ignore[arg-type]


def test_losses_that_do_not_fit() -> None:
    with pytest.raises(TypeError, match="AdaGrad needs a loss with adaptive_pass; object is not that"):
        AdaGrad().solve(object(), L1(0.1))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"eta0": -1.0}, "eta0 must be 'auto' or a positive number, not -1.0"),
        ({"decay": 1.5}, "decay must be in \\(0, 1\\], not 1.5"),
        ({"passes": 0}, "passes and batch_size must be at least 1, not 0 and 1"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        AdaGrad(**settings).solve(of(CASES[0]), L1(0.1))  # type: ignore[arg-type]
