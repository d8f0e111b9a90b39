"""``epigram inspect MODEL``: what is inside a model file, for people or as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from epigram.cli import console
from epigram.storage import describe


def command(
    model: Annotated[Path, typer.Argument(help="A *.epigram file.")],
    json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Family, settings, fit metrics, size, sparsity and the strongest weights of a model."""
    file, sections = describe(model)
    record = {
        "family": file.family,
        "epigram": file.header.get("epigram"),
        "bytes": model.stat().st_size,
        "settings": file.header.get("settings", {}),
        "fit": file.header.get("fit", {}),
    }
    if json:
        console.print_json({**record, **{section.title: section.records() for section in sections}})
        return
    console.facts(str(model), {"family": file.family, "bytes": record["bytes"], "epigram": record["epigram"]})
    console.facts("settings", record["settings"])
    console.facts("fit", record["fit"])
    for section in sections:
        console.table(section.title, section.columns, section.rows)
