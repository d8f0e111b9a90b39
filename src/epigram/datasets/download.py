"""Finds or downloads the data sets of ``catalogue.toml`` and checks their checksums.

Folders are searched in order: ``EPIGRAM_DATA``, then ``data`` in the user's cache. A download is written to the cache
only if its checksum is right. ``EPIGRAM_DATA_URL`` names a mirror that has every file as ``SET/FILE``; without it the
address of each file in the catalogue is used. ``ud:LANGUAGE-TREEBANK`` names a treebank of Universal Dependencies,
whose repository lists its files.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import re
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
from epigram.errors import EpigramError, InputError, reason
from epigram.files import GZIP_MAGIC, make_folder, user_cache, write_atomically

TIMEOUT_SECONDS = 30


class Meter(Protocol):
    """Progress display of a download: its total length, and the bytes received."""

    total: int

    def update(self, n: int) -> None: ...


def folders() -> list[Path]:
    """Folders that are searched for data sets, in order."""
    explicit = os.environ.get("EPIGRAM_DATA")
    return [Path(explicit), cache_folder()] if explicit else [cache_folder()]


def cache_folder() -> Path:
    """Folder of downloaded data sets."""
    return user_cache() / "data"


def find(name: str, file: str | None = None) -> Path | None:
    """Path of a data set, or of one of its files, on this machine; None if it is missing."""
    wanted = stored_treebank(name) if is_treebank(name) else dataset(name)
    if wanted is None:
        return None
    names = [entry.name for entry in wanted.files] if file is None else [wanted.file(file).name]
    for folder in folders():
        home = folder / wanted.folder
        if all((home / each).is_file() for each in names):
            return home if file is None else home / file
    return None


def fetch(name: str, file: str | None = None, meter: Callable[[str], Meter] | None = None) -> Path:
    """Path of a data set, or of one of its files; downloads it if it is missing.

    ``meter``, given a file's name, returns a progress display for its download.

    Examples
    --------
    >>> sorted(path.name for path in fetch("sample").iterdir())
    ['background.readings', 'dev.conllu', 'dev.jsonl', 'dev.text', 'dev.txt', 'domain.readings', 'test.conllu', \
'test.jsonl', 'test.text', 'test.txt', 'train.conllu', 'train.jsonl', 'train.text', 'train.txt']
    """
    wanted = dataset(name)
    entries = wanted.files if file is None else (wanted.file(file),)
    home = find(name, file)
    if home is not None and cache_folder() not in home.parents:
        for entry in entries:
            _check(entry, home if file else home / entry.name)
        return home
    folder = cache_folder() / wanted.folder
    _refuse_unknown(wanted, [e for e in entries if not (folder / e.name).is_file()], folder)
    if is_treebank(name):
        make_folder(folder)
        write_atomically(folder / LISTING, to_listing(wanted))
    for entry in entries:
        target = folder / entry.name
        if not (target.is_file() and entry.is_right(target.read_bytes())):
            content = (
                sample.content(entry.name).encode()
                if name == "sample"
                else _downloaded(wanted, entry, folder, meter)
            )
            make_folder(target.parent)
            write_atomically(target, content)
    return folder if file is None else folder / file


def _check(entry: File, path: Path) -> None:
    try:
        right = entry.is_right(path.read_bytes())
    except OSError as error:
        raise InputError(f"cannot read: {reason(error)}", path=path) from error
    if not right:
        expected = f"sha256 {entry.sha256}" if entry.sha256 else f"git blob {entry.blob}"
        raise InputError(f"wrong checksum; expected {expected}. Replace or remove the file", path=path)


def _downloaded(wanted: DataSet, entry: File, folder: Path, meter: Callable[[str], Meter] | None) -> bytes:
    """Download a file into memory and check it."""
    url = _address(wanted, entry)
    try:
        raw = _get(url, meter(entry.name) if meter else None)
    except (OSError, HTTPException) as error:  # every error of urllib is one of them
        raise EpigramError(f"cannot download {url}: {_reason(error)}. {_by_hand(wanted, folder)}") from error
    content = entry.as_stored(raw)
    if not entry.is_right(content):
        raise EpigramError(
            f"{url} did not send {entry.name} (wrong checksum, {len(content):,} bytes): truncated or changed. "
            f"Try again. {_by_hand(wanted, folder)}"
        )
    return content


def _get(url: str, meter: Meter | None = None) -> bytes:
    out = io.BytesIO()
    request = Request(url, headers={"User-Agent": "epigram"})
    with urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
        length = int(answer.headers.get("Content-Length") or 0)
        if meter is not None:
            meter.total = length
        while chunk := answer.read(1 << 16):
            out.write(chunk)
            if meter is not None:
                meter.update(len(chunk))
    if length and out.tell() < length:
        raise IncompleteRead(b"", length - out.tell())
    return out.getvalue()


def _address(wanted: DataSet, entry: File) -> str:
    mirror = os.environ.get("EPIGRAM_DATA_URL")
    if mirror and not is_treebank(wanted.name):
        return f"{mirror.rstrip('/')}/{wanted.name}/{entry.name}"
    return entry.url


def _refuse_unknown(wanted: DataSet, missing: list[File], folder: Path) -> None:
    """Raise an error before the first download if a file has no address."""
    homeless = [entry.name for entry in missing if not _address(wanted, entry)]
    if homeless and wanted.name != "sample":
        more = f" and {len(homeless) - 1} more" if len(homeless) > 1 else ""
        raise EpigramError(
            f"data set {wanted.name!r} is not here, and {homeless[0]}{more} has no public address. "
            + _by_hand(wanted, folder)
        )


def _by_hand(wanted: DataSet, folder: Path) -> str:
    explicit = os.environ.get("EPIGRAM_DATA")
    place = Path(explicit) / wanted.folder if explicit else folder
    mirror = "" if is_treebank(wanted.name) else " or EPIGRAM_DATA_URL to a mirror"
    return (
        f"Get it from {wanted.origin} and put the files into {place}, "
        f"or set EPIGRAM_DATA to a folder{mirror} that has them"
    )


def _reason(error: Exception) -> str:
    """Describe an error of urllib in one clause."""
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
    """File of a data set; ``content`` is the sha256 of the decompressed content of a gzip file.

    ``blob`` is git's name of the content: a SHA-1 of its length and its bytes.
    """

    name: str
    sha256: str = ""
    content: str = ""
    url: str = ""
    blob: str = ""

    def is_right(self, raw: bytes) -> bool:
        """Compare bytes with the checksum; a file without one is right."""
        if not self.sha256:
            made = hashlib.sha1(b"blob %d\0" % len(raw) + raw, usedforsecurity=False)
            return not self.blob or made.hexdigest() == self.blob
        if hashlib.sha256(raw).hexdigest() == self.sha256:
            return True
        return bool(self.content) and hashlib.sha256(_unpacked(raw)).hexdigest() == self.content

    def as_stored(self, raw: bytes) -> bytes:
        """Compress or decompress received bytes as the ending of the file name requires."""
        packed = raw[:2] == GZIP_MAGIC
        if self.name.endswith(".gz") and not packed:
            return gzip.compress(raw, mtime=0)
        return _unpacked(raw) if packed and not self.name.endswith(".gz") else raw


@dataclass(frozen=True, slots=True)
class DataSet:
    """Data set of the catalogue."""

    name: str
    task: str
    about: str
    origin: str
    licence: str
    bytes: int
    files: tuple[File, ...]

    @property
    def folder(self) -> str:
        """Name of the folder that holds the files."""
        return self.name.replace(TREEBANK, REPOSITORY)

    def file(self, name: str) -> File:
        """File with a name."""
        for file in self.files:
            if file.name == name:
                return file
        known = ", ".join(file.name for file in self.files)
        raise InputError(f"data set {self.name!r} has no file {name!r}; it has {known}")


TREEBANK, REPOSITORY = "ud:", "UD_"
_TREEBANK_NAME = re.compile(r"ud:[A-Z]\w*-\w+", re.ASCII)
LISTING = "listing.json"
UNIVERSAL_DEPENDENCIES = "https://api.github.com/repos/UniversalDependencies"
"""Address that lists the files of a treebank's repository."""


def is_treebank(name: str) -> bool:
    """Return whether a name is that of a treebank of Universal Dependencies."""
    return name.startswith(TREEBANK)


def stored_treebank(name: str) -> DataSet | None:
    """Treebank whose files, or whose list of files, are on this machine.

    A folder ``UD_LANGUAGE-TREEBANK`` without a list, as in a release of Universal Dependencies, counts only in
    ``EPIGRAM_DATA``: in the cache it may be incomplete.
    """
    if not _TREEBANK_NAME.fullmatch(name):
        raise InputError(
            f"no treebank {name!r}: write ud:LANGUAGE-TREEBANK as in the names of its repository, such as "
            "ud:Turkish-IMST or ud:Old_French-PROFITEROLE; https://universaldependencies.org lists them"
        )
    for folder in folders():
        home = folder / name.replace(TREEBANK, REPOSITORY)
        listing, found = home / LISTING, sorted(home.glob("*.conllu*"))
        size = sum(path.stat().st_size for path in found)
        if listing.is_file():
            return from_listing(name, listing.read_bytes(), str(listing), size)
        if found and folder != cache_folder():
            return _treebank(name, tuple(File(path.name) for path in found), size)
    return None


def listed_treebank(name: str) -> DataSet:
    """Treebank as its public repository lists it."""
    repository = name.replace(TREEBANK, REPOSITORY)
    url = f"{UNIVERSAL_DEPENDENCIES}/{repository}/contents?ref=master"
    nothing = _treebank(name, (), 0)
    try:
        return from_listing(name, _get(url), url)
    except HTTPError as error:
        if error.code == 404:
            raise InputError(
                f"there is no treebank {repository}; https://universaldependencies.org lists all of them"
            ) from error
        failed: Exception = error
    except (OSError, HTTPException) as error:
        failed = error
    by_hand = _by_hand(nothing, cache_folder() / repository)
    raise EpigramError(f"cannot list {url}: {_reason(failed)}. {by_hand}") from failed


def from_listing(name: str, raw: bytes, path: str, size: int = 0) -> DataSet:
    """Read a list of files with git's checksums, in the form of GitHub's interface."""
    try:
        entries = [
            entry
            for entry in json.loads(raw)
            if entry["name"].endswith(".conllu") or entry["name"] in ("LICENSE.txt", "README.md")
        ]
        files = tuple(File(e["name"], url=e["download_url"], blob=e["sha"]) for e in entries)
        size = size or sum(int(entry.get("size", 0)) for entry in entries)
        plain = all(re.fullmatch(r"[\w.-]+", f.name) and f.url.startswith(("https:", "http:")) for f in files)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError("is no list of the files of a treebank", path=path) from error
    if not plain or not any(file.name.endswith(".conllu") for file in files):
        raise InputError("lists no CoNLL-U files of a treebank", path=path)
    return _treebank(name, files, size)


def to_listing(wanted: DataSet) -> bytes:
    """Return the list of a treebank's files that :func:`from_listing` reads."""
    rows = [{"name": f.name, "download_url": f.url, "sha": f.blob} for f in wanted.files]
    return json.dumps(rows, indent=1).encode()


def _treebank(name: str, files: tuple[File, ...], size: int) -> DataSet:
    repository = name.replace(TREEBANK, REPOSITORY)
    origin = f"https://github.com/UniversalDependencies/{repository}"
    licence = "see LICENSE.txt and README.md of the treebank"
    return DataSet(name, "parsing", "treebank of Universal Dependencies", origin, licence, size, files)


@cache
def catalogue() -> dict[str, DataSet]:
    """All data sets by name."""
    entries = tomllib.loads(files("epigram.datasets").joinpath("catalogue.toml").read_text("utf-8"))[
        "dataset"
    ]
    return {entry["name"]: _data_set(entry) for entry in entries}


def dataset(name: str) -> DataSet:
    """Data set with a name.

    Examples
    --------
    >>> [file.name for file in dataset("conll2000").files]
    ['test.txt', 'train.txt']
    """
    if is_treebank(name):
        return stored_treebank(name) or listed_treebank(name)
    if name not in catalogue():
        raise InputError(
            f"no data set {name!r}; there are {', '.join(catalogue())}, and treebanks such as ud:Turkish-IMST"
        )
    return catalogue()[name]


def _data_set(entry: dict[str, Any]) -> DataSet:
    return DataSet(**{**entry, "files": tuple(File(**file) for file in entry["files"])})


def _unpacked(raw: bytes) -> bytes:
    """Decompress gzip bytes; returns other bytes unchanged, which then fail their checksum."""
    try:
        return gzip.decompress(raw)
    except (OSError, EOFError, zlib.error):
        return raw
