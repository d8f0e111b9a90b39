"""What a reproduced paper has to say: sections of tables, figures, claims and notes, as plain data.

The papers' packages fill these in from the results of their experiments; :mod:`experiments.html` and
:mod:`experiments.publish` write them down. All of it becomes JSON through :func:`dataclasses.asdict`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Verdict = Literal["reproduced", "exceeded", "not reproduced", "too small to say", "not run"]
Source = Literal["epigram", "paper", "rival"]
Kind = Literal["epigram", "paper", "rival", "plain"]
Value = str | float | int | None

SYMBOLS: dict[Verdict, str] = {
    "reproduced": "✓",
    "exceeded": "▲",
    "not reproduced": "✗",
    "too small to say": "?",
    "not run": "–",
}
VERDICTS: tuple[Verdict, ...] = tuple(SYMBOLS)
QUICK = (
    "subsets of the data. Claims that these cannot decide are marked “too small to say” and come with their numbers; "
    "a full run decides them."
)
RIVALS = ("rival", "crfsuite", "kenlm", "spams", "skglm", "mozc", "scikit")
MISSING = "–"
_NUMBER = re.compile(r"[<>≤≥≈~±]?\s*[-+−]?[\d.,]")


@dataclass(frozen=True)
class Table:
    """Paper, rival and epigram side by side.

    Parameters
    ----------
    rows : one value a column; None is shown as a dash, NaN and infinities in words.
    note : a sentence below the table.
    highlight : numbers of the rows to stress, counted from 0.
    formats : a format spec a column (``",.2f"``; ``""`` for as it is); None writes numbers for people.
    source : the paper's table this one stands beside.
    command : the command that makes it.
    kinds : whose numbers a column holds; by default a column named after the paper, a rival or epigram is
        theirs, and any other is plain.

    Examples
    --------
    >>> Table("F-score", ["method", "paper", "CRFsuite", "epigram"], [["OWL-QN", 93.72, None, 93.6]]).kinds
    ['plain', 'paper', 'rival', 'epigram']
    """

    title: str
    columns: list[str]
    rows: list[list[Value]]
    note: str = ""
    highlight: list[int] = field(default_factory=list)
    formats: list[str] | None = None
    source: str = ""
    command: str = ""
    kinds: list[Kind] | None = None

    def __post_init__(self) -> None:
        for row in self.rows:
            _same_length(f"a row of table {self.title!r}", row, self.columns)
        if self.formats is not None:
            _same_length(f"formats of table {self.title!r}", self.formats, self.columns)
        if self.kinds is None:
            object.__setattr__(self, "kinds", [column_kind(name) for name in self.columns])
        _same_length(f"kinds of table {self.title!r}", self.kinds or [], self.columns)


@dataclass(frozen=True)
class Curve:
    """One line or set of points of a figure; points that are None or not finite leave a gap."""

    label: str
    x: Sequence[float | None]
    y: Sequence[float | None]
    style: Literal["line", "dots", "dashed"] = "line"
    source: Source = "epigram"

    def __post_init__(self) -> None:
        _same_length(f"y of curve {self.label!r}", self.y, self.x)


@dataclass(frozen=True)
class Figure:
    """Curves over labelled axes; ``name`` is the stem of its file and unique within a run."""

    name: str
    title: str
    x_label: str
    y_label: str
    curves: list[Curve]
    x_log: bool = False
    y_log: bool = False
    note: str = ""
    source: str = ""
    command: str = ""


@dataclass(frozen=True)
class Claim:
    """What the paper says, with its place, and what this run says to it.

    ``verdict`` is computed from the results; ``why`` gives the numbers of this run that decide it. A run on data
    that cannot decide it says "too small to say" (see :func:`too_small`).
    """

    text: str
    verdict: Verdict
    why: str

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict {self.verdict!r} of claim {self.text!r}; use one of {VERDICTS}")


@dataclass(frozen=True)
class Note:
    """A paragraph."""

    text: str


Part = Table | Figure | Claim | Note


@dataclass(frozen=True)
class Section:
    """A heading with what stands under it."""

    title: str
    intro: str = ""
    parts: list[Part] = field(default_factory=list)


@dataclass(frozen=True)
class Report:
    """One paper: ``name`` as on the command line, ``paper`` the full citation."""

    name: str
    title: str
    paper: str
    intro: str
    sections: list[Section]

    def parts(self) -> list[Part]:
        """Everything in it, in order."""
        return [part for section in self.sections for part in section.parts]

    def claims(self) -> list[Claim]:
        """Its claims, in order."""
        return [part for part in self.parts() if isinstance(part, Claim)]


@dataclass(frozen=True)
class Run:
    """Everything one run of ``python -m experiments`` found, and where and when.

    ``records`` are what was kept, by name; ``began`` and ``ended`` are the dates of the first and the last of them;
    ``notes`` is what a reader should know about the run.
    """

    reports: list[Report]
    quick: bool
    machine: dict[str, str]
    began: str
    ended: str
    cpu_seconds: float
    records: dict[str, dict[str, Any]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def command(self, report: Report, part: Table | Figure | None = None) -> str:
        """The command that makes a report, or a part of it."""
        size = " --quick" if self.quick else ""
        return (part.command if part else "") or f"python -m experiments {report.name}{size}"

    def figures(self) -> list[Figure]:
        """All figures, in order."""
        return [part for report in self.reports for part in report.parts() if isinstance(part, Figure)]

    def verdicts(self) -> dict[Verdict, int]:
        """How many claims have which verdict."""
        claims = [claim for report in self.reports for claim in report.claims()]
        return {verdict: sum(claim.verdict == verdict for claim in claims) for verdict in VERDICTS}


def verdict_of(holds: bool, better: bool = False) -> Verdict:
    """The verdict of a condition; ``better`` where the run goes beyond the paper."""
    return ("exceeded" if better else "reproduced") if holds else "not reproduced"


def claim_of(text: str, verdict: Verdict, found: str, reason: str) -> Claim:
    """A claim with the numbers of this run and, where it fails, the reason in a sentence."""
    return Claim(text, verdict, f"{found} {reason}" if verdict == "not reproduced" else found)


def too_small(claim: Claim, lacks: str) -> Claim:
    """The claim with its numbers and no verdict; ``lacks`` says why the data of this run cannot decide it.

    What was not run stays so.

    Examples
    --------
    >>> claim = Claim("Trees win (Figure 2).", "not reproduced", "150.1 against 149.9.")
    >>> too_small(claim, "2,000 words to test on are too few").why
    '150.1 against 149.9. No verdict: 2,000 words to test on are too few.'
    """
    if claim.verdict == "not run":
        return claim
    return replace(claim, verdict="too small to say", why=f"{claim.why} No verdict: {lacks}.")


def column_kind(name: str) -> Kind:
    """Whose numbers stand under this heading, judged by its words."""
    heading = name.lower()
    if "paper" in heading:
        return "paper"
    if "epigram" in heading or "ours" in heading.split():
        return "epigram"
    return "rival" if any(rival in heading for rival in RIVALS) else "plain"


def _same_length(what: str, given: Sequence[object], wanted: Sequence[object]) -> None:
    if len(given) != len(wanted):
        raise ValueError(f"{what} has {len(given)} entries; {len(wanted)} are needed")


def show(value: Value, spec: str | None = None) -> str:
    """A value for people; ``spec`` is a format spec for numbers, None to choose one.

    Examples
    --------
    >>> [show(v) for v in (None, 12345, 93.6412, 12345.6, 0.00001234, float("nan"), "n/a")]
    ['–', '12,345', '93.64', '12,346', '1.23e-05', 'not a number', 'n/a']
    >>> show(93.6412, ".1f")
    '93.6'
    """
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if math.isnan(value):
        return "not a number"
    if math.isinf(value):
        return "infinite" if value > 0 else "minus infinite"
    text = _number(value) if spec is None else format(value, spec)
    return text if "e" in text else text.replace("-", "−")


def cells(table: Table) -> list[list[str]]:
    """The rows of a table as they are shown."""
    specs: list[str | None] = [None] * len(table.columns) if table.formats is None else [*table.formats]
    return [[_shown(value, spec) for value, spec in zip(row, specs, strict=True)] for row in table.rows]


def is_numeric(values: Iterable[Value]) -> bool:
    """True where a column holds numbers, some of them perhaps missing or written out."""
    given = [value for value in values if value is not None]
    numbers = [isinstance(value, int | float) or bool(_NUMBER.match(value)) for value in given]
    return bool(given) and 2 * sum(numbers) > len(numbers)


def slug(text: str) -> str:
    """Lower-case words with hyphens.

    >>> slug("Table 1: F-score (CoNLL-2000)")
    'table-1-f-score-conll-2000'
    """
    return "-".join(re.findall(r"[a-z0-9]+", text.lower()))


def _shown(value: Value, spec: str | None) -> str:
    try:
        return show(value, spec)
    except ValueError as error:
        raise ValueError(f"format {spec!r} does not fit {value!r}: {error}") from error


def _number(value: float) -> str:
    size = abs(value)
    if isinstance(value, int) or value == 0:
        return f"{value:,}"
    if size < 1e-3 or size >= 1e9:
        return f"{value:.2e}"
    return f"{value:,.0f}" if size >= 1000 else f"{value:.4g}"
