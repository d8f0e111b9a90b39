"""``epigram demo``: a short tour on built-in sample data, one act per family, offline."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated

import typer

from epigram.errors import InputError

ACTS = {
    "tagger": "epigram.cli.demo.tagger",
    "converter": "epigram.cli.demo.converter",
}


def command(
    act: Annotated[str | None, typer.Argument(help=f"One act only: {', '.join(ACTS)}.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the sample data and of the training.")] = 0,
) -> None:
    """A short tour on built-in sample data, offline: train, score, look inside, use."""
    if act is not None and act not in ACTS:
        raise InputError(f"no act {act!r}; there are {', '.join(ACTS)}")
    for name in [act] if act else ACTS:
        import_module(ACTS[name]).play(seed)
