"""What section 5.2 says of Table 1, and what the cells say to it. Verdicts follow the numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from epigram_papers.lasso_ime import paper
from epigram_papers.lasso_ime.results import Cells, Line, domains, figure_row, lines, mean, reduction
from epigram_papers.report import Claim, Verdict

SIMILAR = 2.0
"""Percent of errors by which results that are "very similar" may differ, on average."""


def table_claims(cells: Cells) -> list[Claim]:
    """All claims on Table 1."""
    rows = lines(cells)
    return [
        similarity(cells),
        beats_map(rows),
        nearer_gains_more(rows),
        order(rows),
        significant(rows),
        more_visible(rows),
        fslr_like_boosting(rows),
        speed(cells),
    ]


def judged(good: bool, better: bool = False) -> Verdict:
    """The verdict of a condition; ``better`` where the run goes beyond the paper."""
    return ("exceeded" if better else "reproduced") if good else "not reproduced"


def similarity(cells: Cells) -> Claim:
    """Column 2 against column 3."""
    names = domains(cells)
    entropy = {name: cells[name]["rows"][-1]["entropy"] for name in names}
    rate = {name: cells[name]["baseline"]["cer"] for name in names}
    by_entropy, by_rate = (sorted(names, key=lambda name: of[name]) for of in (entropy, rate))
    listed = "; ".join(f"{name} {entropy[name]:.2f} bits, {rate[name]:.2f} %" for name in by_entropy)
    return Claim(
        "The error rate of the background model correlates very well with the similarity of background and "
        "adaptation domain, measured by cross entropy (5.2).",
        judged(by_entropy == by_rate),
        f"{listed}; in order of error rate: {', '.join(by_rate)}.",
    )


def beats_map(rows: Sequence[Line]) -> Claim:
    """Both learners against MAP as the paper has it."""
    boosting, blasso = _share(rows, _under_map("boosting")), _share(rows, _under_map("blasso"))
    theirs = _share_of_paper(lambda row: row.boosting < row.map)
    return Claim(
        "Both discriminative methods, boosting and BLasso, outperform MAP substantially (5.2).",
        judged(blasso == 1.0 and boosting >= theirs, boosting == 1.0 and theirs < 1.0),
        f"BLasso is below MAP in {_of(blasso, rows)} rows, boosting in {_of(boosting, rows)} (in the paper in "
        f"12 and {round(12 * theirs)} of 12); mean reduction of errors "
        f"{mean(reduction(row.cer['map'], row.cer['blasso']) for row in rows):.1f} % and "
        f"{mean(reduction(row.cer['map'], row.cer['boosting']) for row in rows):.1f} %.",
    )


def smoothed_map(rows: Sequence[Line]) -> str:
    """A sentence on what the paper did not try: MAP with a smoothed P_a."""
    ahead = [row.name for row in rows if row.cer["map-kn"] < row.cer["blasso"]]
    gain = mean(reduction(row.cer["blasso"], row.cer["map-kn"]) for row in rows)
    subject = "MAP with P_a smoothed by Kneser-Ney, which the paper did not try,"
    if not ahead:
        return f"{subject} is behind BLasso in all {len(rows)} rows."
    return (
        f"{subject} has fewer errors than BLasso in {len(ahead)} of {len(rows)} rows (mean {gain:+.1f} %): "
        "the comparison with MAP depends on how P_a is estimated."
    )


def nearer_gains_more(rows: Sequence[Line]) -> Claim:
    """The margin over MAP, near and far domains, size by size."""
    parts, good = [], True
    for size in _sizes(rows):
        near, far = _near_and_far([row for row in rows if row.size == size], "map")
        good &= near > far
        parts.append(f"{size}: {near:.1f} % and {far:.1f} %")
    return Claim(
        "The improvement over MAP is larger when background and adaptation domain are more similar (5.2).",
        judged(good),
        "BLasso's mean reduction over MAP on the nearer and the farther half of the domains, by size in the paper: "
        + "; ".join(parts) + ".",
    )  # fmt: skip


def order(rows: Sequence[Line]) -> Claim:
    """The order of the columns."""

    def in_order(row: Line) -> bool:
        cer = row.cer
        return cer["baseline"] >= cer["map"] > cer["boosting"] > cer["blasso"]

    ours = _share(rows, in_order)
    theirs = _share_of_paper(lambda row: row.baseline >= row.map > row.boosting > row.blasso)
    broken = [row.name for row in rows if not in_order(row)]
    return Claim(
        "Table 1, from column to column: baseline, MAP, boosting, BLasso, each with fewer errors than the "
        f"one before (so in {round(12 * theirs)} of the paper's 12 rows).",
        judged(ours >= theirs, ours > theirs),
        f"In this order in {_of(ours, rows)} rows" + (f"; not in {', '.join(broken)}." if broken else "."),
    )


def significant(rows: Sequence[Line]) -> Claim:
    """BLasso against boosting, on errors per sentence."""

    def clear(row: Line) -> bool:
        return max(row.p["boosting"].values()) < paper.LEVEL

    better = [row for row in rows if row.cer["blasso"] < row.cer["boosting"]]
    surely = [row for row in better if clear(row)]
    worse = [row.name for row in rows if row not in better and clear(row)]
    return Claim(
        "BLasso outperforms boosting significantly (p < 0.01) on all test sets (5.2).",
        judged(len(surely) == len(rows)),
        f"BLasso has fewer errors in {len(better)} of {len(rows)} rows, significantly (both tests, p < "
        f"{paper.LEVEL}) in "
        f"{len(surely)}" + (f" ({', '.join(row.name for row in surely)})" if surely else "")
        + f"; boosting is significantly ahead in {', '.join(worse) or 'none'}.",
    )  # fmt: skip


def more_visible(rows: Sequence[Line]) -> Claim:
    """BLasso over boosting: larger training sets, farther domains."""
    sizes = _sizes(rows)
    by_size = [
        mean(reduction(row.cer["boosting"], row.cer["blasso"]) for row in rows if row.size == size)
        for size in sizes
    ]
    near, far = _near_and_far(rows, "boosting")
    listed = ", ".join(f"{size}: {value:+.1f} %" for size, value in zip(sizes, by_size, strict=True))
    return Claim(
        "The improvement of BLasso over boosting is more visible where the domain is less similar and the "
        "training set larger (5.2).",
        judged(by_size[-1] > by_size[0] and far > near),
        f"Mean reduction by size in the paper: {listed}; nearer domains {near:+.1f} %, farther ones {far:+.1f} %.",
    )


def fslr_like_boosting(rows: Sequence[Line]) -> Claim:
    """Why FSLR is not in the paper's table."""
    differences = [reduction(row.cer["boosting"], row.cer["fslr"]) for row in rows]
    distance = mean(map(abs, differences))
    return Claim(
        "FSLR achieves very similar results to boosting with shrinkage, where the parameters of both are "
        "chosen on held-out data (5.2).",
        judged(distance < SIMILAR),
        f"The two differ by {distance:.1f} % of the errors on average (mean {mean(differences):+.1f} % for "
        f"FSLR, from {min(differences):+.1f} to {max(differences):+.1f} %); less than {SIMILAR:g} % counts as "
        "very similar.",
    )


def speed(cells: Cells) -> Claim:
    """CPU seconds of one whole path at the size of the figures, features and index included."""
    seconds = {
        name: mean(training_seconds(cells[domain], name) for domain in domains(cells))
        for name in paper.MINUTES
    }
    sentences = figure_row(cells[domains(cells)[0]])["sentences"]
    as_fast = all(seconds[name] <= 60 * limit for name, limit in paper.MINUTES.items())
    return Claim(
        "Boosting and BLasso run in around 15 and 30 minutes when training on 8K sentences, on a 1.90 GHz Xeon (5.2).",
        judged(as_fast, better=True) if sentences >= paper.TIMED_SENTENCES else "not run",
        f"On {sentences:,} sentences the whole path takes {seconds['boosting']:.1f} and "
        f"{seconds['blasso']:.1f} CPU seconds (mean of the domains; another machine, twenty years later).",
    )


def training_seconds(cell: dict[str, object], learner: str) -> float:
    """Features, index and path of one learner."""
    row = figure_row(cell)
    return float(row["course_seconds"] + row["learners"][learner]["seconds"])


def _under_map(learner: str) -> Callable[[Line], bool]:
    return lambda row: row.cer[learner] < row.cer["map"]


def _share(rows: Sequence[Line], test: Callable[[Line], bool]) -> float:
    return mean(map(test, rows))


def _share_of_paper(test: Callable[[paper.Row], bool]) -> float:
    return mean(test(row) for sizes in paper.TABLE_1.values() for row in sizes.values())


def _of(share: float, rows: Sequence[Line]) -> str:
    return f"{round(share * len(rows))} of {len(rows)}"


def _sizes(rows: Sequence[Line]) -> list[str]:
    return [size for size in paper.SIZES if any(row.size == size for row in rows)]


def _near_and_far(rows: Sequence[Line], rival: str) -> tuple[float, float]:
    """BLasso's mean reduction over a rival on the half of the domains with the lower entropy, and on the other."""
    names = {row.domain: row.entropy for row in rows}
    ranked = sorted(names, key=lambda name: names[name])
    near = ranked[: max(len(ranked) // 2, 1)]
    halves = ([row for row in rows if row.domain in near], [row for row in rows if row.domain not in near])
    first, second = (
        mean(reduction(row.cer[rival], row.cer["blasso"]) for row in half) if half else 0.0 for half in halves
    )
    return first, second
