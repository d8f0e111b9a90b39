"""A folder of shards: named arrays in ``.npy`` files, mapped read-only, and a manifest.

The manifest is written last. It has the digest, type and shape of every array, so that a corrupt, missing or foreign
file is an error and not a wrong model. Functions that write an array return its record, functions that open it take
the record.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
import numpy.typing as npt

import epigram
from epigram.errors import InputError, os_errors_as
from epigram.files import decode, parse_json, reserve, write_atomically

FORMAT = 2
NAME = "manifest.json"
UNFINISHED = "unfinished"
BLOCK = 1 << 22
AGAIN = "; make the shards again"
ONE_AT_A_TIME = threading.Lock()
"""numpy parses a header as Python source, which fails in several threads of Python 3.11 (SystemError)."""
Record = dict[str, dict[str, Any]]
"""Of each array: ``dtype``, ``shape`` and ``digest``."""


@dataclass(frozen=True)
class Manifest:
    """Manifest of a finished folder: kind, records of its arrays, header of the family.

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
        """Number of shards, which does not depend on the machines."""
        return len(self.shards)

    def shard(self, k: int) -> dict[str, npt.NDArray[Any]]:
        """The arrays of a shard, mapped read-only and checked."""
        return map_arrays(shard_path(self.folder, k), self.shards[k])

    def shared(self, *names: str) -> list[npt.NDArray[Any]]:
        """Arrays that belong to all shards, mapped read-only and checked."""
        found = map_arrays(self.folder / "common", {name: self.common[name] for name in names})
        return [found[name] for name in names]

    def write(self) -> None:
        """Write the manifest: the folder is finished."""
        content = {
            "kind": self.kind,
            "format": FORMAT,
            "epigram": epigram.__version__,
            "shards": self.shards,
            "common": self.common,
            **self.header,
        }
        sealed = {**content, "seal": _seal(content)}
        write_atomically(self.folder / NAME, json.dumps(sealed, ensure_ascii=False, indent=1).encode())

    @classmethod
    def read(cls, folder: str | PathLike[str], kind: str) -> Manifest:
        """Open a finished folder."""
        folder = Path(folder)
        with os_errors_as(f"no folder of shards: cannot read its {NAME}", folder, AGAIN):
            try:
                content = _read_manifest(folder)
                if content.pop("seal", None) != _seal(content):
                    raise ValueError
                found, version = content.pop("kind"), content.pop("format")
                shards, common = content.pop("shards"), content.pop("common")
                if not all(map(_is_record, [*shards, common])):
                    raise ValueError
            except (ValueError, KeyError, TypeError, AttributeError):
                raise InputError(f"corrupt {NAME}{AGAIN}", path=folder) from None
        if version != FORMAT or found != kind:
            raise InputError(
                f"shards of kind {found!r}, format {version}, where {kind!r}, format {FORMAT}, is needed{AGAIN}",
                path=folder,
            )
        return cls(folder, kind, shards, content, common)


def begin(folder: str | PathLike[str]) -> Path:
    """Make an empty folder for shards, with a manifest that marks it as ours.

    A folder with our manifest and nothing else than shards is cleared, any other folder with content refused.
    """
    folder = Path(folder)
    with os_errors_as("cannot write", folder):
        folder.mkdir(parents=True, exist_ok=True)
        ours = {"common", "shards", "parts"} if _is_ours(folder) else set()
        others = sorted({entry.name for entry in folder.iterdir()} - ours - ({NAME} if ours else set()))
        if others := [name for name in others if not name.startswith(".epigram-")]:
            said = f"not a folder of shards: it holds {others[0]!r}; name another, or empty it first"
            raise InputError(said, path=folder)
        Manifest(folder, UNFINISHED, [], {}).write()
        for name in ours:
            shutil.rmtree(folder / name, ignore_errors=True)
    return folder


def is_finished(folder: Path) -> bool:
    """Whether a folder has a manifest of ours, and not that of a run that was stopped."""
    return _is_ours(folder) and _read_manifest(folder)["kind"] != UNFINISHED


def _is_ours(folder: Path) -> bool:
    """Whether a folder has a manifest that :meth:`Manifest.write` wrote."""
    try:
        return {"kind", "format", "epigram", "shards", "common"} <= set(_read_manifest(folder))
    except (OSError, ValueError, TypeError):
        return False


def _read_manifest(folder: Path) -> Any:
    return parse_json(decode((folder / NAME).read_bytes(), folder / NAME))


def _seal(content: dict[str, Any]) -> str:
    """The digest of a manifest's content."""
    canonical = json.dumps(content, sort_keys=True).encode()
    return hashlib.blake2b(canonical, digest_size=16).hexdigest()


def _is_record(record: Any) -> bool:
    """Whether a value of a manifest describes arrays, by names that stay inside the folder."""
    return isinstance(record, dict) and all(
        name.isidentifier() and isinstance(known, dict) and {"dtype", "shape", "digest"} <= set(known)
        for name, known in record.items()
    )


def shard_path(folder: Path, k: int) -> Path:
    """Folder of the arrays of shard k."""
    return folder / "shards" / f"{k:05d}"


def write_arrays(folder: Path, arrays: dict[str, npt.NDArray[Any]]) -> Record:
    """Write named arrays; returns their record."""
    with os_errors_as("cannot write", folder):
        folder.mkdir(parents=True, exist_ok=True)
    for name, array in arrays.items():
        write_array(folder / f"{name}.npy", array)
    return record_of(folder, tuple(arrays))


def write_array(path: Path, array: npt.NDArray[Any]) -> None:
    """Write an ``.npy`` file; unlike :func:`numpy.save` this reports a full disk as such."""
    array = np.ascontiguousarray(array)
    with os_errors_as("cannot write", path), path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
        file.write(array.data)


def create_array(path: Path, dtype: npt.DTypeLike, size: int) -> np.memmap[Any, Any]:
    """Return a new ``.npy`` file of ``size`` numbers, mapped to be written."""
    with os_errors_as("cannot write", path):
        array: np.memmap[Any, Any] = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=(size,))
        with path.open("r+b") as file:
            reserve(file.fileno(), path.stat().st_size, path)
    return array


def record_of(folder: Path, names: tuple[str, ...]) -> Record:
    """The record of arrays that are already written."""
    record: Record = {}
    for name in names:
        array = map_array(folder / f"{name}.npy")
        digest = _digest(folder / f"{name}.npy")
        record[name] = {"dtype": array.dtype.str, "shape": list(array.shape), "digest": digest}
    return record


def map_arrays(folder: Path, record: Record, checked: bool = False) -> dict[str, npt.NDArray[Any]]:
    """Map the arrays of a record read-only; compare digests unless they were ``checked``."""
    arrays = {}
    for name, known in record.items():
        path = folder / f"{name}.npy"
        if not checked and _digest(path) != known["digest"]:
            raise InputError(f"corrupt: its digest is not that of the manifest{AGAIN}", path=path)
        array = map_array(path)
        if array.dtype.str != known["dtype"] or list(array.shape) != known["shape"]:
            raise InputError(f"does not belong to this folder of shards{AGAIN}", path=path)
        arrays[name] = array
    return arrays


def map_array(path: Path) -> npt.NDArray[Any]:
    """One array, mapped read-only."""
    with os_errors_as("a file of the shards cannot be read", path, AGAIN):
        try:
            with ONE_AT_A_TIME:
                try:
                    array: npt.NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
                    return array.view(np.ndarray)
                except ValueError:  # nothing to map in an empty array
                    array = np.load(path, allow_pickle=False)
        except (ValueError, EOFError, SyntaxError, TokenError, MemoryError, TypeError) as error:
            raise InputError(f"a file of the shards is corrupt ({error}){AGAIN}", path=path) from None
    if array.size:
        raise InputError(f"a file of the shards is corrupt (cannot be mapped){AGAIN}", path=path)
    return array


def _digest(path: Path) -> str:
    digest = hashlib.blake2b(digest_size=16)
    with os_errors_as("a file of the shards cannot be read", path), path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()
