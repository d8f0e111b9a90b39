"""``epigram ime server``: serves the editor to desktops over a Unix socket."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from epigram.cli.ime.arguments import Model, User, load_converter

Socket = Annotated[
    Path | None,
    typer.Option(
        "--socket", metavar="PATH", help="Unix socket  [default: $XDG_RUNTIME_DIR/epigram-ime/socket]"
    ),
]


def command(model: Model, user: User = None, path: Socket = None) -> None:
    """Serve the editor to desktops and other front ends.

    The protocol is JSON lines over a Unix socket of the user; docs/input-method.md describes it.
    """
    from epigram.ime.desktop.server import EditorServer, default_socket

    journal = user or model.with_suffix(".corrections.jsonl")
    server = EditorServer(load_converter(model, journal), path or default_socket(), journal)
    print(f"serving {model} at {server.path}", flush=True)
    with contextlib.suppress(KeyboardInterrupt), server:
        server.serve_forever()
