"""Perceptron, passive-aggressive, AROW and SGD with an l2 penalty, against slow twins and python-crfsuite."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from epigram import AROW, L1, L2, L2SGD, LBFGS, AveragedPerceptron, CRFTagger, PassiveAggressive
from epigram.chain.loss import ChainLoss
from reference.chain import by_name, chain_of
from reference.chain_corpus import CASES, WIDE, Case, Corpus, corpus
from reference.chain_data import chain_loss, features, part
from reference.chain_margin import Margin
from reference.chain_sgd import close


def begin(case: Case) -> tuple[Corpus, ChainLoss, np.ndarray, Margin]:
    """Weights without ties to start from; constraints are for decoding, not for these learners' twin."""
    text = corpus(case)
    loss = ChainLoss(text.sequences, text.labels, text.layout, text.weights)
    w = text.random_weights(3)
    return text, loss, w, Margin(chain_of(text.layout, w), variance=0.7)


@pytest.mark.parametrize("case", [*CASES, *WIDE[:2]], ids=str)
def test_the_perceptrons_moves(case: Case) -> None:
    text, loss, w, twin = begin(case)
    order, sums = np.array([3, 0, 1, 5, 2, 4, 3], dtype=np.int32), np.zeros_like(w)
    expected = sum(twin.perceptron(text.samples()[s]) for s in order)
    assert loss.perceptron_pass(order, 1, w, sums) == pytest.approx(expected)
    assert close(by_name(text.layout, w), twin.chain.weights)
    assert close(by_name(text.layout, sums), dict.fromkeys(twin.chain.weights, 0.0) | twin.sums)


@pytest.mark.parametrize("kind", [0, 1, 2])
@pytest.mark.parametrize("by_errors", [True, False])
@pytest.mark.parametrize("case", [CASES[k] for k in (0, 2, 3, 6, 11)], ids=str)
def test_the_passive_aggressive_moves(case: Case, by_errors: bool, kind: int) -> None:
    text, loss, w, twin = begin(case)
    order, sums = np.array([3, 0, 1, 5, 2, 4, 3], dtype=np.int32), np.zeros_like(w)
    expected = sum(twin.passive(text.samples()[s], kind, 0.3, by_errors) for s in order)
    assert loss.passive_pass(order, 1, kind, 0.3, by_errors, w, sums) == pytest.approx(expected)
    assert close(by_name(text.layout, w), twin.chain.weights)
    assert close(by_name(text.layout, sums), dict.fromkeys(twin.chain.weights, 0.0) | twin.sums)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_arows_moves(case: Case) -> None:
    text, loss, w, twin = begin(case)
    order, variances = np.array([3, 0, 1, 5, 2, 4, 3], dtype=np.int32), np.full_like(w, 0.7)
    expected = sum(twin.arow(text.samples()[s], 0.4) for s in order)
    assert loss.arow_pass(order, 0.4, w, variances) == pytest.approx(expected)
    assert close(by_name(text.layout, w), twin.chain.weights)
    assert close(by_name(text.layout, variances), twin.variances)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_shrinking_steps_are_plain_ones(case: Case) -> None:
    """w <- (1 - 1/t) w - gradient / (lambda t), one sample at a time."""
    text = corpus(case)
    loss = ChainLoss(text.sequences, text.labels, text.layout, text.weights)
    w = text.random_weights(1)
    expected, met, strength, first = w.copy(), 0.0, 0.5, 3.0
    order = np.array([3, 0, 5, 4, 2], dtype=np.int32)
    for k, s in enumerate(order):
        one = ChainLoss(
            text.sequences.take([s]),
            np.array(list(text.labellings())[s], dtype=np.int32),
            text.layout,
            None if text.weights is None else text.weights[[s]],
        )
        t, g = first + k, np.empty_like(w)
        expected *= 1.0 - 1.0 / t  # the gradient is taken at the weights that have shrunk
        met += one.value_and_gradient(expected, g)
        expected -= g / (strength * t)
    assert loss.decayed_pass(order, strength, first, w) == pytest.approx(met)
    np.testing.assert_allclose(w, expected, atol=1e-9)


def test_l2sgd_comes_near_the_minimum() -> None:
    loss = chain_loss(60)
    exact = LBFGS().solve(loss, L2(0.5))
    result = L2SGD(passes=150, random_state=1).solve(loss, L2(0.5))
    g = np.empty_like(result.w)
    reached = loss.value_and_gradient(result.w, g) + L2(0.5).value(result.w)
    assert exact.objective <= reached < 1.01 * exact.objective


def test_l2sgd_stops_where_nothing_improves_any_more() -> None:
    result = L2SGD(period=3, delta=0.01).solve(chain_loss(30), L2(1.0))
    assert result.reason == "converged"
    assert result.iterations < 100


@pytest.mark.parametrize(
    "solver",
    [AveragedPerceptron(passes=8), PassiveAggressive(passes=8), AROW(passes=8)],
    ids=lambda s: type(s).__name__,
)
def test_taggers_learn(solver: AveragedPerceptron | PassiveAggressive | AROW) -> None:
    X, y = part("train", 150)
    tagger = CRFTagger(l1=0, solver=solver).fit(features(X), y)
    T, gold = part("test", 60)
    assert tagger.score(features(T), gold) > 0.9
    assert [entry["iteration"] for entry in tagger.history_] == list(range(1, 9))
    again = CRFTagger(l1=0, solver=solver).fit(features(X), y)
    np.testing.assert_array_equal(tagger.model_.w, again.model_.w)


def test_a_tolerance_stops_and_a_callback_too() -> None:
    loss = chain_loss(30)
    result = AveragedPerceptron(tolerance=0.5).solve(loss, L1(0.0))
    assert (result.reason, result.objective / loss.n_samples < 0.5) == ("converged", True)
    stopped = AROW().solve(loss, L1(0.0), callback=lambda i: i.number == 2)
    assert (stopped.iterations, stopped.reason) == (2, "callback")


def test_averages_are_those_of_the_weights_on_the_way() -> None:
    loss, n = chain_loss(12), 12
    w, trail = np.zeros(loss.n_weights), []
    order = np.random.default_rng(0).permutation(n).astype(np.int32)
    for s in order:
        trail.append(w.copy())
        loss.perceptron_pass(np.array([s], dtype=np.int32), 1, w, np.zeros_like(w))
    trail.append(w)
    found = AveragedPerceptron(passes=1).solve(loss, L1(0.0)).w
    np.testing.assert_allclose(found, np.mean(trail, axis=0), atol=1e-12)


@pytest.mark.parametrize("solver", [AveragedPerceptron(), PassiveAggressive(), AROW()])
def test_misfits_say_what_to_use(solver: AveragedPerceptron) -> None:
    with pytest.raises(TypeError, match="no penalty"):
        solver.solve(chain_loss(5), L1(1.0))
    with pytest.raises(TypeError, match="best outputs"):
        solver.solve(object(), L1(0.0))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="above zero"):
        L2SGD().solve(chain_loss(5), L2(0.0))
    with pytest.raises(ValueError, match="kind is 0, 1 or 2"):
        PassiveAggressive(kind=3).solve(chain_loss(5), L1(0.0))
    with pytest.raises(ValueError, match="passes must be"):
        AveragedPerceptron(passes=0).solve(chain_loss(5), L1(0.0))


@pytest.mark.parametrize(
    ("name", "solver"),
    [("ap", AveragedPerceptron(passes=10)), ("pa", PassiveAggressive(passes=10)), ("arow", AROW(passes=10))],
)
def test_as_good_as_crfsuite(name: str, solver: AveragedPerceptron, tmp_path: Path) -> None:
    pycrfsuite = pytest.importorskip("pycrfsuite")
    rows, y = part("train", 200)
    X, (test, gold) = features(rows), part("test", 100)
    trainer = pycrfsuite.Trainer(name, {"max_iterations": 10}, verbose=False)
    for sentence, labels in zip(X, y, strict=True):
        trainer.append(sentence, labels)
    trainer.train(str(tmp_path / "m"))
    theirs = CRFTagger.load(tmp_path / "m").score(features(test), gold)
    ours = CRFTagger(l1=0, solver=solver).fit(X, y).score(features(test), gold)
    assert ours > theirs - 0.01
