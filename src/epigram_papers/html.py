"""A run as one HTML page that needs nothing else: style and figures are in it, and there is no script."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import escape
from importlib.resources import files
from itertools import groupby

from epigram_papers.figures import inline
from epigram_papers.report import (
    QUICK,
    SYMBOLS,
    Claim,
    Figure,
    Note,
    Part,
    Report,
    Run,
    Section,
    Table,
    Verdict,
    cells,
    is_numeric,
    slug,
)

ABOUT = (
    "Experiments of papers on compact log-linear models, run by `epigram reproduce` on this machine. Every "
    "number is of this run, except those marked as the papers' own. A verdict is worked out from the numbers by the "
    "program; “not reproduced” comes with the reason."
)


def page(run: Run, svgs: Mapping[str, str]) -> str:
    """The page; ``svgs`` holds the drawn figures by name."""
    writer = _Writer(run, svgs)
    body = "\n".join(writer.body())
    style = files("epigram_papers").joinpath("style.css").read_text("utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<link rel="icon" href="data:,">\n<title>{title(run)} – epigram</title>\n<style>\n{style}</style>\n</head>\n'
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def title(run: Run) -> str:
    """What the page is called."""
    return f"{['No papers', 'One paper', 'Two papers', 'Three papers'][len(run.reports)]}, run again"


def prose(text: str) -> str:
    """Text with `code` and addresses marked up, everything else escaped.

    Examples
    --------
    >>> prose("a < b in `x & y`, see https://example.org/a.")
    'a &lt; b in <code>x &amp; y</code>, see <a href="https://example.org/a">https://example.org/a</a>.'
    """
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(
        f"<code>{escape(part[1:-1])}</code>" if k % 2 else _linked(escape(part))
        for k, part in enumerate(parts)
    )


def paragraphs(text: str) -> str:
    """One paragraph for each block of text between empty lines."""
    return "".join(f"<p>{prose(block.strip())}</p>" for block in re.split(r"\n\s*\n", text) if block.strip())


def badge(verdict: Verdict) -> str:
    """A verdict as symbol and words."""
    return f'<span class="badge {slug(verdict)}"><span aria-hidden="true">{SYMBOLS[verdict]}</span> {verdict}</span>'


class _Writer:
    """Writes a run; remembers which ids are taken."""

    def __init__(self, run: Run, svgs: Mapping[str, str]) -> None:
        self.run, self.svgs = run, svgs
        self._taken: set[str] = {"summary", "contents"}
        self._ids: dict[int, str] = {}
        for report in run.reports:
            self._name(report, report.name)
            for section in report.sections:
                self._name(section, f"{report.name} {section.title}")
                for part in section.parts:
                    if not isinstance(part, Note):
                        self._name(part, f"{report.name} {_title(part)}"[:70])

    def body(self) -> Iterator[str]:
        yield '<a class="skip" href="#summary">Skip to the summary</a>'
        yield from self._header()
        yield "<main>"
        yield from self._summary()
        yield from self._contents()
        for report in self.run.reports:
            yield from self._report(report)
        yield "</main>"
        yield (
            "<footer><p>Written by <code>epigram reproduce</code>. The raw numbers are in "
            "<code>results.json</code>, the same text in <code>report.md</code>.</p></footer>"
        )

    def _header(self) -> Iterator[str]:
        run = self.run
        size = f"<strong>Quick run:</strong> {QUICK}" if run.quick else "Full run."
        when = run.ended if run.began == run.ended else f"{run.began} to {run.ended}"
        facts = {"date": when, "CPU time": duration(run.cpu_seconds), **run.machine}
        yield f'<header><p class="kicker">epigram reproduce</p><h1>{title(run)}</h1>'
        yield f'<p class="lead">{prose(ABOUT)}</p><p class="size">{size}</p>'
        yield '<dl class="facts">'
        yield "".join(
            f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts.items()
        )
        yield "</dl>"
        yield from (f'<p class="size">{prose(note)}</p>' for note in run.notes)
        yield "</header>"

    def _summary(self) -> Iterator[str]:
        yield '<section id="summary"><h2>What the papers claim, and what this run says</h2>'
        yield '<ul class="counts">'
        yield "".join(
            f"<li>{badge(verdict)} <b>{count}</b></li>" for verdict, count in self.run.verdicts().items()
        )
        yield "</ul>"
        for report in self.run.reports:
            yield f'<h3><a href="#{self._id(report)}">{prose(report.title)}</a></h3><ul class="verdicts">'
            for claim in report.claims():
                link = f'<a href="#{self._id(claim)}">{prose_without_links(claim.text)}</a>'
                yield f"<li>{badge(claim.verdict)}<span>{link}</span></li>"
            yield "</ul>"
        yield "</section>"

    def _contents(self) -> Iterator[str]:
        yield '<nav id="contents" aria-labelledby="contents-title"><h2 id="contents-title">Contents</h2><ol>'
        for report in self.run.reports:
            yield f'<li><a href="#{self._id(report)}">{prose(report.title)}</a><ol>'
            for section in report.sections:
                yield f'<li><a href="#{self._id(section)}">{prose(section.title)}</a></li>'
            yield "</ol></li>"
        yield "</ol></nav>"

    def _report(self, report: Report) -> Iterator[str]:
        yield f'<article id="{self._id(report)}"><h2>{_whole_words(prose(report.title))}</h2>'
        yield f'<p class="paper">{prose(report.paper)}</p>{paragraphs(report.intro)}'
        for section in report.sections:
            yield from self._section(report, section)
        yield "</article>"

    def _section(self, report: Report, section: Section) -> Iterator[str]:
        yield f'<section id="{self._id(section)}"><h3>{_whole_words(prose(section.title))}</h3>'
        yield paragraphs(section.intro)
        for is_figure, parts in groupby(section.parts, lambda part: isinstance(part, Figure)):
            if is_figure:
                yield f'<div class="figures">{"".join(self._part(report, part) for part in parts)}</div>'
            else:
                yield from (self._part(report, part) for part in parts)
        yield "</section>"

    def _part(self, report: Report, part: Part) -> str:
        if isinstance(part, Table):
            return self._table(report, part)
        if isinstance(part, Figure):
            return self._figure(report, part)
        if isinstance(part, Claim):
            return self._claim(part)
        return paragraphs(part.text)

    def _table(self, report: Report, table: Table) -> str:
        numeric = [is_numeric(row[k] for row in table.rows) for k in range(len(table.columns))]
        classes = [
            " ".join(word for word in (kind, "number" if number else "") if word)
            for kind, number in zip(table.kinds or [], numeric, strict=True)
        ]
        head = "".join(
            f'<th scope="col" class="{css}">{_whole_words(prose(name))}</th>'
            for css, name in zip(classes, table.columns, strict=True)
        )
        rows = []
        for k, row in enumerate(cells(table)):
            first, *others = (f'class="{css}">{prose(text)}' for css, text in zip(classes, row, strict=True))
            stressed = ' class="stressed"' if k in table.highlight else ""
            rest = "".join(f"<td {other}</td>" for other in others)
            rows.append(f'<tr{stressed}><th scope="row" {first}</th>{rest}</tr>')
        title = prose(table.title)
        wide = ' class="wide"' if len(table.columns) > 8 else ""
        return (
            f'<div class="table card" id="{self._id(table)}">{self._heading(table, title)}'
            f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(table.title)}">'
            f'<table{wide}><caption class="unseen">{title}</caption><thead><tr>{head}</tr></thead>'
            f"<tbody>{''.join(rows)}</tbody></table></div>{self._foot(report, table)}</div>"
        )

    def _figure(self, report: Report, figure: Figure) -> str:
        names = ", ".join(curve.label for curve in figure.curves)
        caption = self._heading(figure, prose(figure.title)) + self._foot(report, figure)
        label = f"{figure.title}. {figure.y_label} against {figure.x_label}: {names}."
        return (
            f'<figure class="card" id="{self._id(figure)}">'
            f'<div class="picture">{inline(self.svgs[figure.name], figure.name, label)}</div>'
            f"<figcaption>{caption}</figcaption></figure>"
        )

    def _heading(self, part: Table | Figure, title: str) -> str:
        anchor = (
            f'<a class="anchor" href="#{self._id(part)}" aria-label="Link to: {escape(part.title)}">#</a>'
        )
        return f"<h4>{_whole_words(title)} {anchor}</h4>"

    def _foot(self, report: Report, part: Table | Figure) -> str:
        source = f' <span class="source">Paper: {prose(part.source)}.</span>' if part.source else ""
        note = f'<p class="note">{prose(part.note)}{source}</p>' if part.note or source else ""
        return f'{note}<p class="command"><code>{escape(self.run.command(report, part))}</code></p>'

    def _claim(self, claim: Claim) -> str:
        return (
            f'<div class="claim {slug(claim.verdict)}" id="{self._id(claim)}"><p class="says">{badge(claim.verdict)} '
            f"{prose(claim.text)}</p><p><b>This run:</b> {prose(claim.why)}</p></div>"
        )

    def _id(self, thing: object) -> str:
        return self._ids[id(thing)]

    def _name(self, thing: object, text: str) -> None:
        wanted = base = slug(text) or "part"
        number = 1
        while wanted in self._taken:
            number += 1
            wanted = f"{base}-{number}"
        self._taken.add(wanted)
        self._ids[id(thing)] = wanted


def prose_without_links(text: str) -> str:
    """Text for the inside of a link."""
    return re.sub(r"</?a\b[^>]*>", "", prose(text))


def duration(seconds: float) -> str:
    """Seconds for people.

    >>> duration(42), duration(3723)
    ('42 s', '1 h 2 min')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"


def _title(part: Table | Figure | Claim) -> str:
    return f"claim {part.text}" if isinstance(part, Claim) else part.title


def _whole_words(markup: str) -> str:
    """Hyphens inside words that lines are not broken at."""
    return re.sub(r"(?<=\w)-(?=\w)", "\N{NON-BREAKING HYPHEN}", markup)


def _linked(escaped: str) -> str:
    return re.sub(r"https?://[^\s<>()]*[^\s<>().,;]", lambda m: f'<a href="{m[0]}">{m[0]}</a>', escaped)
