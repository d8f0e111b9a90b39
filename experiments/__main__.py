"""Command line of the experiments: ``python -m experiments PAPER``."""

from __future__ import annotations

import typer

from epigram.cli import run_app
from experiments.command import command


def main() -> None:
    """The command alone."""
    app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
    app.command()(command)
    run_app(app)


if __name__ == "__main__":
    main()
