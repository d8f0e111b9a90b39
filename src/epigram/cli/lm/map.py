"""``epigram lm map``: writes a model file that is memory-mapped instead of decoded."""

from __future__ import annotations

from epigram.cli import console
from epigram.cli.lm.models import Model, open_model
from epigram.cli.options import Json, Output


def command(model: Model, output: Output, json: Json = False) -> None:
    """Write a model or an ARPA file uncompressed, for memory mapping.

    Loading decodes nothing, and all processes that load it share its memory. Probabilities are those of the model.
    """
    open_model(model).save(output, compress=False)
    record = {"bytes_before": model.stat().st_size, "bytes": output.stat().st_size}
    console.report(record, str(output), json)
