"""Models that installed distributions bring, by name.

A distribution such as ``epigram-english`` names a function in the entry-point group ``epigram.models``; it returns the
path of the model file.
"""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from epigram.errors import ModelFileError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "epigram.models"
JAPANESE = "japanese"
"""Name of the installed model that the input method takes where none is given."""


def installed_models() -> dict[str, EntryPoint]:
    """Return the entry points of all installed models by name."""
    from importlib.metadata import entry_points

    return {point.name: point for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)}


def model_path(name: str | PathLike[str]) -> str | PathLike[str]:
    """Return the path of an installed model; a path of a file stays as it is.

    Examples
    --------
    >>> model_path("folder/model.epigram")
    'folder/model.epigram'
    """
    if not isinstance(name, str | PathLike) or not looks_like_name(name):
        return name
    text = str(name)
    point = installed_models().get(text)
    if point is not None:
        found: Path = point.load()()
        return found
    known = ", ".join(installed_models()) or "none"
    raise ModelFileError(
        f"no such file, and no installed model of this name (installed: {known}). Install it: in a checkout with "
        f"pip install ./models/{text}, or from a wheel with epigram models install WHEEL",
        path=text,
    )


def looks_like_name(name: str | PathLike[str]) -> bool:
    """Whether a path is only a word, and there is no such file.

    Examples
    --------
    >>> looks_like_name("english"), looks_like_name("english.epigram"), looks_like_name("./english")
    (True, False, False)
    """
    text = os.fspath(name)
    return text.isidentifier() and not os.path.exists(text)
