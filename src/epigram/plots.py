"""What every plot needs: a file name that a picture can have, and matplotlib."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from epigram.errors import InputError

FORMATS = (".png", ".svg", ".pdf")


def check_plot(target: str | PathLike[str]) -> None:
    """Refuse a plot that could not be drawn, before any work is done for it."""
    if Path(target).suffix.lower() not in FORMATS:
        raise InputError(f"a plot is a {', '.join(FORMATS)} file; name it so", path=target)
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise InputError("plots need matplotlib: pip install 'epigram[plot]'") from error
