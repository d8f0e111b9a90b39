"""Requests of front ends to the line editor: keys in, what to show and to commit out.

Requests and answers are objects of JSON; docs/input-method.md describes their fields. Sockets and web pages carry them.
Corrections are stored after each one.
"""

from __future__ import annotations

import os
import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any

from epigram.errors import InputError
from epigram.ime.converter import KanaKanjiConverter
from epigram.ime.corrections import Journal
from epigram.ime.typing.editor import UNDO, Editor
from epigram.ime.user.settings import UserSettings

FIELDS = {"key", "before", "reset", "set", "private", "convert", "reconvert", "lessons", "forget"}


class EditorSession:
    """Editor of one front end, and the answers to its requests.

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
    """Converter, corrections and settings that the editors of a user share."""

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
