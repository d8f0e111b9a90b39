"""``epigram serve``: starts the web server."""

from __future__ import annotations

import ipaddress
import os
import re
import secrets
from pathlib import Path

from epigram.cli import console
from epigram.errors import InputError, install
from epigram.files import read_bytes

_TOKEN = re.compile(r"[!-~]+")


def command(
    models: list[Path] | None = None,
    port: int = 8765,
    host: str = "127.0.0.1",
    token: str | None = None,
    token_file: Path | None = None,
    open: bool = False,
    allow_host: list[str] | None = None,
    uploads: bool = False,
) -> None:
    """Serve models to a browser and over HTTP (JSON under /v1).

    Parameters
    ----------
    models MODEL... : Model files (*.epigram), or names of installed models [default: small models of the sample
        data, and all that are installed]
    port >= 0 <= 65535 : Port to listen on; 0 takes a free one.
    host : Address to listen on; one that others reach needs --token or --open.
    token TOKEN : Token that requests must carry; 'new' makes one up and prints it. Other users of this machine see
        it in the list of processes: prefer --token-file or the environment variable EPIGRAM_TOKEN.
    token_file FILE : File that holds the token, and nothing else.
    open : Listen without a token: everyone who reaches the address can use and train models.
    allow_host NAME : Name under which the server is reached, besides its addresses.
    uploads : Let clients upload model files (they are checked).
    """
    try:
        from epigram.serve.run import listen, open_server, serve
    except ModuleNotFoundError as missing:
        raise InputError(f"epigram serve needs {missing.name}: {install('serve')}") from None
    from epigram.serve.security import AccessPolicy

    loopback = _is_loopback(host)
    token, secret = _token(token, token_file)
    if not loopback and token is None and not open:
        raise InputError(
            f"{host} can be reached by others: give --token TOKEN or --token-file FILE, "
            "or --open to let everybody in"
        )
    listener = listen(host, port)
    files, notes = _files(models)
    state = open_server(files, notes, uploads=uploads)
    at = listener.getsockname()
    shown = f"[{at[0]}]" if ":" in at[0] else at[0]
    address = f"http://{'localhost' if loopback else shown}:{at[1]}/"

    def ready() -> None:
        print(address + (f"#token={token}" if token and not secret else ""), flush=True)
        console.stderr().print("[dim]Ctrl-C ends it[/]")

    serve(
        state,
        AccessPolicy(loopback, tuple(name.lower() for name in allow_host or ()), token),
        listener,
        ready,
    )


def _files(models: list[Path] | None) -> tuple[dict[str, Path], dict[str, str] | None]:
    """Return files and notes of models; without models the samples and all installed ones."""
    from epigram.storage.installed import installed_models, model_path

    if models:
        files = {path.stem: Path(model_path(path)) for path in models}
        if len(files) < len(models):
            raise InputError("two models have the same name; rename one of the files")
        return files, None
    from epigram.serve.sample_models import SAMPLES, sample_files

    screen = console.stderr()
    files = sample_files(lambda name: screen.print(f"[dim]training the sample model {name}[/]"))
    installed = {name: Path(model_path(name)) for name in installed_models()}
    return files | installed, {name: note for name, note in SAMPLES.items() if name not in installed}


def _token(given: str | None, file: Path | None) -> tuple[str | None, bool]:
    """Return the token, if any, and whether it is secret: from a file or the environment."""
    if given is not None and file is not None:
        raise InputError("give --token or --token-file, not both")
    if given == "new":
        return secrets.token_urlsafe(24), False
    if file is not None:
        token: str | None = read_bytes(file).decode("utf-8", "replace").strip()
    else:
        token = given if given is not None else os.environ.get("EPIGRAM_TOKEN")
    if token is not None and not _TOKEN.fullmatch(token):
        place = file or ("--token" if given is not None else "EPIGRAM_TOKEN")
        raise InputError(
            f"{place}: a token is one word of ASCII letters, digits and signs; 'new' makes one up"
        )
    return token, given is None


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        raise InputError(f"--host is an address such as 127.0.0.1 or 0.0.0.0, not {host!r}") from None
