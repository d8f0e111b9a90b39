"""What must hold of a report in a browser, at any width."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from browser import Browser

from epigram_papers.report import Claim, Figure, Report, Table

WIDTHS = {"phone": (360, "screen"), "desktop": (1280, "screen"), "A4": (680, "print")}  # A4 less its margins
MEASURE = """(() => {
  const box = element => { const r = element.getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom]; };
  const all = selector => [...document.querySelectorAll(selector)];
  const text = svg => [...svg.querySelectorAll('text')];
  return {
    page: [document.scrollingElement.scrollWidth, innerWidth],
    ids: all('[id]').map(element => element.id),
    broken: all('a[href^="#"]').map(a => a.getAttribute('href').slice(1)).filter(id => !document.getElementById(id)),
    scripts: all('script').length,
    figures: all('.picture').map(picture => {
      const svg = picture.querySelector('svg');
      return {
        place: box(picture), svg: box(svg), label: svg.getAttribute('aria-label'), role: svg.getAttribute('role'),
        texts: text(svg).map(box), smallest: Math.min(...text(svg).map(t => t.getBoundingClientRect().height)),
        words: text(svg).map(t => t.textContent),
        command: picture.parentElement.querySelector('.command').innerText,
      };
    }),
    tables: all('table').map(table => ({
      place: box(table.parentElement), table: box(table), caption: table.caption.innerText || table.caption.textContent,
      rows: table.tBodies[0].rows.length, command: table.closest('.card').querySelector('.command').innerText,
      cut: [...table.querySelectorAll('th, td')].filter(cell => cell.scrollWidth > cell.clientWidth + 1).length,
    })),
    claims: all('.claim .badge').map(badge => badge.innerText),
    summary: all('#summary .verdicts .badge').map(badge => badge.innerText),
    headings: all('h1, h2, h3, h4').filter(h => h.getBoundingClientRect().width < 10).length,
  };
})()"""


def measure(browser: Browser, page: Path, name: str) -> dict[str, Any]:
    """Open the page at one of WIDTHS and look."""
    width, media = WIDTHS[name]
    browser.open(page, width, media=media)
    seen: dict[str, Any] = browser.run(MEASURE)
    seen["requests"], seen["complaints"] = browser.requests(), browser.complaints()
    return seen


def check(seen: dict[str, Any], reports: list[Report], name: str) -> None:
    """All is there, can be seen, stays in its place and asks nobody for anything."""
    parts = [part for report in reports for part in report.parts()]
    figures = [part for part in parts if isinstance(part, Figure)]
    tables = [part for part in parts if isinstance(part, Table)]
    claims = [part for part in parts if isinstance(part, Claim)]
    width = WIDTHS[name][0]

    assert seen["page"] == [width, width], "the page is wider than its window"
    assert seen["complaints"] == []
    assert [url for url in seen["requests"] if not url.startswith("file:")] == []
    assert len(seen["requests"]) == 1
    assert seen["scripts"] == 0
    assert len(set(seen["ids"])) == len(seen["ids"])
    assert seen["broken"] == []
    assert seen["headings"] == 0

    assert len(seen["figures"]) == len(figures)
    for figure, wanted in zip(seen["figures"], figures, strict=True):
        left, top, right, bottom = figure["svg"]
        assert right - left > 250, wanted.name
        assert bottom - top > 150, wanted.name
        assert inside(figure["svg"], figure["place"]), wanted.name
        assert inside(figure["place"], [0, top - 99, width, bottom + 99]), wanted.name
        outside = [
            w for w, t in zip(figure["words"], figure["texts"], strict=True) if not inside(t, figure["svg"])
        ]
        assert outside == [], (wanted.name, figure)
        assert figure["smallest"] > 7, (wanted.name, "text too small to read")
        words = " ".join(" ".join(figure["words"]).split())
        assert wanted.x_label in words, wanted.name
        assert wanted.y_label in words, wanted.name
        assert all(curve.label in words for curve in wanted.curves), wanted.name
        assert not [word for word in figure["words"] if "\\math" in word]
        assert figure["role"] == "img"
        assert wanted.title in figure["label"]
        assert figure["command"].startswith("epigram reproduce ")

    assert len(seen["tables"]) == len(tables)
    for table, expected in zip(seen["tables"], tables, strict=True):
        assert table["caption"].strip()
        assert table["rows"] == len(expected.rows)
        assert table["cut"] == 0, expected.title
        assert table["command"].startswith("epigram reproduce ")
        left, top, right, bottom = table["place"]
        assert 0 <= left < right <= width, expected.title
        assert bottom - top > 30, expected.title
        if name == "A4":  # paper does not scroll
            assert inside(table["table"], [left, top, right, bottom]), expected.title

    assert [words.split(" ", 1)[1] for words in seen["claims"]] == [claim.verdict for claim in claims]
    assert seen["summary"] == seen["claims"]


def inside(inner: list[float], outer: list[float], slack: float = 1.0) -> bool:
    """Whether one box (left, top, right, bottom) lies in another."""
    return (
        inner[0] >= outer[0] - slack
        and inner[1] >= outer[1] - slack
        and inner[2] <= outer[2] + slack
        and inner[3] <= outer[3] + slack
    )


def reports_of(folder: Path) -> list[Report]:
    """The reports of a finished run, from its raw numbers."""
    from epigram_papers.report import Curve, Note, Section

    def part(raw: dict[str, Any]) -> Any:
        if "rows" in raw:
            return Table(**raw)
        if "curves" in raw:
            return Figure(**{**raw, "curves": [Curve(**curve) for curve in raw["curves"]]})
        return Claim(**raw) if "verdict" in raw else Note(**raw)

    run = json.loads((folder / "results.json").read_text("utf-8"))
    return [
        Report(
            **{
                **report,
                "sections": [
                    Section(**{**section, "parts": [part(raw) for raw in section["parts"]]})
                    for section in report["sections"]
                ],
            }
        )
        for report in run["reports"]
    ]
