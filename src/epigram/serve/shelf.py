"""The models a server offers, by name: what they are, and the file each was read from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import epigram
from epigram.serve.errors import Refusal
from epigram.storage import describe

FAMILIES = ("converter", "tagger", "lm", "reranker")
_STORED = {"ime": "converter"}
_COLUMN = re.compile(r"%x\[\s*[+-]?\d+\s*,\s*(\d+)")
_NOT_PLAIN = re.compile(r"[^\w.-]+")


@dataclass(frozen=True)
class Entry:
    """One model: its estimator, where its file is, and what the file says.

    ``origin`` is ``sample``, ``file``, ``trained`` or ``uploaded``; ``note`` says in words what it is for.
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

    @cached_property
    def n_columns(self) -> int:
        """How many columns a tagger's template looks at; 0 for one that takes features."""
        template = self.header.get("template")
        return 0 if template is None else 1 + max((int(k) for k in _COLUMN.findall(template)), default=0)

    @property
    def record(self) -> dict[str, Any]:
        """The line of a list of models."""
        kind = type(self.estimator).__name__
        found: dict[str, Any] = {
            "name": self.name,
            "family": self.family,
            "kind": kind,
            "origin": self.origin,
        }
        found |= {"note": self.note, "bytes": self.bytes}
        if self.family == "tagger":
            found |= {"labels": [str(label) for label in self.estimator.classes_], "columns": self.n_columns}
        if self.family == "lm":
            words = self.estimator.vocabulary_.words
            found |= {"words": len(words), "lowercase": not any(word != word.lower() for word in words)}
        return found


def read_entry(name: str, path: Path, origin: str, note: str = "") -> Entry:
    """Load a model file, with all checks that files go through."""
    estimator = epigram.load(path)
    file, sections = describe(path)
    family = _STORED.get(file.family, file.family)
    if family == "converter":
        estimator.nbest("あ", 2)  # what the search makes on first use is then shared by all
    return Entry(
        name, family, estimator, path, origin, note or family, file.header, sections, path.stat().st_size
    )


class Shelf:
    """Entries in their order; the first of a family is its default."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}

    def __iter__(self) -> Iterator[Entry]:
        return iter(list(self._entries.values()))

    def __len__(self) -> int:
        return len(self._entries)

    def put(self, entry: Entry) -> None:
        """Add an entry."""
        self._entries[entry.name] = entry

    def drop(self, name: str) -> None:
        """Forget an entry."""
        del self._entries[name]

    def free_name(self, wanted: str) -> str:
        """A name like this one that no entry has."""
        stem = _NOT_PLAIN.sub("-", wanted).strip("-.")[:40] or "model"
        name, number = stem, 2
        while name in self._entries:
            name, number = f"{stem}-{number}", number + 1
        return name

    def get(self, name: str | None, family: str | None = None) -> Entry:
        """An entry by name, or the default of a family."""
        if name is None:
            found = next((entry for entry in self if entry.family == family), None)
            if found is None:
                raise Refusal(404, f"no {family} is loaded; start epigram serve with one")
            return found
        if name not in self._entries:
            known = ", ".join(self._entries)
            raise Refusal(404, f"no model {name[:60]!r}; there are {known}", "model")
        entry = self._entries[name]
        if family is not None and entry.family != family:
            raise Refusal(422, f"{name!r} is a {entry.family}, not a {family}", "model")
        return entry
