"""``epigram convert``: rewrites a model file in the newest format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from epigram.cli import console
from epigram.cli.options import Json


def command(
    old: Annotated[
        Path,
        typer.Argument(
            metavar="OLD", help="Model file of any version, or of CRFsuite, CRF++, Wapiti or KenLM."
        ),
    ],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="Model file to write.")],
    json: Json = False,
) -> None:
    """Rewrite a model file in the newest format; nothing is trained again."""
    from epigram.files import check_writable
    from epigram.storage import describe

    check_writable(new)
    file, _ = describe(old)
    file.save(new)
    record = {"family": file.family, "bytes_before": old.stat().st_size, "bytes": new.stat().st_size}
    console.report(record, str(new), json)
