"""``epigram data list``: lists the data sets."""

from __future__ import annotations

from epigram.cli import console
from epigram.cli.data.arguments import Json, describe


def command(json: Json = False) -> None:
    """List all data sets with licence and path."""
    from epigram.datasets import catalogue

    records = [describe(name) for name in catalogue()]
    if json:
        console.print_json(records)
        return
    console.table(
        "data sets",
        ("name", "what", "MB", "licence", "here"),
        [
            (
                r["name"],
                r["about"],
                round(r["bytes"] / 1e6, 1),
                r["licence"],
                r["path"] is not None or r["name"] == "sample",  # made where it is asked for
            )
            for r in records
        ],
    )
