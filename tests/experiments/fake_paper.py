"""A paper of two experiments with every kind of part, to run and to look at."""

from __future__ import annotations

import fake_experiments

from experiments.report import Claim, Curve, Figure, Note, Report, Section, Table
from experiments.runner import Experiment, Runner

EXPERIMENTS = [Experiment(f"fake/{x}", fake_experiments.square, {"x": x}, cost=3.0) for x in (2, 3)]


def plan(quick: bool) -> dict[str, float]:
    return {**{experiment.name: experiment.cost for experiment in EXPERIMENTS}, "fake/never asked for": 5.0}


def run(runner: Runner) -> Report:
    results = runner.run(EXPERIMENTS)
    return report([result["y"] for result in results.values()])


def report(numbers: list[float], name: str = "fake") -> Report:
    """Long words, wide tables, strange characters, and numbers that are none."""
    steps = list(range(1, 31))
    methods = (
        "OWL-QN",
        "SGD-L1 (naive)",
        "SGD-L1 (clipping + lazy-update)",
        "SGD-L1 (cumulative)",
        "SGD-L1 + exponential",
    )
    curves = [
        Curve(method, steps, [1 / (k + j) + 0.1 * j for k in steps])
        for j, method in enumerate(methods, start=1)
    ]
    curves.append(Curve("OWL-QN (paper)", [1, 10, 30], [1.2, None, 0.3], style="dots", source="paper"))
    curves.append(Curve("CRFsuite", steps, [0.4] * 30, style="dashed", source="rival"))
    wide = [
        "data set",
        *(
            f"{what}, {who}"
            for what in ("F-score", "active features", "CPU seconds", "objective")
            for who in ("paper", "CRFsuite", "epigram")
        ),
    ]
    return Report(
        name,
        "Squares <of> numbers & their friends",
        "A. Author, B. Writer: On Squares. Journal of Numbers 1(2), 2009. https://example.org/squares?a=1&b=2.",
        "What was run, in `two` paragraphs.\n\nThis is the second; it says 2 < 3 & 3 > 2.",
        [
            Section(
                "Table 1: squares",
                "Numbers of <this> run.",
                [
                    Claim(
                        "Squares grow (Section 2, Table 1).", "reproduced", f"{numbers[0]} < {numbers[-1]}."
                    ),
                    Table(
                        "Squares, the paper's | ours",
                        ["number", "paper", "CRFsuite", "epigram", "remark"],
                        [
                            ["two", 4, None, numbers[0], "as | it is"],
                            ["three", 9.0, float("nan"), numbers[-1], "<b>not bold</b>"],
                            ["many", float("inf"), -1234567.891, 1e-7, ""],
                        ],
                        note="The rival has no `squares`.",
                        highlight=[1],
                        source="Table 1",
                    ),
                    Table(
                        "A table with many columns",
                        wide,
                        [
                            [
                                f"data set number {k}",
                                *(
                                    [
                                        93.6412,
                                        92.1,
                                        93.7,
                                        452755,
                                        12426,
                                        9000,
                                        1500.5,
                                        800.25,
                                        12.5,
                                        -1.5,
                                        2.5,
                                        1e-5,
                                    ]
                                ),
                            ]
                            for k in range(12)
                        ],
                        formats=["", *([".2f"] * 3), *([",d"] * 3), *([",.1f"] * 3), *([".3g"] * 3)],
                        command=f"python -m experiments {name} --quick --jobs 1",
                    ),
                    Note("A note, with https://example.org in it."),
                ],
            ),
            Section(
                "Figures 3 and 4: convergence",
                "",
                [
                    Figure(
                        f"{name}-objective",
                        "Objective <against> passes",
                        "passes",
                        "objective per sample",
                        curves,
                        note="Lower is better.",
                        source="Figure 3",
                    ),
                    Figure(
                        f"{name}-features",
                        "Active features",
                        "passes",
                        "active features",
                        [
                            Curve(
                                c.label, c.x, [None if y is None else 2e5 * y for y in c.y], c.style, c.source
                            )
                            for c in curves
                        ],
                        y_log=True,
                    ),
                    Figure(
                        f"{name}-single",
                        "One curve, both axes logarithmic, long labels",
                        "words of training text, counted after rare words have been replaced",
                        "CPU seconds of one pass over the text, mean of three",
                        [
                            Curve(
                                "epigram, a label longer than the figure is wide",
                                [10, 100, 1000],
                                [0.5, 1.5, 4.5],
                            )
                        ],
                        x_log=True,
                        y_log=True,
                    ),
                    Claim("Curves go down (Figure 3).", "exceeded", "They do, at once."),
                    Claim(
                        "Curves never cross (Figure 4), a claim of more than one line on many screens.",
                        "not reproduced",
                        "They cross at 3 passes.",
                    ),
                    Claim("Ten points are a curve (Figure 3).", "too small to say", "3 points."),
                    Claim("Nothing is known of WSJ.", "not run", "It is not free."),
                ],
            ),
        ],
    )
