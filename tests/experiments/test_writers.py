"""Reports as Markdown and JSON: every kind of part, nothing unescaped, numbers that are none."""

from __future__ import annotations

import json
import re
from pathlib import Path

import fake_paper
import pytest

from experiments import publish as markdown
from experiments.figures import COLOURS, draw, looks
from experiments.publish import publish
from experiments.report import (
    Claim,
    Curve,
    Figure,
    Report,
    Run,
    Section,
    Table,
    cells,
    is_numeric,
    show,
    too_small,
)


def run_of(*reports: Report, quick: bool = False) -> Run:
    return Run(list(reports), quick, {"processor": "<8086>"}, "2026-01-01", "2026-01-02", 3723.0)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    publish(run_of(fake_paper.report([4, 9]), fake_paper.report([1, 2], name="other")), folder)
    return folder


def test_markdown_has_every_part(published: Path) -> None:
    text = (published / "report.md").read_text("utf-8")
    assert text.startswith("# ")
    assert "## Squares \\<of> numbers & their friends" in text
    assert "| number | paper | CRFsuite | epigram | remark |" in text
    assert "| --- | --: | --: | --: | --- |" in text
    assert "| two | 4 | – | 4 | as \\| it is |" in text
    assert "| **three** | **9** | **not a number** | **9** | **\\<b>not bold\\</b>** |" in text
    assert (
        "![Objective \\<against> passes: objective per sample against passes](figures/fake-objective.svg)"
        in text
    )
    assert "**✗ not reproduced** – Curves never cross" in text
    assert "A note, with https://example.org in it." in text
    assert "| date | 2026-01-01 to 2026-01-02 |" in text
    for figure in re.findall(r"\((figures/[^)]*)\)", text):
        assert (published / figure).is_file()
    widths = [
        line.replace("\\|", "").count("|")
        for line in text.splitlines()
        if line.startswith("| data set number")
    ]
    assert set(widths) == {14}


def test_raw_numbers_are_strict_json(published: Path) -> None:
    def refuse(name: str) -> None:
        raise AssertionError(name)

    raw = json.loads((published / "results.json").read_text("utf-8"), parse_constant=refuse)
    table = raw["reports"][0]["sections"][0]["parts"][1]
    assert table["rows"][1][1:4] == [9.0, None, 9]
    assert raw["cpu_seconds"] == 3723.0


def test_a_quick_run_says_so() -> None:
    report = Report("fake", "Title", "Paper", "", [])
    for quick in (True, False):
        run = run_of(report, quick=quick)
        assert ("Quick run:" in markdown.text(run)) is quick
        assert run.command(report) == "python -m experiments fake" + (" --quick" if quick else "")


def test_figures_with_the_same_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="fake-objective"):
        publish(run_of(fake_paper.report([1]), fake_paper.report([1])), tmp_path)


def test_figures_are_reproducible() -> None:
    curves = [Curve("a", [1, 2], [1.0, None]), Curve("b $x_1$", [1, 2], [2.0, float("nan")], style="dots")]
    figure = Figure("one", "T", "x", "y & z", curves)
    drawn = draw(figure, looks([figure]))
    assert drawn == draw(figure, looks([figure]))
    assert "b $x_1$" in drawn


def test_a_label_has_one_look_and_the_papers_curve_shares_its_colour() -> None:
    first = Figure("one", "", "", "", [Curve("a", [1], [1]), Curve("b", [1], [1])])
    second = Figure("two", "", "", "", [Curve("b (paper)", [1], [1], source="paper"), Curve("c", [1], [1])])
    styles = looks([first, second])
    assert list(styles) == ["a", "b", "c"]
    assert [look.colour for look in styles.values()] == list(COLOURS[:3])
    assert len({look.marker for look in styles.values()}) == 3
    assert len({look.dashes for look in styles.values()}) == 3


def test_curves_of_a_figure_differ_in_colour_whatever_came_before() -> None:
    def figure(*labels: str) -> Figure:
        return Figure("f", "", "", "", [Curve(label, [1], [1]) for label in labels])

    figures = [figure("a", "b"), figure(*"cdefg"), figure("a", "h"), figure(*"hbijkcl")]
    styles = looks(figures)
    for one in figures[:3]:
        assert len({styles[curve.label].colour for curve in one.curves}) == len(one.curves)


@pytest.mark.parametrize(
    "curves", [[], [Curve("", [], [])], [Curve("a", [0, 0], [0, 0])], [Curve("a", [None], [None])]]
)
def test_figures_without_anything_to_draw_are_drawn(curves: list[Curve]) -> None:
    figure = Figure("empty", "T", "x", "y", curves, x_log=True, y_log=True)
    assert "<svg" in draw(figure, looks([figure]))


def test_long_curves_are_thinned() -> None:
    steps = list(range(20_000))
    figure = Figure("long", "T", "x", "y", [Curve("a", steps, [(k * 7919) % 1000 for k in steps])])
    assert len(draw(figure, looks([figure]))) < 60_000


def test_misfits_are_refused() -> None:
    with pytest.raises(ValueError, match="row of table 'T' has 1 entries; 2 are needed"):
        Table("T", ["a", "b"], [[1]])
    with pytest.raises(ValueError, match="formats of table 'T'"):
        Table("T", ["a", "b"], [], formats=[""])
    with pytest.raises(ValueError, match="y of curve 'c'"):
        Curve("c", [1, 2], [1])
    with pytest.raises(ValueError, match="verdict 'maybe'"):
        Claim("It works.", "maybe", "")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"format 'd' does not fit 1.5"):
        cells(Table("T", ["a"], [[1.5]], formats=["d"]))


def test_values_for_people() -> None:
    assert show(float("-inf")) == "minus infinite"
    assert show(-2.5) == "−2.5"
    assert show(-1e-6, ".1e") == "-1.0e-06"
    assert show(True) == "yes"
    assert show(12, ".2f") == "12.00"
    assert is_numeric([1, None, "2.5 ± 1", "missing"])
    assert not is_numeric(["a", "b", 1])
    assert not is_numeric([None])


def test_sections_may_be_empty() -> None:
    run = run_of(Report("fake", "Title", "Paper", "", [Section("Nothing")]))
    assert "### Nothing" in markdown.text(run)


def test_data_too_small_take_the_verdict_and_leave_the_numbers() -> None:
    for verdict in ("reproduced", "exceeded", "not reproduced"):
        judged = too_small(Claim("It wins.", verdict, "2 against 1."), "one split of four")
        assert judged == Claim("It wins.", "too small to say", "2 against 1. No verdict: one split of four.")
    absent = Claim("It wins.", "not run", "There are no data.")
    assert too_small(absent, "one split of four") == absent
