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
from dataclasses import asdict
from pathlib import Path
from typing import Any

from epigram.errors import EpigramError, InputError, reason
from epigram.files import parse_json
from epigram.ime.converter import KanaKanjiConverter
from epigram.ime.corrections import Journal
from epigram.ime.typing.editor import UNDO, Editor
from epigram.ime.user.settings import UserSettings

LONGEST_LINE = 1 << 16
FIELDS = {"key", "before", "reset", "set", "private", "convert", "reconvert", "lessons", "forget"}


def default_socket() -> Path:
    """Path of the user's socket."""
    folder = os.environ.get("XDG_RUNTIME_DIR")
    return (
        Path(folder) / "epigram-ime" / "socket"
        if folder
        else Path.home() / ".cache" / "epigram-ime" / "socket"
    )


class EditorSession:
    """Editor of one connection.

    Examples
    --------
    >>> converter = KanaKanjiConverter.build(["橋/はし を 渡る/わたる", "箸/はし"])
    >>> session = EditorSession(EditorState(converter, None, None))
    >>> session.answer({"key": "a"})["preedit"], session.answer({"key": "enter"})["commit"]
    (['あ'], 'あ')
    """

    def __init__(self, server: EditorState) -> None:
        self.server = server
        self.editor = Editor(server.converter, settings=server.settings)

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer a request; raises InputError for one that has no meaning."""
        unknown = set(request) - FIELDS
        if unknown:
            raise InputError(f"unknown field {sorted(unknown)[0]!r}; use one of {', '.join(sorted(FIELDS))}")
        with self.server.lock:
            return self._answer(request)

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        editor, server = self.editor, self.server
        if "set" in request:
            server.set(request["set"])
        if request.get("reset"):
            self.editor = editor = Editor(editor.converter, private=editor.private, settings=server.settings)
        if "private" in request:
            editor.private = bool(request["private"])
        if "before" in request:
            editor.moved(_text(request, "before"))
        if "convert" in request:
            ways = editor.converter.nbest(_text(request, "convert"), 9, before=editor.before)
            return {"ways": [way.text for way in ways]}
        if "lessons" in request:
            lessons = editor.converter.journal.lessons
            return {"lessons": [[lesson.reading, lesson.chosen] for lesson in lessons]}
        if "forget" in request:
            server.forget(request["forget"])
        if "reconvert" in request:
            editor.reconvert(_text(request, "reconvert"))
        commit, handled = self._press(_text(request, "key")) if "key" in request else (None, False)
        return {"commit": commit, "handled": handled, **editor.view(), "settings": asdict(server.settings)}

    def _press(self, key: str) -> tuple[str | None, bool]:
        """Press a key; keys that mean nothing to an idle editor are not handled."""
        editor, was_idle = self.editor, self.editor.is_idle
        if was_idle:
            self.server.reread()
        before = editor.converter.journal.lessons[:]
        commit = editor.press(key)
        handled = (
            not was_idle or not editor.is_idle or commit is not None or (key == UNDO and editor.erase > 0)
        )
        if not handled:
            editor.moved()
        if editor.converter.journal.lessons != before:
            self.server.save()
        return commit, handled


class EditorState:
    """Converter, corrections and settings that all editors of a server share."""

    def __init__(self, converter: KanaKanjiConverter, journal: Path | None, settings: Path | None) -> None:
        self.converter = converter
        self.lock = threading.RLock()
        self.journal, self.settings_file = journal, settings
        self.settings = UserSettings() if settings is None else UserSettings.load(settings)
        self._stamp = self._stamp_now()

    def set(self, settings: Any) -> None:
        """Change settings of the user and store them."""
        if not isinstance(settings, dict):
            raise InputError("'set' must be an object of settings")
        for name, value in settings.items():
            self.settings.set(name, value)
        if self.settings_file is not None:
            self.settings.save(self.settings_file)

    def forget(self, number: Any) -> None:
        """Forget one correction."""
        lessons = self.converter.journal.lessons
        if type(number) is not int or not 0 <= number < len(lessons):
            raise InputError(
                f"'forget' must be the number of a lesson, 0 to {len(lessons) - 1}, not {number!r}"
            )
        del lessons[number]
        self.converter.journal.refresh()
        self.save()

    def save(self) -> None:
        """Store the corrections."""
        if self.journal is not None:
            self.converter.journal.save(self.journal)
            self._stamp = self._stamp_now()

    def reread(self) -> None:
        """Read the corrections and user words again if another process has changed their file."""
        stamp = self._stamp_now()
        if self.journal is not None and stamp != self._stamp:
            old = self.converter.journal
            self.converter.journal = Journal.load(self.converter.decoder, self.journal, (), old.rescorer)
            self._stamp = stamp

    def _stamp_now(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self.journal or "")
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size


def _text(request: dict[str, Any], name: str) -> str:
    value = request[name]
    if not isinstance(value, str):
        raise InputError(f"{name!r} must be text, not {type(value).__name__}")
    return value


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
