"""Options of all commands that train: how often to note where training stands, and whether to go on from there."""

from __future__ import annotations

from typing import Annotated

import typer

EVERY = 60.0
Seconds = Annotated[
    float,
    typer.Option(
        "--checkpoint",
        metavar="SECONDS",
        min=0.0,
        help="Note so often, in MODEL.checkpoint, where training stands; 0 for never.",
    ),
]
Resume = Annotated[
    bool,
    typer.Option("--resume", help="Go on where a stopped run of the same command was, to the same model."),
]
