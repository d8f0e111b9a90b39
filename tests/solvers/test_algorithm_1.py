"""The stochastic solver against the printed lines of Algorithm 1, and batches that do not divide the samples."""

from __future__ import annotations

import numpy as np
import pytest

from epigram import L1, LogLinearLM, StochasticProximal
from epigram.errors import InputError
from epigram.lm.corpus import Corpus
from epigram.lm.loglinear.loss import SuffixLoss
from epigram.lm.loglinear.penalties import FIRST_STRENGTHS, build_penalty
from epigram.lm.loglinear.problem import first_weights
from epigram.lm.loglinear.tree import ContextTree, Located, Positions
from epigram.solvers.proximal import RARE
from reference.sage import algorithm_1


class Regression:
    """1/2 ||X w - y||^2, also for some of its rows."""

    n_samples, n_weights = 23, 4

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.X, self.y = rng.normal(size=(23, 4)), rng.normal(size=23)

    def value_and_gradient(self, w: np.ndarray, out: np.ndarray) -> float:
        return self.batch_value_and_gradient(np.arange(23), 1.0, w, out, np.empty(0, np.int32))[0]

    def batch_value_and_gradient(
        self, samples: np.ndarray, scale: float, w: np.ndarray, out: np.ndarray, touched: np.ndarray
    ) -> tuple[float, np.ndarray]:
        residual = self.X[samples] @ w - self.y[samples]
        out[:] = scale * self.X[samples].T @ residual
        return 0.5 * scale * float(residual @ residual), touched


def suffix_loss(sentences: list[list[str]], order: int = 3) -> SuffixLoss:
    positions = Positions.of(Corpus.of(sentences))
    return SuffixLoss(ContextTree.grow(positions, order), positions=positions)


def random_text(n_sentences: int, seed: int = 3, length: int = 8) -> list[list[str]]:
    """Words that depend on the word before."""
    rng = np.random.default_rng(seed)
    return [[f"w{k}" for k in np.cumsum(rng.zipf(1.6, length)) % 30] for _ in range(n_sentences)]


def twin_of(loss, penalty, start, L, mu, d, batch_size, passes, seed):
    """W after each pass by the printed lines, on the batches that the solver takes."""
    rng, batches = np.random.default_rng(seed), []
    n_batches = -(-loss.n_samples // batch_size)
    for _ in range(passes):
        batches += np.array_split(rng.permutation(loss.n_samples), n_batches)

    def gradient_of(batch):
        def gradient(w):
            out = np.zeros(loss.n_weights)
            loss.batch_value_and_gradient(batch, loss.n_samples / batch.size, w, out, np.empty(0, np.int32))
            return out

        return gradient

    def prox(w, step):
        out = np.empty_like(w)
        penalty.prox(w, step, out)
        return out

    steps = list(algorithm_1(start, [gradient_of(batch) for batch in batches], prox, L, mu, d))
    return steps[n_batches - 1 :: n_batches]


def test_it_follows_the_printed_lines_on_a_plain_loss():
    """Without curvature the metric is 1, and the solver is Algorithm 1 as it stands."""
    loss, penalty = Regression(), L1(0.3, nonnegative=True)
    solver = StochasticProximal(5, 4, lipschitz=60.0, mu=2.0, tolerance=0.0, seed=7)
    seen: list[np.ndarray] = []
    solver.solve(loss, penalty, callback=lambda now: seen.append(now.w.copy()))
    expected = twin_of(loss, penalty, np.zeros(4), 60.0, 2.0, np.ones(4), 5, 4, 7)
    np.testing.assert_allclose(seen, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("penalty", ["elastic", "tree-linf"])
@pytest.mark.parametrize("constants", [("auto", "auto"), (40.0, 0.5)])
def test_it_follows_the_printed_lines_in_its_metric(penalty, constants):
    loss = suffix_loss(random_text(40))
    price = build_penalty(penalty, loss.tree, FIRST_STRENGTHS[penalty])
    start = first_weights(loss.tree, FIRST_STRENGTHS[penalty])
    solver = StochasticProximal(50, 3, *constants, tolerance=0.0, seed=1)
    seen: list[np.ndarray] = []
    solver.solve(loss, price, start, lambda now: seen.append(now.w.copy()))
    gradient = np.empty(loss.n_weights)
    loss.value_and_gradient(start, gradient)
    n_batches = -(-loss.n_samples // 50)
    L, mu = solver.constants(n_batches)
    d = np.maximum(loss.curvature(gradient), max(RARE, n_batches / L))
    expected = twin_of(loss, price, start, L, mu, d, 50, 3, 1)
    np.testing.assert_allclose(seen, expected, rtol=1e-9, atol=1e-12)


def test_auto_needs_a_loss_with_curvature():
    with pytest.raises(TypeError, match="StochasticProximal needs a loss with curvature, or else numbers"):
        StochasticProximal().solve(Regression(), L1(0.1))


def test_every_remainder_of_the_batch_size_trains_alike():
    """Texts of 401 to 500 positions, 100 a batch: no length makes a step larger than the others."""
    words = [word for sentence in random_text(150) for word in sentence]
    vocabulary = Corpus.of([words]).vocabulary
    held_out = Positions.of(Corpus.of(random_text(100, seed=4), vocabulary))
    solver, found = StochasticProximal(100, passes=3), []
    for n in range(401, 501):
        cut = range(0, 9 * (n // 10), 9)  # nine words and an end each; the last sentence has what is left
        sentences = [words[k : k + 9] for k in cut]
        sentences[-1] = words[cut[-1] : cut[-1] + 9 + n % 10]
        positions = Positions.of(Corpus.of(sentences, vocabulary))
        loss = SuffixLoss(ContextTree.grow(positions, 2), positions=positions)
        assert loss.n_samples == n
        price = build_penalty("tree-linf", loss.tree, FIRST_STRENGTHS["tree-linf"])
        result = solver.solve(loss, price, first_weights(loss.tree, FIRST_STRENGTHS["tree-linf"]))
        found.append(Located(loss.tree, held_out).perplexity(loss, result.w))
    logs = np.log(found)
    trend = np.polyval(np.polyfit(np.arange(100), logs, 2), np.arange(100))
    assert np.abs(logs - trend).max() < 0.03


def test_settings_reach_the_solver_from_the_estimator(tmp_path):
    text = [" ".join(sentence) for sentence in random_text(30)]
    price = {"strength": 0.4, "depth_weight": 1.2, "ridge": 0.05}
    own = StochasticProximal(batch_size=50, passes=3, lipschitz=30.0, mu=0.1, seed=2)
    model = LogLinearLM(3, solver=own, **price).fit(text)
    assert model.n_iter_ == 3
    assert LogLinearLM(3, solver="stochastic", tolerance=0.5, **price).fit(text).n_iter_ < 10
    assert LogLinearLM(3, solver="stochastic", **price).fit(text).n_iter_ == 10
    model.save(tmp_path / "model.epigram")
    assert vars(LogLinearLM.load(tmp_path / "model.epigram").solver) == vars(own)
    with pytest.raises(InputError, match="max_iterations is for fista"):
        LogLinearLM(3, solver="stochastic", max_iterations=500, **price).fit(text)
    with pytest.raises(InputError, match="unknown solver 'adam'"):
        LogLinearLM(3, solver="adam", **price).fit(text)
    with pytest.raises(InputError, match="solver must be a name or have a method solve"):
        LogLinearLM(3, solver=7, **price).fit(text)
