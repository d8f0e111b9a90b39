"""A folder of encoded shards: named arrays in ``.npy`` files, mapped read-only, and a manifest that is written last.

The manifest has the digest, kind and shape of every array, so that a file which is damaged, missing or of another
folder is one sentence and not a wrong model. Whoever writes an array returns its record; whoever opens it gives the
record back.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import epigram
from epigram.errors import InputError
from epigram.text import write_atomically

FORMAT = 1
NAME = "manifest.json"
BLOCK = 1 << 22
ONE_AT_A_TIME = threading.Lock()
"""numpy parses a header as Python source, which fails in several threads of Python 3.11 (SystemError)."""
Record = dict[str, dict[str, Any]]
"""Of each array: ``dtype``, ``shape`` and ``digest``."""


@dataclass(frozen=True)
class Manifest:
    """What a finished folder says about itself: its kind, the records of its arrays, and what the family adds.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> record = write_arrays(shard_path(folder, 0), {"ids": np.arange(3)})
    >>> Manifest(folder, "toy", [record], {"words": 3}).write()
    >>> again = Manifest.read(folder, "toy")
    >>> again.n_shards, again.header["words"], again.shard(0)["ids"].tolist()
    (1, 3, [0, 1, 2])
    """

    folder: Path
    kind: str
    shards: list[Record] = field(repr=False)
    header: dict[str, Any] = field(repr=False)
    common: Record = field(default_factory=dict, repr=False)

    @property
    def n_shards(self) -> int:
        """How many shards the corpus has: a fact of the data, whatever machines work on it."""
        return len(self.shards)

    def shard(self, k: int) -> dict[str, npt.NDArray[Any]]:
        """The arrays of a shard, mapped read-only and checked."""
        return map_arrays(shard_path(self.folder, k), self.shards[k])

    def shared(self, *names: str) -> list[npt.NDArray[Any]]:
        """Arrays that belong to all shards, mapped read-only and checked."""
        found = map_arrays(self.folder / "common", {name: self.common[name] for name in names})
        return [found[name] for name in names]

    def write(self) -> None:
        """Declare the folder finished."""
        content = {
            "kind": self.kind,
            "format": FORMAT,
            "epigram": epigram.__version__,
            "shards": self.shards,
            "common": self.common,
            **self.header,
        }
        write_atomically(self.folder / NAME, json.dumps(content, ensure_ascii=False, indent=1).encode())

    @classmethod
    def read(cls, folder: str | PathLike[str], kind: str) -> Manifest:
        """Open a finished folder."""
        folder = Path(folder)
        try:
            content = json.loads((folder / NAME).read_bytes())
            found, version = content.pop("kind"), content.pop("format")
            shards, common = content.pop("shards"), content.pop("common")
        except OSError as error:
            raise InputError(
                f"no folder of shards: cannot read its {NAME}: {error.strerror}; make the shards again",
                path=folder,
            ) from None
        except (ValueError, KeyError, AttributeError) as error:
            raise InputError(
                f"damaged {NAME} ({type(error).__name__}); make the shards again", path=folder
            ) from None
        if version != FORMAT or found != kind:
            raise InputError(
                f"shards of kind {found!r}, format {version}, where {kind!r}, format {FORMAT}, is needed; "
                "make the shards again",
                path=folder,
            )
        return cls(folder, kind, shards, content, common)


def begin(folder: str | PathLike[str]) -> Path:
    """An empty folder to write shards to; one that held shards is cleared, any other folder with content refused."""
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        ours = {NAME, "common", "shards", "parts"}
        others = [entry.name for entry in folder.iterdir() if entry.name not in ours]
        if others:
            raise InputError(f"not a folder of shards: it holds {others[0]!r}; name another", path=folder)
        (folder / NAME).unlink(missing_ok=True)
        for name in ours - {NAME}:
            shutil.rmtree(folder / name, ignore_errors=True)
    except OSError as error:
        raise InputError(f"cannot write: {error.strerror}", path=folder) from error
    return folder


def shard_path(folder: Path, k: int) -> Path:
    """Where the arrays of shard k are."""
    return folder / "shards" / f"{k:05d}"


def write_arrays(folder: Path, arrays: dict[str, npt.NDArray[Any]]) -> Record:
    """Write named arrays; returns their record."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", np.ascontiguousarray(array))
    return record_of(folder, tuple(arrays))


def record_of(folder: Path, names: tuple[str, ...]) -> Record:
    """The record of arrays that are already written."""
    record: Record = {}
    for name in names:
        array = map_array(folder / f"{name}.npy")
        digest = _digest(folder / f"{name}.npy")
        record[name] = {"dtype": array.dtype.str, "shape": list(array.shape), "digest": digest}
    return record


def map_arrays(folder: Path, record: Record, checked: bool = False) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a record, mapped read-only; each is compared with its digest, unless that is ``checked``."""
    arrays = {}
    for name, known in record.items():
        path = folder / f"{name}.npy"
        array = map_array(path)
        if array.dtype.str != known["dtype"] or list(array.shape) != known["shape"]:
            raise InputError("does not belong to this folder of shards; make the shards again", path=path)
        if not checked and _digest(path) != known["digest"]:
            raise InputError(
                "damaged: its digest is not that of the manifest; make the shards again", path=path
            )
        arrays[name] = array
    return arrays


def map_array(path: Path) -> npt.NDArray[Any]:
    """One array, mapped read-only."""
    try:
        with ONE_AT_A_TIME:
            try:
                array: npt.NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
                return array.view(np.ndarray)
            except ValueError:  # nothing to map in an empty array
                array = np.load(path, allow_pickle=False)
    except OSError as error:
        raise InputError(
            f"a file of the shards cannot be read: {error.strerror or error}; make the shards again",
            path=path,
        ) from None
    except (ValueError, EOFError) as error:
        raise InputError(
            f"a file of the shards is damaged ({error}); make the shards again", path=path
        ) from None
    if array.size:
        raise InputError(
            "a file of the shards is damaged (cannot be mapped); make the shards again", path=path
        )
    return array


def _digest(path: Path) -> str:
    digest = hashlib.blake2b(digest_size=16)
    try:
        with path.open("rb") as file:
            while block := file.read(BLOCK):
                digest.update(block)
    except OSError as error:
        raise InputError(f"a file of the shards cannot be read: {error.strerror}", path=path) from None
    return digest.hexdigest()
