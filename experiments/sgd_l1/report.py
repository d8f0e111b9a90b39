"""The report: claims, Tables 1 to 3, Figures 3 to 6, and how strengths and rates were chosen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from experiments.report import Curve, Figure, Note, Report, Section, Table
from experiments.report import Part as ReportPart
from experiments.runner import Runner
from experiments.sgd_l1.claims import SAME_DATA, TITLES, Found, Results, all_claims
from experiments.sgd_l1.paper import CITATION, DECAYS, METHODS, PASSES, RATES, RULE_OF_THUMB, TABLES
from experiments.sgd_l1.plan import Plan, plan, plans, run_all
from experiments.sgd_l1.wishes_report import wishes

__all__ = ["build", "plan", "run"]

ROWS = {**METHODS, "auto": "epigram, automatic settings"}
IN_FIGURES = {
    "owl-qn": "OWL-QN",
    "clipping": "SGD-L1 (Clipping)",
    "cumulative": "SGD-L1 (Cumulative)",
    "exponential": "SGD-L1 (Cumulative + ED)",
    "auto": "epigram, automatic",
}
STYLES = {"owl-qn": "dashed"}
SHOWN = 1.5  # times the best objective: what lies further off is not drawn
PLACES = {
    "conll2000": ("Text chunking: CoNLL-2000", "Table 1", "Figure 3"),
    "jnlpba": ("Named entities: JNLPBA", "Table 2", "Figure 5"),
    "genia-pos": ("Parts of speech: GENIA", "Table 3", "Figure 6"),
    "ud-ewt": ("Parts of speech: UD English-EWT", "Table 3", "Figure 6"),
    "wsj-sample": ("Parts of speech: a sample of the Wall Street Journal", "Table 3", "Figure 6"),
}
ABOUT = {
    "conll2000": "The paper's files and features.",
    "jnlpba": (
        "The paper's files. Its parts of speech and chunks come from the GENIA tagger; ours from taggers of epigram, "
        "learned from GENIA's parts of speech and CoNLL-2000's chunks, so the columns are alike but not the same. "
        "GENIA's abstracts are those of the training file, which holds for the GENIA tagger too. The last 1,739 "
        "training sentences (200 abstracts) are held out where something is chosen."
    ),
    "genia-pos": (
        "The paper uses the Wall Street Journal, which is not free. GENIA has Penn tags on about half as many tokens, "
        "of biomedical abstracts; record markers are left out. Its figures do not compare with the paper's; the order "
        "of the methods does. Its development part is held out."
    ),
    "ud-ewt": (
        "Stands for the Wall Street Journal too, which is not free: web text with Penn tags (XPOS). Its figures do not "
        "compare with the paper's; the order of the methods does. Its development part is held out."
    ),
    "wsj-sample": (
        "The paper uses the Wall Street Journal, which is not free but for the part that NLTK gives away: 3,914 "
        "sentences, a tenth of the sections that the paper trains on. The first 80 % train, the next 10 % are held "
        "out, the last 10 % test. Its figures do not compare with the paper's; the order of the methods does."
    ),
}
INTRO = (
    "Linear-chain CRFs with an l1 penalty, trained by OWL-QN and by four kinds of SGD. C is chosen by OWL-QN for the "
    "likelihood of held-out sentences; then eta_0 from the paper's grid, and then alpha, for the training objective "
    f"after {PASSES} passes, as the paper does. Where the best value lies at the edge of a grid, the grid goes on (the "
    "last section has every value tried). Final models are trained on all training sentences; the test part serves the "
    "last column only. Times are CPU seconds of training on one thread, without reading, features and test."
)


def run(runner: Runner) -> Report:
    """Ask for the results and report on them."""
    return build(run_all(runner), runner.quick)


def build(found: Found, quick: bool) -> Report:
    """The report of these results: by task, then by the last part of the result's name."""
    command = "python -m experiments sgd-l1" + (" --quick" if quick else "")
    sizes = {one.task: one for one in plans(quick)}
    sections = [Section("What holds", "", list(all_claims(found, quick)))]
    for task, results in found.items():
        sections.append(_task(task, results, sizes[task], command))
    rivals = [table for task, results in found.items() for table in _rivals(task, results, command)]
    if rivals:
        intro = "The same sentences and features for python-crfsuite; its OWL-QN stops by the rule that stops ours."
        sections.append(Section("Beside CRFsuite", intro, list(rivals)))
    sections += wishes(found, command)
    sections.append(_choices(found, sizes, command))
    subset = ""
    if quick:
        told = ", ".join(f"{one.sentences:,} of {TITLES[task]}" for task, one in sizes.items())
        left_out = ", ".join(TITLES[one.task] for one in plans(False) if one.task not in sizes)
        subset = f" Quick run: only so many training sentences ({told}), and no {left_out}."
    return Report(
        "sgd-l1",
        "SGD training with cumulative l1 penalty",
        CITATION,
        INTRO + subset,
        sections,
    )


def _task(task: str, results: Results, size: Plan, command: str) -> Section:
    title, table, figure = PLACES[task]
    parts: list[ReportPart] = [
        _table(task, results, size, table, command),
        _objectives(task, results, figure, size.sentences is not None, command),
    ]
    parts.append(_actives(task, results, size.sentences is not None, command))
    if task == "conll2000":
        parts.append(_against_time(task, results, command))
    return Section(f"{title} ({table})", ABOUT[task], parts)


def _table(task: str, results: Results, size: Plan, source: str, command: str) -> Table:
    """The paper's table with ours beside it."""
    paper = "paper" if task in SAME_DATA else "paper (WSJ)"
    measure = "F-score" if task in SAME_DATA else "accuracy"
    names = ("passes", "L/N", "active", "seconds", measure)
    columns = ["method", *(f"{name}, {whose}" for name in names for whose in (paper, "epigram"))]
    rows: list[list[Any]] = []
    for row, label in ROWS.items():
        ours, theirs = results[row], TABLES[task].get(row)
        pairs = [
            (theirs and theirs.passes, ours["passes"]),
            (theirs and theirs.objective, -ours["objective"]),
            (theirs and theirs.active, ours["active"]),
            (theirs and theirs.seconds, ours["seconds"]),
            (theirs and theirs.score, ours["score"]),
        ]
        rows.append([label, *(value for pair in pairs for value in pair)])
    note = f"C = {results['strength']['l1']:g}. {_rates_told(results)}"
    formats = ["", *(spec for spec in (",d", ".3f", ",d", ",.1f", ".2f") for _ in range(2))]
    formats[7] = ",d"
    return Table(
        f"{TITLES[task]}: training and test",
        columns,
        rows,
        note=f"{note} Passes of OWL-QN are evaluations of the objective with its gradient; L/N is the regularised "
        "log-likelihood per sentence on the training data.",
        highlight=[list(ROWS).index("exponential")],
        formats=formats,
        source=source,
        command=command,
    )


def _rates_told(results: Results) -> str:
    inverse, exponential, auto = (results[name] for name in ("rates-inverse", "rates-exponential", "auto"))
    return (
        f"eta_0 = {inverse['eta0']:g} for eta_0 / (1 + k/N), {exponential['eta0']:g} with "
        f"alpha = {exponential['decay']:g} for exponential decay; automatic: {auto['eta0']:.3f}, in a "
        "straight line to zero."
    )


def _curves(results: Results, x: str, y: str, sign: float) -> list[Curve]:
    """One curve a method; passes whose objective was not taken are left out."""
    curves = []
    for row, label in IN_FIGURES.items():
        curve = results[row]["curve"]
        points = [(a, b) for a, b in zip(curve[x], curve[y], strict=True) if b is not None]
        curves.append(
            Curve(label, [a for a, _ in points], [sign * b for _, b in points], STYLES.get(row, "line"))  # type: ignore[arg-type]
        )
    return curves


def _paper_points(task: str, attribute: str, quick: bool) -> list[Curve]:
    """Where the paper's runs ended, by its table; its curves are not printed as numbers."""
    if task not in SAME_DATA or quick:
        return []
    rows = [TABLES[task][row] for row in IN_FIGURES if row in TABLES[task]]
    ends = [(float(row.passes), float(getattr(row, attribute))) for row in rows]
    label = "paper: end of each run"
    return [Curve(label, [a for a, _ in ends], [b for _, b in ends], "dots", "paper")]


def _objectives(task: str, results: Results, source: str, quick: bool, command: str) -> Figure:
    return Figure(
        f"sgd-l1-{task}-objective",
        f"{TITLES[task]}: objective",
        "passes",
        "regularised log-likelihood per sentence",
        _near_the_end(
            [*_curves(results, "passes", "objective", -1.0), *_paper_points(task, "objective", quick)]
        ),
        note="Exact objectives at the end of some passes; naive SGD is left out, as in the paper. What is "
        f"beyond {SHOWN:g} times the best is not drawn.",
        source=source,
        command=command,
    )


def _near_the_end(curves: list[Curve]) -> list[Curve]:
    """The part of the curves that can be told apart: objectives at most 1.5 times the best, and all ends."""
    floor = SHOWN * max(float(y) for curve in curves for y in curve.y if y is not None)
    kept = []
    for curve in curves:
        points = list(zip(curve.x, curve.y, strict=True))
        points = [point for point in points if point[1] is not None and point[1] >= floor] or points[-1:]
        kept.append(
            Curve(curve.label, [x for x, _ in points], [y for _, y in points], curve.style, curve.source)
        )
    return kept


def _actives(task: str, results: Results, quick: bool, command: str) -> Figure:
    return Figure(
        f"sgd-l1-{task}-active",
        f"{TITLES[task]}: number of active features",
        "passes",
        "features whose weight is not zero",
        [*_curves(results, "passes", "active", 1), *_paper_points(task, "active", quick)],
        y_log=True,
        note="" if task == "conll2000" else "The paper shows this for CoNLL-2000 only.",
        source="Figure 4" if task == "conll2000" else "",
        command=command,
    )


def _against_time(task: str, results: Results, command: str) -> Figure:
    return Figure(
        f"sgd-l1-{task}-time",
        f"{TITLES[task]}: objective against time",
        "CPU seconds",
        "regularised log-likelihood per sentence",
        _near_the_end(_curves(results, "seconds", "objective", -1.0)),
        note="Not in the paper. The automatic settings pay for trying rates before their first pass.",
        command=command,
    )


def _rivals(task: str, results: Results, command: str) -> Iterable[Table | Note]:
    """CRFsuite's rows and ours."""
    rivals = {name: result for name, result in results.items() if name.startswith("crfsuite-")}
    if not rivals:
        return
    absent = {result["missing"] for result in rivals.values() if "missing" in result}
    if absent:
        yield Note(f"{TITLES[task]}: {'; '.join(sorted(absent))}.")
        return
    told = {
        "crfsuite-lbfgs": "CRFsuite, OWL-QN (lbfgs with c1)",
        "crfsuite-l2sgd": "CRFsuite, SGD with l2 (l2sgd)",
        "crfsuite-ap": "CRFsuite, averaged perceptron (ap)",
    }
    rows: list[list[Any]] = []
    ours = [(f"epigram, {IN_FIGURES[row]}", results[row]) for row in ("owl-qn", "exponential")]
    for label, result in [
        *((told[name], result) for name, result in rivals.items()),
        *ours,
        (ROWS["auto"], results["auto"]),
    ]:
        objective = result["objective"]
        rows.append(
            [
                label,
                result["passes"],
                None if objective is None else -objective,
                result["active"],
                result["seconds"],
                result["score"],
            ]
        )
    measure = "F-score" if task in SAME_DATA else "accuracy"
    yield Table(
        f"{TITLES[task]}: CRFsuite and epigram",
        ["system", "passes", "L/N", "active features", "CPU seconds", measure],
        rows,
        note=f"C = {results['strength']['l1']:g} (c1 of CRFsuite). L/N of another objective is left out. Passes of "
        "OWL-QN are iterations for CRFsuite, evaluations for epigram.",
        highlight=list(range(len(rivals), len(rows))),
        formats=["", ",d", ".3f", ",d", ",.1f", ".2f"],
        command=command,
    )


def _choices(found: Found, sizes: dict[str, Plan], command: str) -> Section:
    """How C, eta_0 and alpha came about, with every value tried."""
    strengths: list[list[Any]] = []
    rates: list[list[Any]] = []
    for task, results in found.items():
        for row in results["strength"]["tried"]:
            mark = "chosen" if row["l1"] == results["strength"]["l1"] else ""
            strengths.append(
                [
                    TITLES[task],
                    row["l1"],
                    row["log_likelihood"],
                    row["score"],
                    row["active"],
                    row["passes"],
                    mark,
                ]
            )
        for schedule, chosen, letter, grid in (
            ("inverse", "eta0", "eta_0 of eta_0 / (1 + k/N)", RATES),
            ("exponential", "eta0", f"eta_0 with alpha = {RULE_OF_THUMB:g}", RATES),
            ("exponential", "decay", "alpha at that eta_0", DECAYS),
        ):
            result = results[f"rates-{schedule}"]
            for value, objective in result[f"tried_{chosen}"]:
                marks = ["chosen"] * (value == result[chosen]) + ["beyond the paper's grid"] * (
                    value not in grid
                )
                rates.append([TITLES[task], letter, value, -objective, ", ".join(marks)])
    return Section(
        "How C, eta_0 and alpha were chosen",
        _coarsening(found, sizes),
        [
            Table(
                "C by OWL-QN on held-out sentences",
                ["data", "C", "log-likelihood per sentence", "score", "active features", "passes", ""],
                strengths,
                note="The paper gives neither its grid nor the C it found.",
                formats=["", "g", ".4f", ".2f", ",d", ",d", ""],
                command=command,
            ),
            Table(
                "Rates by the training objective",
                ["data", "parameter", "value", "L/N reached", ""],
                rates,
                note=f"After {PASSES} passes. The paper's grid: eta_0 in {_listed(RATES)}; then alpha in "
                f"{_listed(DECAYS)} at that eta_0. It goes on where its best value is its first or last.",
                formats=["", "", "g", ".4f", ""],
                command=command,
            ),
        ],
    )


def _listed(values: Iterable[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)


def _coarsening(found: Found, sizes: dict[str, Plan]) -> str:
    """On how much each was chosen, from the settings themselves."""
    told = [
        f"{TITLES[task]}: C on {results['strength']['sentences']:,} training sentences, OWL-QN stopped at a mean gain "
        f"of {sizes[task].strength_tolerance:g}, rates on {results['rates-exponential']['sentences']:,}"
        for task, results in found.items()
    ]
    return ". ".join(told) + "."
