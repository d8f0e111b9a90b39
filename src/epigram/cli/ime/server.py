"""``epigram ime server``: serves the editor to desktops over a Unix socket."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from epigram.cli.ime.arguments import Installed, User, open_installed

Socket = Annotated[
    Path | None,
    typer.Option(
        "--socket", metavar="PATH", help="Unix socket  [default: $XDG_RUNTIME_DIR/epigram-ime/socket]"
    ),
]


def command(model: Installed = None, user: User = None, path: Socket = None) -> None:
    """Serve the editor to desktops and other front ends.

    The protocol is JSON lines over a Unix socket of the user; docs/input-method.md describes it.
    """
    from epigram.ime.desktop.server import EditorServer, default_socket
    from epigram.ime.user.settings import settings_file

    converter, file, journal = open_installed(model, user)
    server = EditorServer(converter, path or default_socket(), journal, settings_file())
    print(f"serving {file} at {server.path}", flush=True)
    with contextlib.suppress(KeyboardInterrupt), server:
        server.serve_forever()
