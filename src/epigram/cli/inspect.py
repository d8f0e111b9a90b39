"""``epigram inspect``: shows or streams the content of a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from epigram.cli import console
from epigram.cli.options import Json
from epigram.errors import InputError, ModelFileError

MOST_OFF = 0.01
"""By which the sum of a distribution may differ from 1."""


def command(
    model: Path,
    weights: bool = False,
    label: str | None = None,
    attribute: str | None = None,
    format: Literal["tsv", "json"] = "tsv",
    check: bool = False,
    json: Json = False,
) -> None:
    """Show family, settings, metrics, size and strongest weights of a model.

    Parameters
    ----------
    model : Model file (*.epigram or *.crfsuite).
    weights : Print every weight, one per line.
    label L : With --weights: label or word whose weights are printed.
    attribute GLOB : With --weights: pattern that attributes or contexts must match, such as 'w=*'.
    format : Format of --weights: columns, or JSON lines.
    check : For language models: sum the distribution after every context. Prints the worst one; exit code 2
        where its sum differs from 1 by more than 1 percent.
    """
    from epigram.storage import describe

    if weights:
        _stream(model, label, attribute, format)
        return
    if label is not None or attribute is not None:
        raise InputError("--label and --attribute choose among --weights; add that")
    if check:
        _check(model, json)
        return
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
        console.print_json({**record, **{section.title: section.records() for section in sections}})
        return
    console.facts(str(model), {name: record[name] for name in ("family", "bytes", "epigram", "checksum")})
    console.facts("settings", record["settings"])
    console.facts("fit", record["fit"])
    for section in sections:
        console.table(section.title, section.columns, section.rows)


def _check(path: Path, json: bool) -> None:
    """Sums of distributions, by the worst context of each back-off model."""
    from epigram.lm.base import LanguageModel
    from epigram.lm.ngram.backoff import worst_sums
    from epigram.storage import load

    model = load(path)
    if not isinstance(model, LanguageModel):
        raise InputError("--check adds up the distributions of language models, and this is none", path=path)
    found = list(worst_sums(model))
    if json:
        console.print_json({"sums": [worst._asdict() for worst in found]})
    elif found:
        console.table("sums of distributions", ("contexts", "worst context", "sum"), found)
    else:
        print("every distribution is divided by its sum when it is asked for")
    for worst in found:
        if not abs(worst.sum - 1.0) <= MOST_OFF:
            after = f"after {worst.context!r}" if worst.context else "of single words"
            raise ModelFileError(f"the distribution {after} sums to {worst.sum:.6g}, not 1", path=path)


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
        sys.stdout.write(console.echoed(f"{line}\n"))
