"""``epigram models info``: shows the card of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from epigram.cli import console
from epigram.cli.models.arguments import Name
from epigram.cli.options import Json


def command(name: Name, json: Json = False) -> None:
    """Show where a model comes from: sources, licence, settings, size and scores."""
    from epigram.storage.file import ModelFile
    from epigram.storage.installed import model_path

    path = Path(model_path(name))
    header = ModelFile.load(path).header
    record: dict[str, Any] = {
        "family": header["family"],
        "path": str(path),
        "bytes": path.stat().st_size,
        **header.get("fit", {}),
        **(header.get("card") or {}),
    }
    console.report(record, str(name), json)
