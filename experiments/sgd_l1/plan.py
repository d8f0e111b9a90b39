"""Which experiments are run, in which order, on how much: the quick and the full size.

Stages: C by OWL-QN; then rates at that C, and what needs C alone; then SGD at those rates. Coarser than the paper
in one thing: on the larger sets C is chosen on part of the training sentences, as the report says.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from experiments.runner import Experiment, Runner
from experiments.sgd_l1.experiments import (
    TOLERANCE,
    choose_rates,
    choose_strength,
    descend,
    quasi_newton,
)
from experiments.sgd_l1.paper import DECAY_LADDER, DECAYS, PASSES, RATE_LADDER, RATES, RULE_OF_THUMB
from experiments.sgd_l1.rival import crfsuite
from experiments.sgd_l1.wishes import wished

Results = dict[str, dict[str, Any]]
STRENGTH_LADDER = (8.0, 5.6, 4.0, 2.8, 2.0, 1.4, 1.0, 0.7, 0.5, 0.35, 0.25, 0.18, 0.125, 0.09)
SGD_ROWS = ("naive", "clipping", "cumulative", "exponential", "auto")
LONGER = "longer"
"""Twice the paper's passes, from the same rate to the same rate: whether thirty are too few."""


@dataclass(frozen=True)
class Plan:
    """How one task is run; ``costs`` are expected CPU seconds of its experiments."""

    task: str
    strengths: tuple[float, ...]
    costs: Mapping[str, float]
    sentences: int | None = None
    at_most: int | None = None
    strength_tolerance: float = 5e-4
    tolerance: float = TOLERANCE
    rivals: Mapping[str, int] = field(default_factory=dict)

    def name(self, experiment: str) -> str:
        """An experiment's name in the runner."""
        return f"sgd-l1/{self.task}/{experiment}"

    def _experiment(self, short: str, function: Any, **settings: Any) -> Experiment:
        everyone = {"task": self.task, "sentences": self.sentences}
        return Experiment(self.name(short), function, {**everyone, **settings}, self.costs[short])

    def first(self) -> list[Experiment]:
        """C by OWL-QN on held-out sentences."""
        return [
            self._experiment(
                "strength",
                choose_strength,
                at_most=self.at_most,
                strengths=list(self.strengths),
                ladder=list(STRENGTH_LADDER),
                tolerance=self.strength_tolerance,
            )
        ]

    def second(self, found: Results) -> list[Experiment]:
        """What needs C alone."""
        l1 = found["strength"]["l1"]
        rates = [
            self._experiment(
                f"rates-{schedule}",
                choose_rates,
                l1=l1,
                schedule=schedule,
                rates=list(RATES),
                rate_ladder=list(RATE_LADDER),
                decay=RULE_OF_THUMB,
                decays=list(decays),
                decay_ladder=list(DECAY_LADDER),
                passes=PASSES,
            )
            for schedule, decays in (("inverse", ()), ("exponential", DECAYS))
        ]
        rivals = [
            self._experiment(f"crfsuite-{algorithm}", crfsuite, l1=l1, algorithm=algorithm, passes=passes)
            for algorithm, passes in self.rivals.items()
        ]
        batch = self._experiment("owl-qn", quasi_newton, l1=l1, tolerance=self.tolerance)
        return [*rates, batch, *rivals]

    def third(self, found: Results) -> list[Experiment]:
        """SGD at the rates found."""
        inverse = found["rates-inverse"]["eta0"]
        exponential, decay = (found["rates-exponential"][name] for name in ("eta0", "decay"))
        rows: dict[str, tuple[str, str, float | str, float | str]] = {
            "naive": ("naive", "inverse", inverse, RULE_OF_THUMB),
            "clipping": ("lazy", "inverse", inverse, RULE_OF_THUMB),
            "cumulative": ("cumulative", "inverse", inverse, RULE_OF_THUMB),
            "exponential": ("cumulative", "exponential", exponential, decay),
            "auto": ("cumulative", "auto", "auto", "auto"),
            LONGER: ("cumulative", "exponential", exponential, math.sqrt(decay)),
        }
        return [
            self._experiment(
                short,
                descend,
                l1=found["strength"]["l1"],
                method=method,
                schedule=schedule,
                eta0=eta0,
                decay=decay,
                passes=2 * PASSES if short == LONGER else PASSES,
            )
            for short, (method, schedule, eta0, decay) in rows.items()
            if short in self.costs
        ]

    def fourth(self, found: Results) -> list[Experiment]:
        """What the paper wishes for, where it is run: at the norm of OWL-QN's weights and at SGD's rates."""
        if "fista" not in self.costs:
            return []
        asked = wished(found, self.tolerance)
        return [
            self._experiment(short, function, **settings) for short, (function, settings) in asked.items()
        ]


def _costs(strength: float, owl_qn: float, naive: float, sgd: float, **rivals: float) -> dict[str, float]:
    """Expected CPU seconds; rates are four runs of SGD, two more where alpha is searched too, and edges."""
    costs = {"strength": strength, "owl-qn": owl_qn, "naive": naive}
    costs |= {"rates-inverse": 4.5 * sgd, "rates-exponential": 6.5 * sgd}
    costs |= dict.fromkeys(SGD_ROWS[1:], sgd)
    return costs | {f"crfsuite-{algorithm}": cost for algorithm, cost in rivals.items()}


def _wishes(sgd: float, fista: float) -> dict[str, float]:
    """Expected CPU seconds of what the paper wishes for; AdaGrad's rate is chosen among three."""
    return {"adagrad": 8.0 * sgd, "adagrad-auto": 2.5 * sgd, "fista": fista}


FULL = (
    Plan(
        "conll2000",
        (0.5, 0.7, 1.0, 1.4),
        _costs(50, 42, 155, 5, lbfgs=117, l2sgd=34, ap=13) | _wishes(6, 170),
        rivals={"lbfgs": 1_000, "l2sgd": 30, "ap": 10},
    ),
    Plan("jnlpba", (1.0, 1.4, 2.0), _costs(61, 209, 1_017, 15), at_most=4_000),
    Plan("genia-pos", (0.18, 0.25, 0.35, 0.5), _costs(45, 88, 269, 22) | {LONGER: 45}, at_most=3_000),
    Plan(
        "ud-ewt",
        (0.25, 0.35, 0.5, 0.7),
        _costs(37, 57, 204, 12, lbfgs=278, ap=22) | _wishes(13, 400) | {LONGER: 25},
        at_most=3_000,
        rivals={"lbfgs": 1_000, "ap": 10},
    ),
    Plan("wsj-sample", (0.25, 0.35, 0.5, 0.7), _costs(41, 19, 40, 4) | {LONGER: 8}),
)
QUICK = (
    Plan(
        "conll2000",
        (0.5, 1.0, 2.0),
        _costs(5, 3, 3.5, 1.6, lbfgs=8) | _wishes(1.3, 15),
        sentences=1_000,
        strength_tolerance=1e-3,
        rivals={"lbfgs": 1_000},
    ),
    Plan("wsj-sample", (0.25, 0.5, 1.0), _costs(4, 2, 1.5, 1.2), sentences=400, strength_tolerance=1e-3),
)


def plans(quick: bool) -> tuple[Plan, ...]:
    """The tasks of a size."""
    return QUICK if quick else FULL


def plan(quick: bool) -> dict[str, float]:
    """Expected CPU seconds of every experiment."""
    return {one.name(experiment): cost for one in plans(quick) for experiment, cost in one.costs.items()}


def run_all(runner: Runner) -> dict[str, Results]:
    """All results: by task, then by the last part of the experiment's name."""
    found: dict[str, Results] = {one.task: {} for one in plans(runner.quick)}

    def collect(experiments: list[Experiment]) -> None:
        for name, result in runner.run(experiments).items():
            _, task, short = name.split("/")
            found[task][short] = result

    everyone = plans(runner.quick)
    collect([experiment for one in everyone for experiment in one.first()])
    collect([experiment for one in everyone for experiment in one.second(found[one.task])])
    collect([experiment for one in everyone for experiment in one.third(found[one.task])])
    collect([experiment for one in everyone for experiment in one.fourth(found[one.task])])
    return found
