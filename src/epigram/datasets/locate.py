"""The named data sets of ``catalogue.toml``, and where they are: a folder, the cache, or a download with a checksum.

Folders are tried in order: ``EPIGRAM_DATA``, then ``data`` in the user's cache. Downloads go to the cache, whole
and right or not at all. ``EPIGRAM_DATA_URL`` names a mirror that has every file as ``SET/FILE``; else each file's
own address is used.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tomllib
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from http.client import HTTPException, IncompleteRead, RemoteDisconnected
from importlib.resources import files
from pathlib import Path
from socket import gaierror
from typing import Any, Protocol
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from epigram.datasets import sample
from epigram.errors import EpigramError, InputError
from epigram.text import GZIP_MAGIC, make_folder, user_cache, write_atomically

TIMEOUT_SECONDS = 30


class Meter(Protocol):
    """What a download tells about its progress: how long it is, and each piece that came."""

    total: int

    def update(self, n: int) -> None: ...


def folders() -> list[Path]:
    """The folders that are searched, in order."""
    explicit = os.environ.get("EPIGRAM_DATA")
    return [Path(explicit), cache_folder()] if explicit else [cache_folder()]


def cache_folder() -> Path:
    """Where downloaded data sets are kept."""
    return user_cache() / "data"


def find(name: str, file: str | None = None) -> Path | None:
    """The folder of a data set, or one of its files, if it is on this machine; None otherwise."""
    wanted = dataset(name)
    names = [entry.name for entry in wanted.files] if file is None else [wanted.file(file).name]
    for folder in folders():
        if all((folder / name / each).is_file() for each in names):
            return folder / name if file is None else folder / name / file
    return None


def fetch(name: str, file: str | None = None, meter: Callable[[str], Meter] | None = None) -> Path:
    """The folder of a data set, or one of its files, checked by checksum; downloaded where it is missing.

    ``meter``, given a file's name, returns a progress display for its download.

    Examples
    --------
    >>> sorted(path.name for path in fetch("sample").iterdir())
    ['dev.conllu', 'dev.txt', 'test.conllu', 'test.txt', 'train.conllu', 'train.txt']
    """
    wanted = dataset(name)
    entries = wanted.files if file is None else (wanted.file(file),)
    home = find(name, file)
    if home is not None and cache_folder() not in home.parents:
        for entry in entries:
            _check(entry, home if file else home / entry.name)
        return home
    folder = cache_folder() / name
    _refuse_unknown(wanted, [e for e in entries if not (folder / e.name).is_file()], folder)
    for entry in entries:
        target = folder / entry.name
        if not (target.is_file() and entry.is_right(target.read_bytes())):
            content = _generated(entry) if name == "sample" else _downloaded(wanted, entry, folder, meter)
            make_folder(target.parent)
            write_atomically(target, content)
    return folder if file is None else folder / file


def _check(entry: File, path: Path) -> None:
    try:
        right = entry.is_right(path.read_bytes())
    except OSError as error:
        raise InputError(f"cannot read: {error.strerror}", path=path) from error
    if not right:
        raise InputError(
            f"wrong checksum; expected sha256 {entry.sha256}. Replace or remove the file", path=path
        )


def _generated(entry: File) -> bytes:
    part, _, ending = entry.name.partition(".")
    return (sample.treebank if ending == "conllu" else sample.columns)(part).encode()


def _downloaded(wanted: DataSet, entry: File, folder: Path, meter: Callable[[str], Meter] | None) -> bytes:
    """The right bytes of a file, or an error; nothing touches the disk here."""
    url = _address(wanted, entry)
    raw = io.BytesIO()
    try:
        _get(url, raw, meter(entry.name) if meter else None)
    except (OSError, HTTPException) as error:  # every error of urllib is one of them
        raise EpigramError(f"cannot download {url}: {_reason(error)}. {_by_hand(wanted, folder)}") from error
    content = entry.as_stored(raw.getvalue())
    if not entry.is_right(content):
        raise EpigramError(
            f"{url} did not send {entry.name} (wrong checksum, {len(content):,} bytes): cut off or changed. "
            f"Try again. {_by_hand(wanted, folder)}"
        )
    return content


def _get(url: str, out: io.BytesIO, meter: Meter | None) -> None:
    request = Request(url, headers={"User-Agent": "epigram"})
    with urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
        length = int(answer.headers.get("Content-Length") or 0)
        if meter is not None:
            meter.total = length
        while piece := answer.read(1 << 16):
            out.write(piece)
            if meter is not None:
                meter.update(len(piece))
    if length and out.tell() < length:
        raise IncompleteRead(b"", length - out.tell())


def _address(wanted: DataSet, entry: File) -> str:
    mirror = os.environ.get("EPIGRAM_DATA_URL")
    return f"{mirror.rstrip('/')}/{wanted.name}/{entry.name}" if mirror else entry.url


def _refuse_unknown(wanted: DataSet, missing: list[File], folder: Path) -> None:
    """An error before anything is downloaded, if some file has no address."""
    homeless = [entry.name for entry in missing if not _address(wanted, entry)]
    if homeless and wanted.name != "sample":
        more = f" and {len(homeless) - 1} more" if len(homeless) > 1 else ""
        raise EpigramError(
            f"data set {wanted.name!r} is not here, and {homeless[0]}{more} has no public address. "
            + _by_hand(wanted, folder)
        )


def _by_hand(wanted: DataSet, folder: Path) -> str:
    explicit = os.environ.get("EPIGRAM_DATA")
    place = Path(explicit) / wanted.name if explicit else folder
    return (
        f"Get it from {wanted.origin} and put the files into {place}, "
        "or set EPIGRAM_DATA to a folder or EPIGRAM_DATA_URL to a mirror that has them"
    )


def _reason(error: Exception) -> str:
    """One clause for an error of urllib."""
    if isinstance(error, HTTPError):
        return f"the server answered {error.code} {error.reason}"
    cause = error.reason if isinstance(error, URLError) else error
    if isinstance(cause, TimeoutError):
        return f"no answer within {TIMEOUT_SECONDS} seconds"
    if isinstance(cause, IncompleteRead | RemoteDisconnected):
        return "the connection broke off"
    if isinstance(cause, ConnectionError | gaierror):
        return "no connection"
    return str(cause)


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
