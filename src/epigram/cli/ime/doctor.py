"""``epigram ime doctor``: checks the installation of the IBus engine."""

from __future__ import annotations

import typer

from epigram.cli import console
from epigram.cli.options import Json


def command(json: Json = False) -> None:
    """Check daemon, gi, component, model and server; say what to do. Exits 1 if a check fails."""
    from epigram.ime.desktop.install import doctor

    checks = doctor()
    if json:
        console.print_json({"checks": [check._asdict() for check in checks]})
    else:
        for name, is_fine, advice in checks:
            print(console.echoed(f"ok       {name}" if is_fine else f"missing  {name}: {advice}"))
    if not all(check.is_fine for check in checks):
        raise typer.Exit(1)
