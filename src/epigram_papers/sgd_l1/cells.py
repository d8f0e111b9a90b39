"""Which cells are run, in which order, on how much: the quick and the full size.

Stages: C by OWL-QN; then rates at that C, and what needs C alone; then SGD at those rates. Coarser than the paper
where the data are large, and said so in the report: C on part of the training sentences, eta_0 in few passes with
alpha = 0.85 (its rule of thumb), naive SGD in few passes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from epigram_papers.lab import Cell, Lab
from epigram_papers.sgd_l1.experiments import (
    TOLERANCE,
    choose_rates,
    choose_strength,
    descend,
    quasi_newton,
)
from epigram_papers.sgd_l1.paper import DECAYS, RATES, RULE_OF_THUMB
from epigram_papers.sgd_l1.rival import crfsuite

Results = dict[str, dict[str, Any]]
SGD_ROWS = ("naive", "clipping", "cumulative", "exponential", "auto")


@dataclass(frozen=True)
class Plan:
    """How one task is run; ``costs`` are expected CPU seconds of its cells."""

    task: str
    strengths: tuple[float, ...]
    costs: Mapping[str, float]
    sentences: int | None = None
    at_most: int | None = None
    strength_tolerance: float = 5e-4
    tolerance: float = TOLERANCE
    owlqn_passes: int | None = None
    trial_passes: int = 30
    decays: tuple[float, ...] = DECAYS
    passes: int = 30
    naive_passes: int = 30
    rivals: Mapping[str, int] = field(default_factory=dict)

    def name(self, cell: str) -> str:
        """A cell's name in the lab."""
        return f"sgd-l1/{self.task}/{cell}"

    def _cell(self, short: str, function: Any, **settings: Any) -> Cell:
        everyone = {"task": self.task, "sentences": self.sentences}
        return Cell(self.name(short), function, {**everyone, **settings}, self.costs[short])

    def first(self) -> list[Cell]:
        """C by OWL-QN on held-out sentences."""
        return [
            self._cell(
                "strength",
                choose_strength,
                at_most=self.at_most,
                strengths=list(self.strengths),
                tolerance=self.strength_tolerance,
            )
        ]

    def second(self, found: Results) -> list[Cell]:
        """What needs C alone."""
        l1 = found["strength"]["l1"]
        rates = self._cell(
            "rates",
            choose_rates,
            l1=l1,
            rates=list(RATES),
            decays=list(self.decays),
            decay=RULE_OF_THUMB,
            passes=self.trial_passes,
        )
        rivals = [
            self._cell(f"crfsuite-{algorithm}", crfsuite, l1=l1, algorithm=algorithm, passes=passes)
            for algorithm, passes in self.rivals.items()
        ]
        batch = self._cell("owl-qn", quasi_newton, l1=l1, tolerance=self.tolerance, limit=self.owlqn_passes)
        return [rates, batch, *rivals]

    def third(self, found: Results) -> list[Cell]:
        """SGD at the rates found."""
        inverse, exponential = (found["rates"][schedule]["eta0"] for schedule in ("inverse", "exponential"))
        decay = found["rates"]["decay"]["decay"]
        rows: dict[str, tuple[str, str, float | str, float]] = {
            "naive": ("naive", "inverse", inverse, RULE_OF_THUMB),
            "clipping": ("lazy", "inverse", inverse, RULE_OF_THUMB),
            "cumulative": ("cumulative", "inverse", inverse, RULE_OF_THUMB),
            "exponential": ("cumulative", "exponential", exponential, decay),
            "auto": ("cumulative", "exponential", "auto", RULE_OF_THUMB),
        }
        return [
            self._cell(
                short,
                descend,
                l1=found["strength"]["l1"],
                method=method,
                schedule=schedule,
                eta0=eta0,
                decay=decay,
                passes=self.naive_passes if short == "naive" else self.passes,
            )
            for short, (method, schedule, eta0, decay) in rows.items()
        ]


def _costs(
    strength: float, rates: float, owl_qn: float, naive: float, sgd: float, **rivals: float
) -> dict[str, float]:
    costs = {"strength": strength, "rates": rates, "owl-qn": owl_qn, "naive": naive}
    costs |= dict.fromkeys(SGD_ROWS[1:], sgd)
    return costs | {f"crfsuite-{algorithm}": cost for algorithm, cost in rivals.items()}


FULL = (
    Plan(
        "conll2000",
        (0.5, 0.7, 1.0, 1.4),
        _costs(72, 88, 60, 92, 15, lbfgs=104, l2sgd=32, ap=12),
        rivals={"lbfgs": 1_000, "l2sgd": 30, "ap": 10},
    ),
    Plan(
        "jnlpba",
        (1.0, 1.4, 2.0),
        _costs(68, 48, 285, 45, 56),
        at_most=4_000,
        trial_passes=5,
        decays=(RULE_OF_THUMB,),
        naive_passes=2,
    ),
    Plan(
        "genia-pos",
        (0.18, 0.25, 0.35, 0.5),
        _costs(70, 60, 280, 25, 48),
        at_most=3_000,
        trial_passes=5,
        decays=(RULE_OF_THUMB,),
        naive_passes=3,
    ),
    Plan(
        "ud-ewt",
        (0.25, 0.35, 0.5, 0.7),
        _costs(50, 30, 140, 25, 23, lbfgs=100, ap=20),
        at_most=3_000,
        trial_passes=5,
        decays=(RULE_OF_THUMB,),
        naive_passes=5,
        rivals={"lbfgs": 1_000, "ap": 10},
    ),
)
QUICK = tuple(
    Plan(
        task,
        strengths,
        costs,
        sentences=500,
        strength_tolerance=1e-3,
        tolerance=3e-4,
        trial_passes=8,
        decays=(RULE_OF_THUMB,),
        rivals=rivals,
    )
    for task, strengths, rivals, costs in (
        ("conll2000", (0.5, 1.0, 2.0), {"lbfgs": 1_000, "ap": 10}, _costs(3, 2, 2, 1, 1, lbfgs=6, ap=1)),
        ("jnlpba", (0.5, 1.0, 2.0), {}, _costs(8, 3, 8.5, 2, 1.5)),
        ("ud-ewt", (0.25, 0.5, 1.0), {}, _costs(4, 3, 5, 1.5, 1.5)),
    )
)


def plans(quick: bool) -> tuple[Plan, ...]:
    """The tasks of a size."""
    return QUICK if quick else FULL


def plan(quick: bool) -> dict[str, float]:
    """Expected CPU seconds of every cell."""
    return {one.name(cell): cost for one in plans(quick) for cell, cost in _asked(one).items()}


def _asked(one: Plan) -> dict[str, float]:
    wanted = {"strength", "rates", "owl-qn", *SGD_ROWS, *(f"crfsuite-{name}" for name in one.rivals)}
    return {cell: cost for cell, cost in one.costs.items() if cell in wanted}


def run_cells(lab: Lab) -> dict[str, Results]:
    """All results: by task, then by the last part of the cell's name."""
    found: dict[str, Results] = {one.task: {} for one in plans(lab.quick)}

    def collect(cells: list[Cell]) -> None:
        for name, result in lab.run(cells).items():
            _, task, short = name.split("/")
            found[task][short] = result

    everyone = plans(lab.quick)
    collect([cell for one in everyone for cell in one.first()])
    collect([cell for one in everyone for cell in one.second(found[one.task])])
    collect([cell for one in everyone for cell in one.third(found[one.task])])
    return found
