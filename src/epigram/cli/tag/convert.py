"""``epigram tag convert``: converts CRFsuite, CRF++ and Wapiti models, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from epigram.cli import console
from epigram.cli.options import Json, Output
from epigram.errors import InputError


def command(
    model: Path,
    output: Output,
    to: Literal["epigram", "crfsuite"] | None = None,
    json: Json = False,
) -> None:
    """Convert a CRFsuite, CRF++ or Wapiti model, or write a model for CRFsuite.

    Parameters
    ----------
    model : Tagger (*.epigram, *.crfsuite, CRF++ text, Wapiti).
    to : Format of the result [default: by its name; crfsuite for *.crfsuite]
    """
    from epigram.chain.storage import FAMILY, chain_model
    from epigram.files import check_writable, write_atomically
    from epigram.storage import ModelFile
    from epigram.storage.file import blaming
    from epigram.tagging.stacked.reranker import RERANKER

    check_writable(output)
    to = to or ("crfsuite" if output.suffix == ".crfsuite" else "epigram")
    file = ModelFile.load(model, FAMILY)
    with blaming(model):
        chain = chain_model(file)
    if to == "crfsuite":
        from epigram.compat.crfsuite.file import write_model

        if RERANKER in file.header:
            raise InputError(
                "CRFsuite's files cannot hold a reranker; convert the tagger without it", path=model
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
    console.report(facts, str(output), json)
