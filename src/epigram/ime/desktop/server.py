"""Serves the line editor to desktops: JSON lines over a Unix socket of the user.

One process holds the model, the corrections, the settings of the user and one editor per connection. A request is an
object on a line, the answer another; docs/input-method.md describes the fields. The socket is in a folder that only the
user may enter, and other users are refused. Corrections are stored after each one.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import socketserver
import struct
import threading
from pathlib import Path
from typing import Any

from epigram.errors import EpigramError, InputError, reason
from epigram.files import parse_json
from epigram.ime.converter import KanaKanjiConverter
from epigram.ime.typing.session import EditorSession, EditorState

LONGEST_LINE = 1 << 16


def default_socket() -> Path:
    """Path of the user's socket."""
    folder = os.environ.get("XDG_RUNTIME_DIR")
    return (
        Path(folder) / "epigram-ime" / "socket"
        if folder
        else Path.home() / ".cache" / "epigram-ime" / "socket"
    )


class EditorServer(socketserver.ThreadingUnixStreamServer):
    """Server of one converter; replaces a stale socket, refuses a live one."""

    daemon_threads = True

    def __init__(
        self,
        converter: KanaKanjiConverter,
        path: Path,
        journal: Path | None = None,
        settings: Path | None = None,
    ) -> None:
        converter.following("。").nbest("あ", 2)  # makes tables now that the first key would wait for
        self.state = EditorState(converter, journal, settings)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.parent.stat().st_mode & 0o077:
            raise InputError(
                f"{path.parent} may be entered by others; make it yours: chmod 700 {path.parent}"
            )
        if path.exists():
            with socket.socket(socket.AF_UNIX) as probe, contextlib.suppress(OSError):
                probe.connect(str(path))
                raise InputError(f"a server answers at {path} already; stop it or use --socket")
            path.unlink()
        try:
            super().__init__(str(path), EditorConnection)
        except OSError as error:
            raise InputError(f"cannot listen: {reason(error)}", path=path) from error
        path.chmod(0o600)
        self.path = path

    def server_close(self) -> None:
        """Stop listening and remove the socket."""
        super().server_close()
        self.path.unlink(missing_ok=True)


class EditorConnection(socketserver.StreamRequestHandler):
    """One front end."""

    server: EditorServer

    def handle(self) -> None:
        """Answer lines until the front end leaves."""
        if hasattr(socket, "SO_PEERCRED"):
            peer = self.request.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
            if struct.unpack("3i", peer)[1] != os.getuid():
                return
        session = EditorSession(self.server.state)
        while line := self.rfile.readline(LONGEST_LINE + 1):
            if len(line) > LONGEST_LINE:
                self._write({"error": f"a line of more than {LONGEST_LINE:,} bytes"})
                return
            try:
                request = parse_json(line.decode())
                if not isinstance(request, dict):
                    raise InputError("expected a JSON object on each line")
                if request.get("stop"):
                    self._write({"stopped": True})
                    threading.Thread(target=self.server.shutdown).start()
                    return
                answer = session.answer(request)
            except (EpigramError, ValueError) as error:
                answer = {"error": str(error)}
            self._write(answer)

    def _write(self, answer: dict[str, Any]) -> None:
        with contextlib.suppress(BrokenPipeError):
            self.wfile.write(json.dumps(answer, ensure_ascii=True).encode() + b"\n")
