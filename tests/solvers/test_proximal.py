"""FISTA and the stochastic solver: optimality at the solution, agreement with each other, clear refusals."""

from __future__ import annotations

import numpy as np
import pytest

from epigram import LogLinearLM
from epigram.errors import InputError
from epigram.lm.corpus import Corpus
from epigram.lm.loglinear.loss import SuffixLoss
from epigram.lm.loglinear.penalties import FIRST_STRENGTHS, PENALTIES, Strength, build_penalty
from epigram.lm.loglinear.problem import first_weights
from epigram.lm.loglinear.tree import ContextTree, Located, Positions
from epigram.penalties import L1, L2
from epigram.protocols import Iteration
from epigram.solvers import FISTA, StochasticProximal
from epigram.solvers.proximal import RARE
from reference.sage import algorithm_1


def small_problem(penalty: str, nonnegative: bool = True):
    rng = np.random.default_rng(3)
    sentences = [[f"w{k}" for k in rng.zipf(1.6, 8) % 30] for _ in range(120)]
    positions = Positions.of(Corpus.of(sentences))
    loss = SuffixLoss(ContextTree.grow(positions, 3), positions=positions)
    return loss, build_penalty(penalty, loss.tree, FIRST_STRENGTHS[penalty], nonnegative)


def even_steps(penalty, step: float, n: int) -> np.ndarray:
    """Steps near one that the prox of the penalty can take."""
    d = np.ones(n)
    return step / (penalty.level(d) if hasattr(penalty, "level") else d)


@pytest.mark.parametrize("nonnegative", [True, False])
@pytest.mark.parametrize("penalty", list(PENALTIES))
def test_solution_is_a_fixed_point_of_the_prox_gradient_map(penalty, nonnegative):
    loss, price = small_problem(penalty, nonnegative)
    start = first_weights(loss.tree, FIRST_STRENGTHS[penalty], nonnegative)
    result = FISTA(1e-14, 5000).solve(loss, price, start)
    assert result.reason == "converged"
    gradient, moved = np.empty(loss.n_weights), np.empty(loss.n_weights)
    loss.value_and_gradient(result.w, gradient)
    step = even_steps(price, 1e-3, loss.n_weights)
    price.prox(result.w - step * gradient, step, moved)
    assert np.abs((moved - result.w) / step).max() < 1e-3


def test_objective_is_that_of_a_longer_run_from_zero():
    loss, price = small_problem("elastic")
    near = FISTA(1e-12, 5000).solve(loss, price, first_weights(loss.tree, FIRST_STRENGTHS["elastic"]))
    far = FISTA(1e-13, 20000).solve(loss, price)
    assert near.objective == pytest.approx(far.objective, rel=1e-6)


@pytest.mark.parametrize("penalty", ["elastic", "tree-l2", "tree-linf"])
def test_stochastic_solver_reaches_the_objective_of_fista(penalty):
    loss, price = small_problem(penalty)
    start = first_weights(loss.tree, FIRST_STRENGTHS[penalty])
    exact = FISTA(1e-12, 5000).solve(loss, price, start)
    solver = StochasticProximal(passes=1200, tolerance=1e-12)
    stochastic = solver.solve(loss, price, start)
    assert stochastic.objective == pytest.approx(exact.objective, rel=5e-4)
    assert stochastic.objective >= exact.objective * (1 - 1e-9)


@pytest.mark.parametrize("penalty", ["l1", "tree-l2", "tree-linf"])
def test_stochastic_steps_do_not_overshoot_on_rare_weights(penalty):
    """Batches are a small part of the text, so one sample stands for many: counts alone are no measure of a step."""
    rng = np.random.default_rng(4)
    words = rng.zipf(1.3, 20_000) % 2_000
    positions = Positions.of(Corpus.of([[f"w{k}" for k in part] for part in words.reshape(-1, 20)]))
    loss = SuffixLoss(ContextTree.grow(positions, 3), positions=positions)
    price = build_penalty(penalty, loss.tree, FIRST_STRENGTHS[penalty])
    start = first_weights(loss.tree, FIRST_STRENGTHS[penalty])
    objectives: list[float] = []
    solver = StochasticProximal(batch_size=50, passes=4)
    solver.solve(loss, price, start, lambda now: objectives.append(now.objective))
    assert objectives == sorted(objectives, reverse=True)
    assert objectives[-1] < 1.1 * FISTA(1e-6).solve(loss, price, start).objective


def test_batches_add_up_to_the_exact_gradient():
    loss, _ = small_problem("l1")
    w = np.random.default_rng(0).normal(0, 0.5, loss.n_weights)
    exact, total, part = np.empty_like(w), np.zeros_like(w), np.zeros_like(w)
    value = loss.value_and_gradient(w, exact)
    touched, sum_of_values = np.empty(0, np.int32), 0.0
    for samples in np.array_split(np.random.default_rng(1).permutation(loss.n_samples), 7):
        one, touched = loss.batch_value_and_gradient(samples, 1.0, w, part, touched)
        sum_of_values += one
        total += part
    assert sum_of_values == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(total, exact, atol=1e-9)


@pytest.mark.parametrize("solver", [FISTA(), StochasticProximal()])
def test_callback_stops_and_sees_iterations(solver):
    loss, price = small_problem("elastic")
    seen: list[Iteration] = []

    def stop_at_three(now: Iteration) -> bool:
        seen.append(now)
        return now.number == 3

    result = solver.solve(loss, price, callback=stop_at_three)
    assert result.reason == "callback"
    assert [now.number for now in seen] == [1, 2, 3]
    assert result.objective == pytest.approx(loss.value(result.w) + price.value(result.w))


@pytest.mark.parametrize(("solver", "word"), [(FISTA(), "FISTA"), (StochasticProximal(), "Stochastic")])
def test_misfits_are_refused(solver, word):
    loss, price = small_problem("l1")
    with pytest.raises(TypeError, match=word):
        solver.solve(object(), price)
    with pytest.raises(TypeError, match=word):
        solver.solve(loss, object())


@pytest.mark.parametrize("wrong", [{"tolerance": 0.0}, {"tolerance": 2.0}, {"max_iterations": 0}])
def test_fista_refuses_wrong_settings(wrong):
    with pytest.raises(ValueError, match="must be"):
        FISTA(**wrong)


@pytest.mark.parametrize(
    "wrong", [{"batch_size": 0}, {"passes": 0}, {"mu": 0.0}, {"lipschitz": float("nan")}, {"tolerance": 1.0}]
)
def test_stochastic_refuses_wrong_settings(wrong):
    with pytest.raises(ValueError, match="must be"):
        StochasticProximal(**wrong)


def test_plain_loss_without_curvature():
    class Quadratic:
        n_weights, n_samples = 3, 1

        def value_and_gradient(self, w, out):
            out[:] = [1.0, 10.0, 100.0] * (w - [1.0, 1.0, -1.0])
            return float(0.5 * ([1.0, 10.0, 100.0] * (w - [1.0, 1.0, -1.0]) ** 2).sum())

    found = FISTA(1e-14).solve(Quadratic(), L1(0.5)).w
    np.testing.assert_allclose(found, [0.5, 0.95, -0.995], atol=1e-6)
    ridge = FISTA(1e-14).solve(Quadratic(), L2(0.5, nonnegative=True)).w
    np.testing.assert_allclose(ridge, [0.5, 10 / 11, 0.0], atol=1e-6)


def test_price_refuses_zero_and_infinity():
    for wrong in (0.0, float("inf"), float("nan"), -1.0):
        with pytest.raises(ValueError, match="strength must be"):
            Strength(wrong, 1.0)


@pytest.mark.parametrize("depth_weights", ["features", "groups"])
def test_collapsed_trees_have_the_optimum_of_the_trie_where_depth_costs_no_more(depth_weights):
    """Tree-linf; where deep pairs cost more, chains are better off unequal and the collapsed tree only bounds it."""
    rng = np.random.default_rng(6)
    positions = Positions.of(Corpus.of([[f"w{k}" for k in rng.zipf(1.5, 7) % 12] for _ in range(25)]))
    found = {}
    for depth_weight in (0.7, 1.0, 1.6):
        price = Strength(0.15, depth_weight, depth_weights=depth_weights)
        for collapse in (False, True):
            tree = ContextTree.grow(positions, 6, collapse)
            assert tree.multiplicity.max() > 1 or not collapse
            penalty = build_penalty("tree-linf", tree, price)
            result = FISTA(1e-14, 20000).solve(SuffixLoss(tree), penalty, first_weights(tree, price))
            found[depth_weight, collapse] = result.objective
    for same in (0.7, 1.0):
        assert found[same, True] == pytest.approx(found[same, False], rel=1e-9)
    assert found[1.6, True] > found[1.6, False] * (1 + 1e-4)


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
