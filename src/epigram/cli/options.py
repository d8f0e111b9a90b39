"""Options and arguments that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EVERY = 60.0
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A *.epigram file.")]
ModelOutput = Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="Where the model goes.")]
Output = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where the result goes.")]
Threads = Annotated[int, typer.Option(min=1, help="Threads.")]
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
