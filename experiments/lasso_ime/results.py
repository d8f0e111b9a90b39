"""What the results found, as lines of Table 1 and as curves, in the paper's order of domains."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.lasso_ime import paper

Results = Mapping[str, dict[str, Any]]
"""Results of the adaptation results by domain."""

LEARNERS = {"boosting": "Boosting", "fslr": "FSLR", "f-boosting": "F-Boosting", "blasso": "BLasso"}
MAPS = {
    "map": "MAP",
    "map+words": "MAP with the text's new words",
    "map-kn": "MAP, P_a by Kneser-Ney",
    "map-kn+words": "MAP, P_a by Kneser-Ney, with new words",
}
"""The paper's lexicon stays as it is: ``map``."""
METHODS = {"baseline": "background alone", **MAPS, **LEARNERS}
PENALTIES = {"lasso": "exact L1 (lasso)", "ridge": "exact L2 (ridge)", "msr": "minimum sample risk"}
NEAR_END = 0.9
"""Share of a path after which a chosen step is near its end."""
Difference = Mapping[str, float]
"""Of two systems on the same sentences: points of error rate, standard error, p-values (lasso_ime.judge)."""


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


def lines(results: Results) -> list[Line]:
    """All rows, domain by domain."""
    out = []
    for domain in domains(results):
        result = results[domain]
        for size, row in zip(paper.SIZES, result["rows"], strict=False):
            cer = {"baseline": result["baseline"]["cer"]}
            cer |= {name: row[name]["cer"] for name in MAPS}
            cer |= {name: row["learners"][name]["cer"] for name in LEARNERS}
            out.append(Line(domain, row["sentences"], size, row["entropy"], cer, row["p"], row))
    return out


def domains(results: Results) -> list[str]:
    """Those that were run, in the paper's order."""
    return [domain for domain in paper.STANDS_FOR if domain in results]


def figure_row(result: Mapping[str, Any]) -> dict[str, Any]:
    """The row that has curves, with and without headword bigrams."""
    found: dict[str, Any] = next(row for row in result["rows"] if "headwords" in row)
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


Curves = Mapping[str, Mapping[str, Sequence[float]]]


def last_common_step(curves: Curves) -> float:
    """The last step that both BLasso and F-Boosting have."""
    return min(curves[learner]["step"][-1] for learner in ("blasso", "f-boosting"))


def gaps(curves: Curves, name: str) -> list[float]:
    """F-Boosting minus BLasso at points of equal step, all along the path."""
    return [
        value_at(curves["f-boosting"], name, step) - value_at(curves["blasso"], name, step)
        for step in curves["blasso"]["step"]
        if step <= last_common_step(curves)
    ]


def chance(difference: Difference) -> float:
    """The larger of the two p-values: both tests have to say that a difference is more than chance."""
    return max(difference["matched_pairs"], difference["bootstrap"])


def pooled(differences: Iterable[Difference]) -> Difference:
    """Mean of independent differences, with the normal test of it.

    Examples
    --------
    >>> found = pooled([{"points": 0.3, "se": 0.1}, {"points": 0.1, "se": 0.1}])
    >>> round(found["points"], 3), round(found["se"], 3), round(found["p"], 4)
    (0.2, 0.071, 0.0047)
    """
    each = list(differences)
    points = mean(difference["points"] for difference in each)
    se = math.sqrt(sum(difference["se"] ** 2 for difference in each)) / len(each)
    p = math.erfc(abs(points) / se / math.sqrt(2.0)) if se else float(points == 0)
    return {"points": points, "se": se, "p": p}


def rise(row: Mapping[str, Any], learner: str) -> float:
    """Percent by which the test errors of the last step are above the lowest of the path."""
    rates = row["curves"][learner]["test"]
    return 100.0 * (rates[-1] - min(rates)) / min(rates) if min(rates) else 0.0


def spread(rates: Sequence[float]) -> float:
    """Percent by which the highest of some rates is above the lowest."""
    return 100.0 * (max(rates) - min(rates)) / min(rates) if min(rates) else 0.0


def eps_rates(row: Mapping[str, Any], learner: str) -> dict[float, float]:
    """Test rate by step size, the paper's among them."""
    from experiments.lasso_ime.trial import EPS

    rates = {other["value"]: other["cer"] for other in row["other_eps"][learner]}
    return dict(sorted({**rates, EPS: row["learners"][learner]["cer"]}.items()))


def smoothing_rates(row: Mapping[str, Any]) -> dict[float, float]:
    """Test rate of boosting by smoothing."""
    return {entry["value"]: entry["cer"] for entry in row["smoothings"]}


def near_smoothings(row: Mapping[str, Any]) -> list[float]:
    """Test rates of boosting at the chosen smoothing and its two neighbours, about three times less and more."""
    values = list(smoothing_rates(row))
    at = values.index(row["learners"]["boosting"]["smoothing"])
    return list(smoothing_rates(row).values())[max(at - 1, 0) : at + 2]


def cut_off(results: Results) -> list[str]:
    """Paths whose chosen step is near their end, so that a longer one might have been better: data and learner."""
    return [
        f"{line.name} {LEARNERS[name]}"
        for line in lines(results)
        for name, found in line.row["learners"].items()
        if found["step"] > NEAR_END * found["steps"]
    ]
