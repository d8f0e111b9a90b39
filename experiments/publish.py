"""Writes the report of a run: Markdown, figures as SVG, and every number as JSON."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from epigram.files import write_atomically
from experiments.figures import draw, looks
from experiments.report import (
    QUICK,
    SYMBOLS,
    Claim,
    Figure,
    Note,
    Part,
    Report,
    Run,
    Table,
    cells,
    is_numeric,
)

FIGURES = "figures"
ABOUT = (
    "Experiments of papers on compact log-linear models, run by `python -m experiments` on this machine. Every "
    "number is of this run, except those marked as the papers' own. A verdict is worked out from the numbers by the "
    "program; “not reproduced” comes with the reason."
)


def publish(run: Run, folder: Path) -> Path:
    """Write report.md, figures/ and results.json; returns the path of the report."""
    names = [figure.name for figure in run.figures()]
    if len(set(names)) != len(names):
        raise ValueError(
            f"figures need names of their own: {sorted({n for n in names if names.count(n) > 1})}"
        )
    (folder / FIGURES).mkdir(parents=True, exist_ok=True)
    for report in run.reports:
        figures = [part for part in report.parts() if isinstance(part, Figure)]
        styles = looks(figures)
        for figure in figures:
            write_atomically(folder / FIGURES / f"{figure.name}.svg", draw(figure, styles).encode())
    write_atomically(folder / "report.md", text(run).encode())
    raw = json.dumps(finite(asdict(run)), ensure_ascii=False, indent=1, allow_nan=False)
    write_atomically(folder / "results.json", raw.encode())
    return folder / "report.md"


def finite(value: Any) -> Any:
    """The same with null for NaN and infinities, which JSON does not have."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {name: finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value


def text(run: Run) -> str:
    """The whole report; figures are linked as ``figures/NAME.svg``."""
    return "\n\n".join(_blocks(run)) + "\n"


def title(run: Run) -> str:
    """Return the heading of the report."""
    return f"{['No papers', 'One paper', 'Two papers', 'Three papers'][len(run.reports)]}, run again"


def duration(seconds: float) -> str:
    """Format seconds for people.

    >>> duration(42), duration(3723)
    ('42 s', '1 h 2 min')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"


def prose(words: str) -> str:
    """Text in which only `code` is markup.

    Examples
    --------
    >>> prose("2 * 3 < 7, see `a*b`")
    '2 \\\\* 3 \\\\< 7, see `a*b`'
    """
    parts = re.split(r"(`[^`]+`)", words)
    return "".join(
        part if k % 2 else re.sub(r"([\\*<\[\]|]|\b_|_\b)", r"\\\1", part) for k, part in enumerate(parts)
    )


def _blocks(run: Run) -> Iterator[str]:
    yield f"# {title(run)}"
    yield ABOUT
    if run.quick:
        yield f"**Quick run:** {QUICK}"
    when = run.ended if run.began == run.ended else f"{run.began} to {run.ended}"
    facts = {"date": when, "CPU time": duration(run.cpu_seconds), **run.machine}
    yield _grid(["", ""], [[name, prose(value)] for name, value in facts.items()], [False, False])
    yield from (prose(note) for note in run.notes)
    yield "## Summary"
    counts = [f"{SYMBOLS[verdict]} {verdict}: {count}" for verdict, count in run.verdicts().items()]
    yield " · ".join(counts)
    for report in run.reports:
        rows = [[f"{SYMBOLS[claim.verdict]} {claim.verdict}", _flat(claim.text)] for claim in report.claims()]
        if rows:
            yield _grid(["verdict", prose(report.title)], rows, [False, False])
    for report in run.reports:
        yield from _report(run, report)


def _report(run: Run, report: Report) -> Iterator[str]:
    yield f"## {prose(report.title)}"
    yield prose(report.paper)
    if report.intro:
        yield prose(report.intro)
    for section in report.sections:
        yield f"### {prose(section.title)}"
        if section.intro:
            yield prose(section.intro)
        for part in section.parts:
            yield from _part(run, report, part)


def _part(run: Run, report: Report, part: Part) -> Iterator[str]:
    if isinstance(part, Note):
        yield prose(part.text)
        return
    if isinstance(part, Claim):
        yield f"**{SYMBOLS[part.verdict]} {part.verdict}** – {prose(part.text)}\n*This run:* {prose(part.why)}"
        return
    yield f"**{prose(part.title)}**"
    if isinstance(part, Table):
        numeric = [is_numeric(row[k] for row in part.rows) for k in range(len(part.columns))]
        rows = [[_flat(value) for value in row] for row in cells(part)]
        for k in part.highlight:
            rows[k] = [f"**{value}**" if value else value for value in rows[k]]
        yield _grid([_flat(name) for name in part.columns], rows, numeric)
    else:
        yield f"![{_alternative(part)}]({FIGURES}/{part.name}.svg)"
    source = f"Paper: {prose(part.source)}." if part.source else ""
    yield " ".join(word for word in (prose(part.note), source, f"`{run.command(report, part)}`") if word)


def _alternative(figure: Figure) -> str:
    return _flat(f"{figure.title}: {figure.y_label} against {figure.x_label}")


def _grid(columns: list[str], rows: list[list[str]], numeric: list[bool]) -> str:
    rule = ["--:" if number else "---" for number in numeric]
    return "\n".join("| " + " | ".join(row) + " |" for row in (columns, rule, *rows))


def _flat(words: str) -> str:
    return " ".join(prose(words).split())
