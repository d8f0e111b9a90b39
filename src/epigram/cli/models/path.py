"""``epigram models path``: prints the path of an installed model."""

from __future__ import annotations

import os

from epigram.cli.models.arguments import Name


def command(name: Name) -> None:
    """Print the path of a model's file."""
    from epigram.errors import InputError
    from epigram.storage.installed import model_path

    path = model_path(name)
    if not os.path.isfile(path):
        raise InputError("no such file, and no installed model of this name", path=name)
    print(path)
