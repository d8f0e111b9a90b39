"""Arguments that the commands of ``epigram models`` share."""

from __future__ import annotations

from typing import Annotated

import typer

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of an installed model, or a file.")]
