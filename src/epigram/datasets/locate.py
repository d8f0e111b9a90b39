"""Where data sets are: a local folder, the user's cache, else a download checked by its sha256.

Folders are tried in order: ``EPIGRAM_DATA``, then ``data`` in the user's cache. Downloads go to the cache, whole
and right or not at all. ``EPIGRAM_DATA_URL`` names a mirror that has every file as ``SET/FILE``; else each file's
own address is used.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from epigram.datasets import sample
from epigram.datasets.entries import DataSet, File, dataset
from epigram.errors import EpigramError, InputError
from epigram.jit import user_cache
from epigram.storage.atomic import write_atomically

TIMEOUT_SECONDS = 30


class Meter(Protocol):
    """What a download tells about its progress (the interface of a tqdm bar)."""

    total: int

    def update(self, n: int) -> None: ...
    def reset(self) -> None: ...
    def close(self) -> None: ...


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
    ['dev.txt', 'test.txt', 'train.txt']
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
            _make_folder(target.parent)
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
    return sample.columns(entry.name.removesuffix(".txt")).encode()


def _downloaded(wanted: DataSet, entry: File, folder: Path, meter: Callable[[str], Meter] | None) -> bytes:
    """The right bytes of a file, or an error; nothing touches the disk here."""
    url = _address(wanted, entry)
    raw = io.BytesIO()
    try:
        _get(url, raw, meter(entry.name) if meter else None)
    except OSError as error:  # every error of requests is one
        raise EpigramError(f"cannot download {url}: {_reason(error)}. {_by_hand(wanted, folder)}") from error
    content = entry.as_stored(raw.getvalue())
    if not entry.is_right(content):
        raise EpigramError(
            f"{url} did not send {entry.name} (wrong checksum, {len(content):,} bytes): cut off or changed. "
            f"Try again. {_by_hand(wanted, folder)}"
        )
    return content


def _get(url: str, out: io.BytesIO, meter: Meter | None) -> None:
    import pooch

    pooch.HTTPDownloader(progressbar=meter, chunk_size=1 << 16, timeout=TIMEOUT_SECONDS)(url, out, None)


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


def _reason(error: OSError) -> str:
    """One clause for an error of requests."""
    import requests

    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"the server answered {error.response.status_code} {error.response.reason}"
    if isinstance(error, requests.Timeout):
        return f"no answer within {TIMEOUT_SECONDS} seconds"
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return "the connection broke off"
    if isinstance(error, requests.ConnectionError):
        return "no connection"
    return str(error)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder: {error.strerror}", path=folder) from error
