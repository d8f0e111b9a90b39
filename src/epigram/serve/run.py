"""Runs the server on uvicorn in one process; a signal ends it within two seconds."""

from __future__ import annotations

import asyncio
import gc
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
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from epigram.errors import InputError, reason
from epigram.files import is_alive
from epigram.serve.app import build
from epigram.serve.http import Limits
from epigram.serve.registry import Registry, load_model
from epigram.serve.security import AccessPolicy
from epigram.serve.state import ServerState

PREFIX = "epigram-studio-"
TOO_LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
SWITCH = 0.0005  # seconds between switches of threads: requests wait for each other


class BoundedProtocol(HttpToolsProtocol):
    """Closes connections that send or read too slowly, or send too many headers.

    Bytes outside the body (headers, trailers, sizes of chunks) may be ``most_head`` plus as many as the body.
    """

    patience = Limits.arrival
    most_head = Limits.head
    _timer: asyncio.TimerHandle | None = None
    _reading: asyncio.TimerHandle | None = None
    _n_received = _n_body = 0

    def connection_made(self, transport: Any) -> None:
        """Start the timer of the first request."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # any byte that the client does not take pauses writing
        self._wait()

    def on_message_begin(self) -> None:
        """Count the bytes of a new request."""
        self._n_received = self._n_body = 0
        super().on_message_begin()

    def on_body(self, body: bytes) -> None:
        """Count the bytes of the body."""
        self._n_body += len(body)
        super().on_body(body)

    def pause_writing(self) -> None:
        """Start the timer of a client that has not read its response."""
        super().pause_writing()
        self._reading = self.loop.call_later(self.patience, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop that timer."""
        super().resume_writing()
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    def data_received(self, data: bytes) -> None:
        """Count the bytes of a request and stop its timer once it has arrived."""
        self._n_received += len(data)
        waited, idle, before = self._timer, self._between_requests, self.cycle
        super().data_received(data)
        if self._n_received - 2 * self._n_body > self.most_head:
            if self._between_requests:
                self.transport.write(TOO_LONG)
            self.transport.close()
        if self.cycle is not before:  # a request has arrived
            if waited is not None:
                waited.cancel()
            self._timer = None
        elif idle and waited is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all timers."""
        for timer in (self._timer, self._reading):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    @property
    def _between_requests(self) -> bool:
        return self.cycle is None or bool(self.cycle.response_complete)

    def _wait(self) -> None:
        self._timer = self.loop.call_later(self.patience, self.transport.close)


def open_server(
    files: Mapping[str, Path],
    notes: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    uploads: bool = False,
) -> ServerState:
    """Load models and create the private folder; :func:`close_server` removes it."""
    registry = Registry()
    for wanted, path in files.items():
        origin = "sample" if wanted in (notes or {}) else "file"
        name = registry.reserve(wanted, origin)
        registry.put(load_model(name, path, origin, (notes or {}).get(wanted, "")))
    remove_leftovers()
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
    return ServerState(registry, folder, limits or Limits(), uploads)


def remove_leftovers() -> None:
    """Remove the private folders of servers of this user that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*-*"):
        number = folder.name.removeprefix(PREFIX).partition("-")[0]
        try:
            mine = folder.stat(follow_symlinks=False).st_uid == os.getuid()
        except (
            OSError,
            AttributeError,
        ):  # removed already; or a system without user ids, where nothing is removed
            continue
        if (
            mine
            and number.isdecimal()
            and folder.is_dir()
            and not folder.is_symlink()
            and not is_alive(int(number))
        ):
            shutil.rmtree(folder, ignore_errors=True)


def close_server(state: ServerState) -> None:
    """Remove the private folder."""
    shutil.rmtree(state.folder, ignore_errors=True)


def listen(host: str, port: int) -> socket.socket:
    """Open a listening socket; port 0 takes a free port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
    except OSError as error:
        made.close()
        raise InputError(f"cannot listen on {host}:{port}: {reason(error)}; choose another --port") from error
    return made


def configure(state: ServerState, policy: AccessPolicy) -> uvicorn.Config:
    """Return the settings of uvicorn."""
    limits = state.limits
    BoundedProtocol.patience, BoundedProtocol.most_head = limits.arrival, limits.head
    return uvicorn.Config(
        build(state, policy), http=BoundedProtocol, ws="none", lifespan="on", log_level="warning", access_log=False,
        server_header=False, date_header=False, proxy_headers=False,
        limit_concurrency=limits.connections, timeout_keep_alive=limits.idle, timeout_graceful_shutdown=limits.shutdown,
    )  # fmt: skip


def serve(
    state: ServerState, policy: AccessPolicy, listener: socket.socket, ready: Callable[[], object]
) -> None:
    """Answer requests until a signal comes; then end within two seconds."""
    server = NotifyingServer(configure(state, policy), ready)
    sys.setswitchinterval(SWITCH)
    gc.collect()
    gc.freeze()  # the models stay, and a collection that visits them would delay requests
    gc.set_threshold(2000)  # many short collections instead of a few that take tens of milliseconds
    for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn raises them again when it has ended
        signal.signal(number, _nothing)
    try:
        server.run(sockets=[listener])
    finally:
        close_server(state)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0 if server.started else 1)  # a thread may still run for a client that disconnected


class NotifyingServer(uvicorn.Server):
    """A server that calls a function when it is ready."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], object]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen."""
        await super().startup(sockets)
        if self.started:
            self._ready()


def _nothing(*_: Any) -> None:
    """Replace handlers that would end the process before it has cleaned up."""
