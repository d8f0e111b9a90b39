"""``epigram models path``: prints the path of an installed model."""

from __future__ import annotations

from epigram.cli.models.arguments import Name


def command(name: Name) -> None:
    """Print the path of a model's file."""
    from epigram.storage.installed import model_path

    print(model_path(name))
