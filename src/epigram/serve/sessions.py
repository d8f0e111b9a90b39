"""What one browser taught: copies of models that learnt its corrections. Nothing that is shared ever changes.

A session is a random name that the page makes up. It costs nothing until something is learnt; the ones not used for
longest are forgotten.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from threading import RLock
from typing import Any

from epigram.serve.errors import Refusal
from epigram.serve.shelf import Entry

_NAME = re.compile(r"[A-Za-z0-9_-]{16,64}")


class Session:
    """A browser's own models by name, and how many sentences each tagger learnt."""

    def __init__(self) -> None:
        self.models: dict[str, Any] = {}
        self.learnt: dict[str, int] = {}
        self.lock = RLock()


class Sessions:
    """The sessions in use, at most ``most``."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._lock = RLock()

    def __len__(self) -> int:
        return len(self._sessions)

    def model(self, name: str | None, entry: Entry) -> Any:
        """The estimator that this session sees."""
        session = self._sessions.get(name) if name is not None else None
        return entry.estimator if session is None else session.models.get(entry.name, entry.estimator)

    def find(self, name: str | None) -> Session | None:
        """A session that learnt something."""
        return self._sessions.get(name) if name is not None else None

    def need(self, name: str | None) -> Session:
        """The session of this name, made where there is none."""
        if name is None or not _NAME.fullmatch(name):
            raise Refusal(
                422, "learning needs a session: send 16 to 64 letters or digits as X-Epigram-Session"
            )
        with self._lock:
            session = self._sessions.setdefault(name, Session())
            self._sessions.move_to_end(name)
            while len(self._sessions) > self._most:
                self._sessions.popitem(last=False)
            return session

    def forget(self, model: str) -> None:
        """No session keeps a copy of a model that is gone."""
        for session in list(self._sessions.values()):
            session.models.pop(model, None)
