"""What section 5 wishes for: experiments agree with the solvers, and the section says what the numbers say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from epigram import FISTA, L1, AdaGrad, L1Ball
from epigram.chain.problem import ChainProblem
from epigram.datasets import sample
from experiments.report import Note, Table
from experiments.sgd_l1.tasks import TASKS, problem_of
from experiments.sgd_l1.wishes import adaptive, batch_ball, wished
from experiments.sgd_l1.wishes_report import wishes

TINY = {"task": "conll2000", "sentences": 80}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder of data with a small conll2000 and nothing else."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "conll2000").mkdir()
    train = "".join(map(sample.columns, ("train", "dev", "test")))
    for part, text in (("train", train), ("test", sample.columns("test"))):
        (folder / "conll2000" / f"{part}.txt").write_text(text, "utf-8")
    return str(folder)


@pytest.fixture(scope="module")
def problem(tiny: str) -> ChainProblem:
    return problem_of(TASKS["conll2000"].final(tiny, 80)[0], TASKS["conll2000"].template())


def test_adagrad_takes_the_rate_with_the_lowest_training_objective(tiny: str, problem: ChainProblem) -> None:
    row = adaptive(data=tiny, **TINY, l1=0.3, rates=[0.001, 1.0], passes=3)
    assert row["eta0"] == min(row["tried"], key=lambda pair: pair[1])[0] == 1.0
    found = AdaGrad(1.0, passes=3).solve(problem.loss, L1(0.3))
    assert row["objective"] * 80 == pytest.approx(found.objective)
    assert (row["active"], row["norm"]) == (np.count_nonzero(found.w), pytest.approx(np.abs(found.w).sum()))
    assert adaptive(data=tiny, **TINY, l1=0.3, rates=[], passes=1)["eta0"] == "auto"


def test_the_batch_row_is_the_constrained_optimum(tiny: str, problem: ChainProblem) -> None:
    row = batch_ball(data=tiny, **TINY, l1=0.3, radius=60.0, tolerance=1e-6)
    best = FISTA(tolerance=1e-9).solve(problem.loss, L1Ball(60.0))
    assert row["norm"] == pytest.approx(60.0)
    assert row["objective"] * 80 == pytest.approx(best.objective + 0.3 * 60.0, rel=1e-4)
    assert row["passes"] >= len(row["curve"]["objective"])


def made_up() -> dict[str, dict[str, Any]]:
    def row(objective: float, active: int) -> dict[str, Any]:
        return {"objective": objective, "active": active, "passes": 30, "norm": 800.0, "score": 93.5,
                "seconds": 10.0, "eta0": 0.5, "decay": 0.85, "radius": 800.0, "tried": [[1.0, 2.0]]}  # fmt: skip

    names = ("exponential", "auto", "adagrad", "adagrad-auto", "fista")
    found = {name: row(2.02 + 0.01 * k, 1_000 * k) for k, name in enumerate(names)}
    return found | {"owl-qn": row(2.0, 900), "strength": {"l1": 0.7}}


def test_rows_are_asked_for_at_the_norm_found() -> None:
    asked = wished(made_up(), 1e-4)
    assert {name: settings.get("radius") for name, (_, settings) in asked.items()} == {
        "adagrad": None, "adagrad-auto": None, "fista": 800.0,
    }  # fmt: skip


def test_the_section_has_a_table_and_two_findings_a_data_set() -> None:
    (section,) = wishes({"conll2000": made_up(), "jnlpba": {"owl-qn": {}}}, "python -m experiments sgd-l1")
    table, constrained, rates = section.parts
    assert isinstance(table, Table)
    assert [row[3] for row in table.rows][:2] == [-2.0, -2.02]
    assert len(table.rows) == 6
    assert isinstance(constrained, Note)
    assert isinstance(rates, Note)
    assert "FISTA in the ball ends 3.00% above the best objective" in constrained.text
    assert "AdaGrad with a tuned rate ends 2.00% above" in rates.text
    assert wishes({"jnlpba": {"owl-qn": {}}}, "") == []
