"""The named data sets: what each is, its origin, its licence and its checksums, from ``catalogue.toml``."""

from __future__ import annotations

import gzip
import hashlib
import tomllib
import zlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from epigram.errors import InputError
from epigram.text import GZIP_MAGIC


@dataclass(frozen=True, slots=True)
class File:
    """One file of a data set; ``content`` is the sha256 of what a gzip file holds, as its origin has it."""

    name: str
    sha256: str
    content: str = ""
    url: str = ""

    def is_right(self, raw: bytes) -> bool:
        """Whether these are the file's bytes."""
        if hashlib.sha256(raw).hexdigest() == self.sha256:
            return True
        return bool(self.content) and hashlib.sha256(_unpacked(raw)).hexdigest() == self.content

    def as_stored(self, raw: bytes) -> bytes:
        """What a server sent, packed or unpacked as this file's name says."""
        packed = raw[:2] == GZIP_MAGIC
        if self.name.endswith(".gz") and not packed:
            return gzip.compress(raw, mtime=0)
        return _unpacked(raw) if packed and not self.name.endswith(".gz") else raw


@dataclass(frozen=True, slots=True)
class DataSet:
    """A named data set."""

    name: str
    task: str
    about: str
    origin: str
    licence: str
    bytes: int
    files: tuple[File, ...]

    def file(self, name: str) -> File:
        """One of the files, by name."""
        for file in self.files:
            if file.name == name:
                return file
        known = ", ".join(file.name for file in self.files)
        raise InputError(f"data set {self.name!r} has no file {name!r}; it has {known}")


@cache
def catalogue() -> dict[str, DataSet]:
    """All data sets by name."""
    entries = tomllib.loads(files("epigram.datasets").joinpath("catalogue.toml").read_text("utf-8"))[
        "dataset"
    ]
    return {entry["name"]: _data_set(entry) for entry in entries}


def dataset(name: str) -> DataSet:
    """A data set by name.

    Examples
    --------
    >>> [file.name for file in dataset("conll2000").files]
    ['test.txt', 'train.txt']
    """
    if name not in catalogue():
        raise InputError(f"no data set {name!r}; there are {', '.join(catalogue())}")
    return catalogue()[name]


def _data_set(entry: dict[str, Any]) -> DataSet:
    return DataSet(**{**entry, "files": tuple(File(**file) for file in entry["files"])})


def _unpacked(raw: bytes) -> bytes:
    """The content of gzip bytes; what is broken or not gzip comes back as it is, and fails its checksum."""
    try:
        return gzip.decompress(raw)
    except (OSError, EOFError, zlib.error):
        return raw
