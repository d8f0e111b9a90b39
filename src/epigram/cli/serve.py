"""``epigram serve``: the studio, every model in a browser and over HTTP."""

from __future__ import annotations

import ipaddress
import secrets
from pathlib import Path
from typing import Annotated

import typer

from epigram import cli
from epigram.errors import InputError


def command(
    models: Annotated[
        list[Path] | None,
        typer.Argument(metavar="MODEL...", help="*.epigram files; none: small models of the sample data."),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8765,
    host: Annotated[
        str, typer.Option(help="Address to listen on; one that others reach needs --token or --open.")
    ] = "127.0.0.1",
    token: Annotated[
        str | None,
        typer.Option(metavar="TOKEN", help="What requests must carry; 'new' makes one up and prints it."),
    ] = None,
    open: Annotated[
        bool,
        typer.Option(
            "--open", help="Without a token: whoever reaches the address may use and train models here."
        ),
    ] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A name under which the server is reached, besides addresses."),
    ] = None,
    uploads: Annotated[
        bool, typer.Option("--uploads", help="Let clients upload model files (they are checked).")
    ] = False,
) -> None:
    """Serve models to a browser and over HTTP (JSON under /v1)."""
    try:
        from epigram.serve.run import listen, open_studio, serve
    except ModuleNotFoundError as missing:
        raise InputError(f"epigram serve needs {missing.name}: pip install 'epigram[serve]'") from None
    from epigram.serve.guard import Door

    loopback = _is_loopback(host)
    if not loopback and token is None and not open:
        raise InputError(
            f"{host} can be reached by others: give --token TOKEN, or --open to let everybody in"
        )
    if token == "new":
        token = secrets.token_urlsafe(24)
    listener = listen(host, port)
    notes = None
    if models:
        files = {path.stem: path for path in models}
        if len(files) < len(models):
            raise InputError("two models have the same name; rename one of the files")
    else:
        from epigram.serve.sample_models import SAMPLES, sample_files

        screen = cli.stderr()
        files = sample_files(lambda name: screen.print(f"[dim]training the sample model {name}[/]"))
        notes = SAMPLES
    studio = open_studio(files, notes, uploads=uploads)
    at = listener.getsockname()
    shown = f"[{at[0]}]" if ":" in at[0] else at[0]
    address = f"http://{'localhost' if loopback else shown}:{at[1]}/"

    def ready() -> None:
        print(address + (f"#token={token}" if token else ""), flush=True)
        cli.stderr().print("[dim]Ctrl-C ends it[/]")

    serve(studio, Door(loopback, tuple(name.lower() for name in allow_host or ()), token), listener, ready)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        raise InputError(f"--host is an address such as 127.0.0.1 or 0.0.0.0, not {host!r}") from None
