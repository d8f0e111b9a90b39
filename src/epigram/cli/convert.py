"""``epigram convert``: rewrites a model file in the newest format."""

from __future__ import annotations

from pathlib import Path

from epigram.cli import console
from epigram.cli.options import Json


def command(
    old: Path,
    new: Path,
    json: Json = False,
) -> None:
    """Rewrite a model file in the newest format; nothing is trained again.

    Parameters
    ----------
    old : Model file of any version, or of CRFsuite, CRF++, Wapiti or KenLM.
    new : Model file to write.
    """
    from epigram.files import check_writable
    from epigram.storage import describe

    check_writable(new)
    file, _ = describe(old)
    file.save(new)
    record = {"family": file.family, "bytes_before": old.stat().st_size, "bytes": new.stat().st_size}
    console.report(record, str(new), json)
