"""Serves the line editor to desktops: JSON lines over a Unix socket of the user.

One process holds the model, the corrections and one editor per connection. A request is an object on a line, the answer
another; docs/input-method.md describes the fields. The socket is in a folder that only the user may enter, and other
users are refused. Corrections are stored after each one.
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
from epigram.ime.typing.editor import KEPT, UNDO, Editor

LONGEST_LINE = 1 << 16
SETTINGS = {"punctuation": str, "private": bool}


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
    >>> session = EditorSession(converter, threading.RLock(), None)
    >>> session.answer({"key": "a"})["preedit"], session.answer({"key": "enter"})["commit"]
    (['あ'], 'あ')
    """

    def __init__(self, converter: KanaKanjiConverter, lock: threading.RLock, journal: Path | None) -> None:
        self.editor = Editor(converter)
        self.lock = lock
        self.journal = journal

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer a request; raises InputError for one that has no meaning."""
        unknown = set(request) - {"key", "before", "reset", "set", "convert", "words", "lessons", "forget"}
        if unknown:
            raise InputError(f"unknown field {sorted(unknown)[0]!r}; use key, before, reset, set or convert")
        editor = self.editor
        with self.lock:
            if "set" in request:
                self._set(request["set"])
            if request.get("reset"):
                self.editor = editor = Editor(
                    editor.converter, punctuation=editor.punctuation, private=editor.private
                )
            if "before" in request:
                editor.before = _text(request, "before")[-KEPT:]
            if "convert" in request:
                ways = editor.converter.nbest(_text(request, "convert"), 9, before=editor.before)
                return {"ways": [way.text for way in ways]}
            if "lessons" in request:
                return {
                    "lessons": [
                        [lesson.reading, lesson.chosen] for lesson in editor.converter.journal.lessons
                    ]
                }
            if "forget" in request:
                self._forget(request["forget"])
            commit, handled = self._press(_text(request, "key")) if "key" in request else (None, False)
            return {"commit": commit, "handled": handled, **editor.view()}

    def _press(self, key: str) -> tuple[str | None, bool]:
        """Press a key; keys that mean nothing to an idle editor are not handled."""
        editor, n = self.editor, len(self.editor.converter.journal.lessons)
        was_idle = editor.is_idle
        commit = editor.press(key)
        handled = (
            not was_idle or not editor.is_idle or commit is not None or (key == UNDO and editor.erase > 0)
        )
        if len(editor.converter.journal.lessons) != n:
            self._save()
        return commit, handled

    def _forget(self, number: Any) -> None:
        lessons = self.editor.converter.journal.lessons
        if type(number) is not int or not 0 <= number < len(lessons):
            raise InputError(
                f"'forget' must be the number of a lesson, 0 to {len(lessons) - 1}, not {number!r}"
            )
        del lessons[number]
        self.editor.converter.journal.refresh()
        self._save()

    def _save(self) -> None:
        if self.journal is not None:
            self.editor.converter.journal.save(self.journal)

    def _set(self, settings: Any) -> None:
        given: dict[str, Any] = settings if isinstance(settings, dict) else {"set": settings}
        for name, value in given.items():
            if name not in SETTINGS or type(value) is not SETTINGS[name]:
                raise InputError(
                    f"unknown setting {name!r} or wrong value; settings are punctuation and private"
                )
            if name == "punctuation" and len(str(value)) != 2:
                raise InputError("punctuation must be two characters, such as '、。'")
            setattr(self.editor, name, value)


def _text(request: dict[str, Any], name: str) -> str:
    value = request[name]
    if not isinstance(value, str):
        raise InputError(f"{name!r} must be text, not {type(value).__name__}")
    return value


class EditorServer(socketserver.ThreadingUnixStreamServer):
    """Server of one converter; replaces a stale socket, refuses a live one."""

    daemon_threads = True

    def __init__(self, converter: KanaKanjiConverter, path: Path, journal: Path | None = None) -> None:
        self.converter = converter
        self.journal = journal
        self.lock = threading.RLock()
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
        session = EditorSession(self.server.converter, self.server.lock, self.server.journal)
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
