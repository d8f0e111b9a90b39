"""No family returns, reports or saves a model that is not finite: the same error from every solver, nothing written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from epigram import (
    FISTA,
    FSLR,
    L1,
    L2,
    LBFGS,
    OWLQN,
    SGD,
    Boosting,
    ClassFactoredLM,
    CRFTagger,
    KanaKanjiConverter,
    LogLinearLM,
    Perceptron,
    Reranker,
    StochasticProximal,
)
from epigram.cli import main
from epigram.errors import DivergenceError
from epigram.protocols import Iteration, Result
from epigram.rerank import NBest, write_nbest
from reference.rerank_lists import random_lists

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
diverges = pytest.raises(DivergenceError, match=r"^training diverged: .* not finite\. Take smaller steps")
WILD = StochasticProximal(batch_size=1000, passes=30, lipschitz=1e-3, mu=1e-12)
PRICE = {"strength": 1e-6, "depth_weight": 1.0, "ridge": 1e-6}
TEXT = ["a b c a b", "c b a", "a a b c c"] * 40
SENTENCES = [[{"x": 1e200}, {"x": -1e250}]] * 3
LABELS = [["a", "b"]] * 3


class Cliff:
    """A loss that is NaN away from zero; its gradient says to go there."""

    n_weights, n_samples = 2, 1

    def __init__(self, at_zero: float = 1.0) -> None:
        self.at_zero = at_zero

    def value_and_gradient(self, w: np.ndarray, out: np.ndarray) -> float:
        out[:] = -1.0
        return self.at_zero if not w.any() else float("nan")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_a_solver_tells_and_returns_is_checked(bad: float) -> None:
    with diverges:
        Result(np.array([0.0, bad]), 1.0, 1, "limit")
    with diverges:
        Result(np.zeros(2), bad, 1, "limit")
    with diverges:
        Iteration(1, bad, 0, 0.0, np.zeros(2))


@pytest.mark.parametrize(("solver", "penalty"), [(FISTA(), L1(0.1)), (OWLQN(), L1(0.1)), (LBFGS(), L2(0.1))])
def test_batch_solvers_on_a_loss_that_is_not_finite(solver: Any, penalty: Any) -> None:
    with diverges:
        solver.solve(Cliff(at_zero=float("nan")), penalty)


def test_no_way_down_a_cliff() -> None:
    """OWLQN stays where the loss is finite; FISTA has no such step and says so."""
    assert not OWLQN().solve(Cliff(), L1(0.1)).w.any()
    with diverges:
        FISTA().solve(Cliff(), L1(0.1))


@pytest.mark.parametrize(
    "model",
    [
        LogLinearLM(3, solver=WILD, nonnegative=False, **PRICE),
        ClassFactoredLM(2, budget=0, solver=WILD, nonnegative=False),
    ],
)
def test_language_models(model: Any) -> None:
    with diverges:
        model.fit(TEXT)
    assert not hasattr(model, "weights_")
    assert not hasattr(model, "classes_")


def test_taggers() -> None:
    wild = CRFTagger(l1=0.0, solver=SGD(passes=3, eta0=1e300))
    with diverges:
        wild.fit(SENTENCES, LABELS)
    assert not hasattr(wild, "model_")
    with diverges:
        CRFTagger(l1=0.0, solver=SGD(eta0=1e300)).partial_fit(SENTENCES, LABELS)


@pytest.mark.parametrize("learner", [FSLR(5, eps=1e308), Perceptron(5, rate=1e308)])
def test_rerankers(learner: Any) -> None:
    model = Reranker(learner)
    with diverges:
        model.fit(random_lists(1, n_lists=20))
    assert not hasattr(model, "weights_")


def test_boosting_takes_no_infinite_step() -> None:
    model = Reranker(Boosting(5, shrinkage=1e308)).fit(random_lists(1, n_lists=20))
    assert np.isfinite(model.weights_).all()


def test_input_methods(tmp_path: Path) -> None:
    converter = KanaKanjiConverter.build(["橋/はし を 渡る/わたる"] * 4 + ["箸/はし を 使う/つかう"])
    text = [["箸/はし", "を", "渡る/わたる"], ["橋/はし", "を", "使う/つかう"]] * 4
    with diverges:
        converter.adapt(text, text, "perceptron", steps=5, rate=1e308)
    converter.decoder.scorer.gain[0] = np.nan
    with diverges:
        converter.save(tmp_path / "converter.epigram")
    assert not list(tmp_path.iterdir())


def test_a_fitted_model_gone_bad_is_not_saved(tmp_path: Path) -> None:
    model = LogLinearLM(2, **PRICE).fit(TEXT)
    model.weights_[0] = np.inf
    with diverges:
        model.save(tmp_path / "model.epigram")
    assert not list(tmp_path.iterdir())


def command(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    monkeypatch.setattr("sys.argv", ["epigram", *map(str, words)])
    with pytest.raises(SystemExit) as left:
        main()
    return int(left.value.code or 0)


def test_the_command_line_says_that_the_result_was_not_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text, lists, columns = tmp_path / "text", tmp_path / "lists.jsonl", tmp_path / "columns"
    text.write_text("\n".join(TEXT) + "\n")
    write_nbest(NBest.from_lists(random_lists(1, n_lists=20)), lists)
    columns.write_text("a X\nb Y\n\n" * 3)
    output = tmp_path / "model.epigram"
    price = ["--strength", 1e-6, "--depth-weight", 1, "--ridge", 1e-6]
    wild = [
        "--solver",
        "stochastic",
        "--lipschitz",
        1e-3,
        "--mu",
        1e-12,
        "--batch-size",
        1000,
        "--unconstrained",
    ]
    for words in (
        ["lm", "train", text, *price, *wild],
        ["lm", "train", text, "--classes", 2, *price, *wild],
        ["rerank", "train", lists, "--learner", "fslr", "--eps", 1e308],
        ["tag", "train", columns, "--eta0", 1e308, "--l1", 0],
    ):
        assert command(monkeypatch, *words, "-o", output) == 1, words
        assert "training diverged" in capsys.readouterr().err
        assert not output.exists()
