"""``epigram ime install``: installs the IBus engine for the user."""

from __future__ import annotations

from epigram.cli import console
from epigram.cli.ime.arguments import Installed, User, open_installed
from epigram.cli.ime.server import Socket


def command(
    model: Installed = None,
    user: User = None,
    path: Socket = None,
    system: bool = False,
) -> None:
    """Install the IBus engine for this user.

    After the next login it can be chosen in the settings of the desktop.

    Parameters
    ----------
    system : Print the command that adds the component for all users.
    """
    from epigram.ime.desktop.install import SYSTEM_COMPONENTS, install
    from epigram.ime.desktop.server import default_socket

    _, file, journal = open_installed(model, user)
    places = install(file, journal, path or default_socket())
    for written in places.all:
        print(console.echoed(f"wrote {written}"))
    if system:
        print(
            console.echoed(
                f"sudo install -Dm644 {places.component} {SYSTEM_COMPONENTS}/{places.component.name}"
            )
        )
    else:
        print("Log out and in again, then add Japanese (Epigram) to the input sources of the desktop.")
