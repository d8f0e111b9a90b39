"""Run the studio on uvicorn: one process, silent connections are closed, a signal ends it within two seconds."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from epigram.errors import InputError
from epigram.serve.app import build
from epigram.serve.guard import Door
from epigram.serve.limits import Limits
from epigram.serve.shelf import Shelf, read_entry
from epigram.serve.studio import Studio

PREFIX = "epigram-studio-"
SWITCH = 0.0005  # seconds after which a thread lets another go on: answers wait for each other


class Prompt(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """Closes a connection whose request does not arrive: the headers have so many seconds."""

    patience = Limits.arrival
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start to wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Wait for the rest of a request that has begun."""
        waited, idle, before = self._timer, self._between_requests, self.cycle
        super().data_received(data)
        if self.cycle is not before:  # a request has arrived
            if waited is not None:
                waited.cancel()
            self._timer = None
        elif idle and waited is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing to wait for any more."""
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    @property
    def _between_requests(self) -> bool:
        return self.cycle is None or bool(self.cycle.response_complete)

    def _wait(self) -> None:
        self._timer = self.loop.call_later(self.patience, self.transport.close)


def open_studio(
    files: Mapping[str, Path],
    notes: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    uploads: bool = False,
) -> Studio:
    """Load models and make the private folder; :func:`close_studio` removes it."""
    shelf = Shelf()
    for wanted, path in files.items():
        name = shelf.free_name(wanted)
        shelf.put(
            read_entry(name, path, "sample" if notes is not None else "file", (notes or {}).get(wanted, ""))
        )
    remove_leftovers()
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
    return Studio(shelf, folder, limits or Limits(), uploads)


def remove_leftovers() -> None:
    """Remove the private folders of servers of this user that were killed and could not clean up."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*-*"):
        number = folder.name.removeprefix(PREFIX).partition("-")[0]
        try:
            mine = folder.stat(follow_symlinks=False).st_uid == os.getuid()
        except (OSError, AttributeError):  # gone already; or a system without users, where nothing is removed
            continue
        if (
            mine
            and number.isdecimal()
            and folder.is_dir()
            and not folder.is_symlink()
            and not _alive(int(number))
        ):
            shutil.rmtree(folder, ignore_errors=True)


def _alive(process: int) -> bool:
    """Is there such a process? Signal 0 asks, and does nothing."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def close_studio(studio: Studio) -> None:
    """Remove the private folder."""
    shutil.rmtree(studio.folder, ignore_errors=True)


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
    except OSError as error:
        made.close()
        raise InputError(
            f"cannot listen on {host}:{port}: {error.strerror}; choose another --port"
        ) from error
    return made


def configure(studio: Studio, door: Door) -> uvicorn.Config:
    """How uvicorn is to run a studio."""
    limits = studio.limits
    Prompt.patience = limits.arrival
    return uvicorn.Config(
        build(studio, door), http=Prompt, ws="none", lifespan="on", log_level="warning", access_log=False,
        server_header=False, date_header=False, proxy_headers=False,
        limit_concurrency=limits.connections, timeout_keep_alive=limits.idle, timeout_graceful_shutdown=limits.shutdown,
        h11_max_incomplete_event_size=32 * 1024,
    )  # fmt: skip


def serve(studio: Studio, door: Door, listener: socket.socket, ready: Callable[[], object]) -> None:
    """Answer until a signal comes; then end within two seconds, whatever is under way."""
    server = Announcing(configure(studio, door), ready)
    sys.setswitchinterval(SWITCH)
    for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn raises them again when it has ended
        signal.signal(number, _nothing)
    try:
        server.run(sockets=[listener])
    finally:
        close_studio(studio)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0 if server.started else 1)  # a thread may still be at work for a request that is gone


class Announcing(uvicorn.Server):
    """Says when it is ready."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], object]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen."""
        await super().startup(sockets)
        if self.started:
            self._ready()


def _nothing(*_: Any) -> None:
    """Takes the place of handlers that would end the process before it has cleaned up."""
