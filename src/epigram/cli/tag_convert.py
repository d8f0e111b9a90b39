"""``epigram tag convert``: another program's tagger as a model file of ours, and the other way."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from epigram import cli
from epigram.errors import InputError


def convert(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A tagger: *.epigram, *.crfsuite, CRF++ text, Wapiti.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where the result goes.")],
    to: Annotated[
        Literal["epigram", "crfsuite"] | None,
        typer.Option(help="Format of the result (by its name; crfsuite for *.crfsuite)."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Turn a CRFsuite, CRF++ or Wapiti model into one of ours, or one into CRFsuite's; nothing is trained again."""
    from epigram.storage import ModelFile
    from epigram.storage.file import blaming
    from epigram.tagging.storage import FAMILY, SECOND_LOOK, chain_model
    from epigram.text import check_writable, write_atomically

    check_writable(output)
    to = to or ("crfsuite" if output.suffix == ".crfsuite" else "epigram")
    file = ModelFile.load(model, FAMILY)
    with blaming(model):
        chain = chain_model(file)
    if to == "crfsuite":
        from epigram.compat.crfsuite_file import write_model

        if SECOND_LOOK in file.header:
            raise InputError(
                "CRFsuite's files have no place for a second look; convert the tagger", path=model
            )
        content = write_model(chain)
    else:
        content = file.to_bytes()
    write_atomically(output, content)
    facts: dict[str, Any] = {
        "format": to,
        "labels": len(chain.labels),
        "attributes": len(chain.table),
        "weights": chain.weights.n_nonzero,
        "bytes before": model.stat().st_size,
        "bytes": len(content),
    }
    if json:
        cli.print_json(facts)
    else:
        cli.facts(str(output), facts)
