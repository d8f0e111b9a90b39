"""Registry of loaded models by name and family, and per-session copies that learnt.

A session is a random name that the page makes up. It takes no memory until it types or learns; the least recently used
sessions are dropped. Shared models never change. A taught tagger is stored as the bytes of its file, which is many
times smaller than the model in memory; the last few used are kept in memory. A taught converter shares its tables with
the original.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

import epigram
from epigram.serve.http import RequestError
from epigram.storage import describe

if TYPE_CHECKING:
    from epigram.features.template import Template

_STORED = {"ime": "converter"}
_NOT_PLAIN = re.compile(r"[^\w.-]+")
_SESSION = re.compile(r"[A-Za-z0-9_-]{16,64}")
READY = 8
"""Taggers of sessions that are kept in memory."""


@dataclass(frozen=True)
class LoadedModel:
    """One model: its estimator, the path and header of its file.

    ``origin`` is ``sample``, ``file``, ``trained`` or ``uploaded``; ``note`` describes it for users.
    """

    name: str
    family: str
    estimator: Any = field(repr=False)
    path: Path
    origin: str
    note: str
    header: dict[str, Any] = field(repr=False)
    sections: list[Any] = field(repr=False)
    bytes: int

    @property
    def template(self) -> Template | None:
        """The template of a tagger; None for one that takes features."""
        found: Template | None = getattr(getattr(self.estimator, "model_", None), "template", None)
        return found

    @cached_property
    def n_columns(self) -> int:
        """Number of columns that a tagger's template reads; 0 for a tagger that takes features."""
        return 0 if self.template is None else max(1, self.template.n_columns)

    @property
    def record(self) -> dict[str, Any]:
        """The description in a list of models."""
        found: dict[str, Any] = {
            "name": self.name,
            "family": self.family,
            "kind": type(self.estimator).__name__,
            "origin": self.origin,
            "note": self.note,
            "bytes": self.bytes,
        }
        if self.family == "tagger":
            found |= {"labels": [str(label) for label in self.estimator.classes_], "columns": self.n_columns}
        if self.family == "classifier":
            found |= {"labels": [str(label) for label in self.estimator.classes_]}
        if self.family == "lm":
            words = self.estimator.vocabulary_.words
            found |= {"words": len(words), "lowercase": not any(word != word.lower() for word in words)}
        return found


def load_model(name: str, path: Path, origin: str, note: str = "") -> LoadedModel:
    """Load and check a model file."""
    estimator = epigram.load(path)
    file, sections = describe(path)
    family = _STORED.get(file.family, file.family)
    _warm_up(family, estimator)
    size = path.stat().st_size
    return LoadedModel(name, family, estimator, path, origin, note or family, file.header, sections, size)


def _warm_up(family: str, estimator: Any) -> None:
    """Make the tables of first use, which copies share and two threads must not make at once."""
    if family == "converter":
        estimator.nbest("あ", 2)
    if family == "lm":
        estimator.next_words((), 1)
        estimator.word_scores(())


class Registry:
    """Loaded models in the order they were added; the first of a family is its default."""

    def __init__(self) -> None:
        self._models: dict[str, LoadedModel] = {}
        self._reserved: dict[str, str] = {}

    def __iter__(self) -> Iterator[LoadedModel]:
        return iter(list(self._models.values()))

    def __len__(self) -> int:
        return len(self._models)

    def put(self, entry: LoadedModel) -> None:
        """Add a model; its name is no longer reserved."""
        self._reserved.pop(entry.name, None)
        self._models[entry.name] = entry

    def drop(self, name: str) -> None:
        """Remove a model."""
        del self._models[name]

    def reserve(self, wanted: str, origin: str) -> str:
        """Reserve a free name similar to the wanted one; :meth:`release` frees it again."""
        stem = _NOT_PLAIN.sub("-", wanted).strip("-.")[:40] or "model"
        name, number = stem, 2
        while name in self._models or name in self._reserved:
            name, number = f"{stem}-{number}", number + 1
        self._reserved[name] = origin
        return name

    def release(self, name: str) -> None:
        """Free a reserved name that no model uses."""
        self._reserved.pop(name, None)

    def count(self, origin: str) -> int:
        """Count the models of an origin, including those that are being made."""
        return sum(entry.origin == origin for entry in self) + list(self._reserved.values()).count(origin)

    def get(self, name: str | None, family: str | None = None) -> LoadedModel:
        """Return a model by name, or the default of a family."""
        if name is None:
            found = next((entry for entry in self if entry.family == family), None)
            if found is None:
                raise RequestError(404, f"no {family} is loaded; start epigram serve with one")
            return found
        if name not in self._models:
            known = ", ".join(self._models)
            raise RequestError(404, f"no model {name[:60]!r}; there are {known}", "model")
        entry = self._models[name]
        if family is not None and entry.family != family:
            raise RequestError(422, f"{name!r} is a {entry.family}, not a {family}", "model")
        return entry


class Session:
    """The models that one browser has taught, taggers as bytes, and its editors."""

    def __init__(self) -> None:
        self.models: dict[str, Any] = {}
        self.editors: dict[str, Any] = {}
        self.learnt: dict[str, int] = {}
        self.lock = RLock()


class Sessions:
    """At most ``most`` sessions, whose taggers together take at most ``most_bytes``."""

    def __init__(self, most: int, most_bytes: int) -> None:
        self._most, self._most_bytes = most, most_bytes
        self._ready: OrderedDict[bytes, Any] = OrderedDict()
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._lock = RLock()

    def __len__(self) -> int:
        return len(self._sessions)

    def model(self, name: str | None, entry: LoadedModel) -> Any:
        """Return the estimator that a session sees, read from its bytes if needed."""
        stored = self._stored(name, entry)
        if not isinstance(stored, bytes):
            return stored
        with self._lock:
            found = self._ready.pop(stored, None)
            self._ready[stored] = found = type(entry.estimator).from_bytes(stored) if found is None else found
            while len(self._ready) > READY:
                self._ready.popitem(last=False)
        return found

    def is_ready(self, name: str | None, entry: LoadedModel) -> bool:
        """Return whether :meth:`model` has nothing to read."""
        stored = self._stored(name, entry)
        return not isinstance(stored, bytes) or stored in self._ready

    def _stored(self, name: str | None, entry: LoadedModel) -> Any:
        session = self.find(name)
        return entry.estimator if session is None else session.models.get(entry.name, entry.estimator)

    def find(self, name: str | None) -> Session | None:
        """Return a session that has learnt corrections, or None."""
        return self._sessions.get(name) if name is not None else None

    def get_or_create(self, name: str | None) -> Session:
        """Return the session of this name; create it if there is none."""
        if name is None or not _SESSION.fullmatch(name):
            raise RequestError(
                422, "learning needs a session: send 16 to 64 letters or digits as X-Epigram-Session"
            )
        with self._lock:
            session = self._sessions.setdefault(name, Session())
            self._sessions.move_to_end(name)
            self._trim()
            return session

    def _trim(self) -> None:
        """Drop the least recently used sessions beyond the limits."""
        sizes = [
            sum(len(stored) for stored in list(session.models.values()) if isinstance(stored, bytes))
            for session in self._sessions.values()
        ]
        while len(sizes) > self._most or (len(sizes) > 1 and sum(sizes) > self._most_bytes):
            self._sessions.popitem(last=False)
            del sizes[0]

    def forget(self, model: str) -> None:
        """Drop all copies of a model that was removed."""
        for session in list(self._sessions.values()):
            session.models.pop(model, None)
            session.editors.pop(model, None)
