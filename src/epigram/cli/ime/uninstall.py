"""``epigram ime uninstall``: removes the IBus engine of the user."""

from __future__ import annotations

from epigram.cli import console


def command() -> None:
    """Remove the files of ``epigram ime install``; models and corrections stay."""
    from epigram.ime.desktop.install import uninstall

    removed = uninstall()
    for file in removed:
        print(console.echoed(f"removed {file}"))
    if not removed:
        print("nothing is installed")
