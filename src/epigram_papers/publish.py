"""A run written to a folder: one page, the same as Markdown, figures as files, and every number as JSON."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

from epigram.text import write_atomically
from epigram_papers.figures import draw, looks
from epigram_papers.html import page
from epigram_papers.markdown import FIGURES, text
from epigram_papers.report import Figure, Run


def publish(run: Run, folder: Path) -> Path:
    """Write index.html, report.md, figures/ and results.json; returns the page's path."""
    names = [figure.name for figure in run.figures()]
    if len(set(names)) != len(names):
        raise ValueError(
            f"figures need names of their own: {sorted({n for n in names if names.count(n) > 1})}"
        )
    (folder / FIGURES).mkdir(parents=True, exist_ok=True)
    svgs: dict[str, str] = {}
    for report in run.reports:
        figures = [part for part in report.parts() if isinstance(part, Figure)]
        styles = looks(figures)
        for figure in figures:
            svgs[figure.name], png = draw(figure, styles)
            write_atomically(folder / FIGURES / f"{figure.name}.svg", svgs[figure.name].encode())
            write_atomically(folder / FIGURES / f"{figure.name}.png", png)
    write_atomically(folder / "report.md", text(run).encode())
    raw = json.dumps(finite(asdict(run)), ensure_ascii=False, indent=1, allow_nan=False)
    write_atomically(folder / "results.json", raw.encode())
    write_atomically(folder / "index.html", page(run, svgs).encode())
    return folder / "index.html"


def finite(value: Any) -> Any:
    """The same with null for NaN and infinities, which JSON does not have."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {name: finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value
