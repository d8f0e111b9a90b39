"""``epigram data path``: prints the path of a data set."""

from __future__ import annotations

import typer

from epigram.cli import console
from epigram.cli.data.arguments import Json, Name, OneFile, describe


def command(name: Name, file: OneFile = None, json: Json = False) -> None:
    """Print the path of a data set or of one of its files; exit code 1 if it is missing."""
    from epigram.datasets import fetch, find

    found = fetch(name, file) if name == "sample" else find(name, file)
    if json:
        console.print_json({**describe(name), "path": found and str(found)})
    elif found:
        print(found)
    if found is None:
        console.stderr().print(f"{name} is not on this machine; try: epigram data get {name}", soft_wrap=True)
        raise typer.Exit(1)
