"""``epigram ime settings``: shows and changes the settings of typing."""

from __future__ import annotations

from dataclasses import asdict

from epigram.cli import console
from epigram.cli.options import Json
from epigram.errors import InputError


def command(
    changes: list[str] | None = None,
    json: Json = False,
) -> None:
    """Show or change punctuation, width and keyboard layout, for the terminal and the desktop.

    punctuation is 、。 or ，． or a mixture; width (of blanks, digits and Latin letters) is mixed, half or full; layout
    is romaji or kana.

    Parameters
    ----------
    changes NAME=VALUE... : Settings to change.
    """
    from epigram.ime.user.settings import UserSettings, settings_file

    path = settings_file()
    settings = UserSettings.load(path)
    for change in changes or ():
        name, equals, value = change.partition("=")
        if not equals or name == "private":
            raise InputError(f"expected NAME=VALUE such as layout=kana, not {change!r}")
        settings.set(name, value)
    if changes:
        settings.save(path)
    kept = {name: value for name, value in asdict(settings).items() if name != "private"}
    if json:
        console.print_json({"file": str(path), **kept})
    else:
        for name, value in kept.items():
            print(console.echoed(f"{name}={value}"))
