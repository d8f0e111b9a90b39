"""Figures 3 to 8: L1 norms and test error rates along the paths."""

from __future__ import annotations

from typing import Any

from epigram_papers.lasso_ime import paper
from epigram_papers.lasso_ime.curve_claims import ENCARTA
from epigram_papers.lasso_ime.results import LEARNERS, Results, domains, figure_row
from epigram_papers.report import Curve, Figure

NUMBERS = {"wikinews": 5, "tanaka": 6, "mdn": 7, "aozora": 8}
"""The figure of each domain with headword bigrams."""
SHOWN_FROM = 0.1
"""Test curves leave out this share of the path: it falls steeply there, and what differs later could not be seen."""
START = "The first tenth of the paths, where all fall steeply, is left out."


def norm_figures(results: Results, command: str) -> list[Figure]:
    """Figure 3, the training errors of the same paths, and the same against the training loss."""
    row, name = _shown(results)
    two = ("f-boosting", "blasso")
    first = Figure(
        "lasso-ime-figure-3",
        f"Figure 3. L1 curves on {name}",
        "steps",
        "L1 norm of the weights",
        [_curve(row, learner, "step", "l1") for learner in two],
        source=f"Figure 3 (Encarta, 8K); {ENCARTA} stands for Encarta",
        command=command,
    )
    errors = Figure(
        "lasso-ime-figure-3-errors",
        f"Training error curves on {name}",
        "steps",
        "character error rate on the training lists, %",
        [_curve(row, learner, "step", "train") for learner in two],
        source="not in the paper; section 5.3 says it in words",
        command=command,
    )
    second = Figure(
        "lasso-ime-figure-3-loss",
        f"L1 norm at equal training loss on {name}",
        "training loss (ExpLoss)",
        "L1 norm of the weights",
        [_curve(row, learner, "loss", "l1") for learner in LEARNERS],
        note="Further left: better fitted. Lower: less complex. A path lies lower the better it approximates "
        "the lasso.",
        x_log=True,
        source="not in the paper; section 5.3 says it in words",
        command=command,
    )
    return [first, errors, second]


def error_figures(results: Results, command: str) -> list[Figure]:
    """Figure 4, then Figures 5 to 8 with headword bigrams."""
    row, name = _shown(results)
    four = Figure(
        "lasso-ime-figure-4",
        f"Figure 4. Test error curves on {name}, word unigrams and bigrams",
        "steps",
        "character error rate, %",
        [_test(row, learner) for learner in LEARNERS],
        note=START,
        source=f"Figure 4 (Encarta, 8K); {ENCARTA} stands for Encarta",
        command=command,
    )
    return [four, *(_with_headwords(results, domain, command) for domain in domains(results))]


def _with_headwords(results: Results, domain: str, command: str) -> Figure:
    row, theirs = figure_row(results[domain]), paper.STANDS_FOR[domain]
    curves = [_test(row["headwords"], learner) for learner in LEARNERS]
    plain = _test(row, "blasso")
    curves.append(Curve("BLasso without headwords", plain.x, plain.y, "dashed"))
    return Figure(
        f"lasso-ime-figure-{NUMBERS[domain]}",
        f"Figure {NUMBERS[domain]}. Test error curves on {domain} ({row['sentences']:,} sentences), with "
        "headword bigrams",
        "steps",
        "character error rate, %",
        curves,
        note=START,
        source=f"Figure {NUMBERS[domain]} ({theirs}, 8K)",
        command=command,
    )


def _shown(results: Results) -> tuple[dict[str, Any], str]:
    domain = ENCARTA if ENCARTA in results else domains(results)[0]
    row = figure_row(results[domain])
    return row, f"{domain} ({row['sentences']:,} sentences)"


def _test(row: dict[str, Any], learner: str) -> Curve:
    curve = row["curves"][learner]
    shown = [k for k, step in enumerate(curve["step"]) if step >= SHOWN_FROM * curve["step"][-1]]
    return Curve(LEARNERS[learner], [curve["step"][k] for k in shown], [curve["test"][k] for k in shown])


def _curve(row: dict[str, Any], learner: str, x: str, y: str) -> Curve:
    curve = row["curves"][learner]
    return Curve(LEARNERS[learner], curve[x], curve[y])
