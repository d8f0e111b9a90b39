"""``epigram models list``: lists installed models."""

from __future__ import annotations

from epigram.cli import console
from epigram.cli.options import Json


def command(json: Json = False) -> None:
    """Show every installed model: its name, the distribution that brought it, and its file."""
    from epigram.storage.installed import installed_models, model_path

    records = [
        {
            "name": name,
            "distribution": None if point.dist is None else point.dist.name,
            "version": None if point.dist is None else point.dist.version,
            "path": str(model_path(name)),
        }
        for name, point in installed_models().items()
    ]
    if json:
        console.print_json(records)
        return
    console.table("models", ("name", "distribution", "version", "path"), [tuple(r.values()) for r in records])
