"""Arguments that the commands of ``epigram data`` share, and the record of a data set."""

from __future__ import annotations

from typing import Annotated, Any

import typer

Name = Annotated[
    str, typer.Argument(help="A data set's name, as shown by `epigram data list`, or ud:LANGUAGE-TREEBANK.")
]
OneFile = Annotated[str | None, typer.Argument(help="One of its files; all of them without it.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]


def describe(name: str) -> dict[str, Any]:
    from epigram.datasets import dataset, find

    entry = dataset(name)
    found = find(name)
    return {
        "name": name,
        "task": entry.task,
        "about": entry.about,
        "bytes": entry.bytes,
        "origin": entry.origin,
        "licence": entry.licence,
        "path": found and str(found),
        "files": [
            {"name": file.name, "sha256": file.sha256 or None, "url": file.url or None}
            for file in entry.files
        ],
    }
