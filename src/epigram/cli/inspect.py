"""``epigram inspect MODEL``: what is inside a model file, for people or as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from epigram import cli
from epigram.errors import InputError
from epigram.storage import describe


def command(
    model: Annotated[Path, typer.Argument(help="A *.epigram or *.crfsuite file.")],
    weights: Annotated[
        bool, typer.Option("--weights", help="Every weight instead, one a line, as it is read.")
    ] = False,
    label: Annotated[
        str | None, typer.Option(metavar="L", help="With --weights: only those of this label or word.")
    ] = None,
    attribute: Annotated[
        str | None,
        typer.Option(metavar="GLOB", help="With --weights: only attributes or contexts like this."),
    ] = None,
    format: Annotated[
        Literal["tsv", "json"], typer.Option(help="Of --weights: columns, or a JSON object a line.")
    ] = "tsv",
    json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Family, settings, fit metrics, size, sparsity and the strongest weights of a model."""
    if weights:
        _stream(model, label, attribute, format)
        return
    if label is not None or attribute is not None:
        raise InputError("--label and --attribute choose among --weights; add that")
    file, sections = describe(model)
    record = {
        "family": file.family,
        "epigram": file.header.get("epigram"),
        "bytes": model.stat().st_size,
        "checksum": "right" if file.checked else "none; written by an earlier version or another program",
        "settings": file.header.get("settings", {}),
        "fit": file.header.get("fit", {}),
    }
    if json:
        cli.print_json({**record, **{section.title: section.records() for section in sections}})
        return
    cli.facts(str(model), {name: record[name] for name in ("family", "bytes", "epigram", "checksum")})
    cli.facts("settings", record["settings"])
    cli.facts("fit", record["fit"])
    for section in sections:
        cli.table(section.title, section.columns, section.rows)


def _stream(model: Path, label: str | None, attribute: str | None, format: str) -> None:
    """Every weight that is asked for, as soon as it is read."""
    import json
    import sys
    from fnmatch import fnmatchcase

    from epigram.storage.file import weights

    columns, rows = weights(model)
    for name, wanted in (("label", label), ("attribute", attribute)):
        if wanted is not None and name not in columns:
            raise InputError(
                f"weights of this model have no {name}; they have {', '.join(columns)}", path=model
            )
    where = {name: k for k, name in enumerate(columns)}
    if format == "tsv":
        print("\t".join(columns))
    for row in rows:
        if label is not None and row[where["label"]] != label:
            continue
        if attribute is not None and not fnmatchcase(row[where["attribute"]], attribute):
            continue
        if format == "json":
            line = json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False)
        else:
            line = "\t".join(f"{cell:.9g}" if isinstance(cell, float) else cell for cell in row)
        sys.stdout.write(cli.echoed(f"{line}\n"))
