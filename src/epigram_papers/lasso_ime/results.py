"""What the cells found, as lines of Table 1 and as curves, in the paper's order of domains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from epigram_papers.lasso_ime import paper

Cells = Mapping[str, dict[str, Any]]
"""Results of the adaptation cells by domain."""

LEARNERS = {"boosting": "Boosting", "fslr": "FSLR", "f-boosting": "F-Boosting", "blasso": "BLasso"}
METHODS = {"baseline": "background alone", "map": "MAP", "map-kn": "MAP, P_a by Kneser-Ney", **LEARNERS}
LATE = 0.75
"""Later iterations: the last quarter of a path; early ones: the first."""


@dataclass(frozen=True)
class Line:
    """A row of Table 1: error rates in percent by method, and the paper's row it stands beside."""

    domain: str
    sentences: int
    size: str
    entropy: float
    cer: dict[str, float]
    p: dict[str, dict[str, float]]
    row: dict[str, Any]

    @property
    def paper(self) -> paper.Row:
        """The paper's row of the same kind and rank of size."""
        return paper.TABLE_1[paper.STANDS_FOR[self.domain]][self.size]

    @property
    def name(self) -> str:
        """For tables and sentences."""
        return f"{self.domain} ({self.sentences:,})"


def lines(cells: Cells) -> list[Line]:
    """All rows, domain by domain."""
    out = []
    for domain in domains(cells):
        cell = cells[domain]
        for size, row in zip(paper.SIZES, cell["rows"], strict=False):
            cer = {
                "baseline": cell["baseline"]["cer"],
                "map": row["map"]["cer"],
                "map-kn": row["map-kn"]["cer"],
            }
            cer |= {name: row["learners"][name]["cer"] for name in LEARNERS}
            out.append(Line(domain, row["sentences"], size, row["entropy"], cer, row["p"], row))
    return out


def domains(cells: Cells) -> list[str]:
    """Those that were run, in the paper's order."""
    return [domain for domain in paper.STANDS_FOR if domain in cells]


def figure_row(cell: Mapping[str, Any]) -> dict[str, Any]:
    """The row that has curves, with and without headword bigrams."""
    found: dict[str, Any] = next(row for row in cell["rows"] if "headwords" in row)
    return found


def variants(row: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Without and with headword bigrams."""
    return {"without headwords": row, "with headwords": row["headwords"]}


def reduction(before: float, after: float) -> float:
    """How many percent of the errors are gone (Table 1, in parentheses)."""
    return 100.0 * (before - after) / before if before else 0.0


def mean(values: Iterable[float]) -> float:
    """Of at least one value."""
    all_of_them = list(values)
    return sum(all_of_them) / len(all_of_them)


def value_at(curve: Mapping[str, Sequence[float]], name: str, step: float) -> float:
    """A curve between its points, by the straight line; after its end, its last value."""
    steps, values = curve["step"], curve[name]
    for k in range(1, len(steps)):
        if steps[k] >= step:
            share = (step - steps[k - 1]) / (steps[k] - steps[k - 1])
            return values[k - 1] + share * (values[k] - values[k - 1])
    return values[-1]


def gap(
    curves: Mapping[str, Mapping[str, Sequence[float]]], name: str, low: float, high: float
) -> list[float]:
    """F-Boosting minus BLasso at points of equal step, from one share of the path to another."""
    last = min(curves[learner]["step"][-1] for learner in ("blasso", "f-boosting"))
    return [
        value_at(curves["f-boosting"], name, step) - value_at(curves["blasso"], name, step)
        for step in curves["blasso"]["step"]
        if low * last <= step <= high * last
    ]


def late_gap(row: Mapping[str, Any]) -> float:
    """Mean lead of BLasso over F-Boosting in test errors, in later iterations."""
    return mean(gap(row["curves"], "test", LATE, 1.0))


def early_gap(row: Mapping[str, Any]) -> float:
    """Mean distance of the two, in early iterations."""
    return mean(abs(value) for value in gap(row["curves"], "test", 0.0, 1.0 - LATE))


def rise(row: Mapping[str, Any], learner: str) -> float:
    """Percent by which the test errors of the last step are above the lowest of the path."""
    rates = row["curves"][learner]["test"]
    return 100.0 * (rates[-1] - min(rates)) / min(rates) if min(rates) else 0.0


def spread(rates: Sequence[float]) -> float:
    """Percent by which the highest of some rates is above the lowest."""
    return 100.0 * (max(rates) - min(rates)) / min(rates) if min(rates) else 0.0


def eps_rates(row: Mapping[str, Any], learner: str) -> dict[float, float]:
    """Test rate by step size, the paper's among them."""
    from epigram_papers.lasso_ime.experiments import EPS

    rates = {other["value"]: other["cer"] for other in row["other_eps"][learner]}
    return dict(sorted({**rates, EPS: row["learners"][learner]["cer"]}.items()))


def smoothing_rates(row: Mapping[str, Any]) -> dict[float, float]:
    """Test rate of boosting by smoothing."""
    return {entry["value"]: entry["cer"] for entry in row["smoothings"]}
