"""The section on what the paper wished for: one table a data set, and what was found, in words made of its numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.report import Note, Part, Section, Table
from experiments.sgd_l1.claims import SAME_DATA, TITLES

Results = Mapping[str, Mapping[str, Any]]

PENALISED = {
    "owl-qn": "OWL-QN",
    "exponential": "SGD, cumulative, tuned rates",
    "auto": "SGD, cumulative, automatic rates",
}
ADAPTIVE = {"adagrad": "AdaGrad, tuned rate", "adagrad-auto": "AdaGrad, automatic rate"}
CONSTRAINED = {"fista": "FISTA in the l1 ball"}
INTRO = (
    "The paper has no figures for these, so there are findings here and no verdicts. Penalised methods minimise "
    "loss + C ||w||_1; constrained ones the loss where ||w||_1 is at most that of OWL-QN's weights, which has the same "
    "solution. L/N is the penalised log-likelihood per sentence for all of them. "
    "AdaGrad's first rate is chosen as SGD's, by the training objective."
)


def wishes(found: Mapping[str, Results], command: str) -> list[Section]:
    """The section, where its results were run."""
    told = {task: results for task, results in found.items() if "fista" in results}
    if not told:
        return []
    parts: list[Part] = []
    for task, results in told.items():
        parts += [_table(task, results, command), *_findings(task, results)]
    return [Section("What the paper wished for (section 5)", INTRO, parts)]


def _table(task: str, results: Results, command: str) -> Table:
    """All ways to train, side by side."""
    rows: list[list[Any]] = [
        [
            kind,
            label,
            results[row]["passes"],
            -results[row]["objective"],
            results[row]["norm"],
            results[row]["active"],
            results[row]["score"],
            results[row]["seconds"],
        ]
        for kind, labels in (("penalised", PENALISED), ("adaptive", ADAPTIVE), ("constrained", CONSTRAINED))
        for row, label in labels.items()
    ]
    rate = results["adagrad"]["eta0"]
    return Table(
        f"{TITLES[task]}: penalised, adaptive, constrained",
        ["", "method", "passes", "L/N", "norm", "active features", _measure(task), "CPU seconds"],
        rows,
        note=f"C = {results['strength']['l1']:g}, radius {results['fista']['radius']:,.0f}; AdaGrad's eta_0 {rate:g} "
        f"of {', '.join(f'{tried:g}' for tried, _ in results['adagrad']['tried'])}, SGD's "
        f"{results['exponential']['eta0']:g} with alpha {results['exponential']['decay']:g}. "
        "Seconds of automatic AdaGrad include its trials.",
        formats=["", "", ",d", ".4f", ",.0f", ",d", ".2f", ",.1f"],
        command=command,
    )


def _measure(task: str) -> str:
    return "F-score" if task in SAME_DATA else "accuracy"


def _findings(task: str, results: Results) -> list[Note]:
    """Constrained against penalised, adaptive against the schedule."""
    best = min(results[row]["objective"] for row in (*PENALISED, *ADAPTIVE, *CONSTRAINED))

    def told(row: str, label: str) -> str:
        result = results[row]
        return (
            f"{label} ends {result['objective'] / best - 1:.2%} above the best objective of the table with "
            f"{result['active']:,} active features and {result['score']:.2f} in {result['seconds']:.1f} CPU s"
        )

    constrained = "; ".join(
        told(row, label)
        for row, label in (
            ("exponential", "penalised SGD"),
            ("owl-qn", "OWL-QN"),
            ("fista", "FISTA in the ball"),
        )
    )
    adaptive = "; ".join(
        told(row, label)
        for row, label in (
            ("exponential", "SGD with tuned rates"),
            ("adagrad", "AdaGrad with a tuned rate"),
            ("auto", "SGD with automatic rates"),
            ("adagrad-auto", "AdaGrad with an automatic rate"),
        )
    )
    return [
        Note(
            f"{TITLES[task]}, “it would be interesting to compare the two approaches [l1-regularised and "
            f"l1-constrained] in terms of practicality”: {constrained}."
        ),
        Note(
            f"{TITLES[task]}, “it would be interesting to investigate whether those sophisticated learning scheduling "
            f"algorithms can actually result in fast training”: {adaptive}."
        ),
    ]
