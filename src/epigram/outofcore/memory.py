"""Estimates free memory, and keeps arrays in anonymous temporary files.

A folder of shards may be larger than memory, and so may a solver's vectors over its weights. What does not fit goes
to a file and is read when it is needed. Arrays that change are not mapped, because the system would write their pages
whenever memory is short. The file disappears with the process, however that ends.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Hashable
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram.errors import InputError, reason
from epigram.files import reserve

UNKNOWN = 4 << 30  # what is assumed where the system does not tell


class Room:
    """Arrays by name in an anonymous file of a folder, read and written whole.

    Examples
    --------
    >>> room = Room(tempfile.gettempdir())
    >>> room["x"] = np.arange(3)
    >>> room.append("x", np.array([7, 8]))
    >>> room["x"].tolist(), "y" in room
    ([0, 1, 2, 7, 8], False)
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        self.folder = folder
        self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115
        self._kinds: dict[Hashable, np.dtype[Any]] = {}
        self._runs: dict[Hashable, list[tuple[int, int]]] = {}
        self._end = 0

    def __contains__(self, name: Hashable) -> bool:
        return name in self._runs

    def __getitem__(self, name: Hashable) -> npt.NDArray[Any]:
        """A copy in memory."""
        size = sum(size for _, size in self._runs[name]) // self._kinds[name].itemsize
        array = np.empty(size, self._kinds[name])
        to, at = _bytes_of(array), 0
        for start, size in self._runs[name]:
            self._file.seek(start)
            end = at + size
            while at < end:
                if not (read := self._file.readinto(to[at:end])):
                    raise InputError("a file of the shards was cut while in use", path=self.folder)
                at += read
        return array

    def spare(self, name: Hashable, size: int) -> npt.NDArray[np.float64]:
        """See :class:`epigram.solvers.proximal.Vectors`."""
        return np.empty(size)

    def __setitem__(self, name: Hashable, array: npt.NDArray[Any]) -> None:
        """Keep a vector, in the place of what had this name."""
        runs = self._runs.get(name, [])
        start = self._end
        if len(runs) == 1 and runs[0][1] == array.nbytes:
            start = runs[0][0]
        self._runs[name], self._kinds[name] = [self._written(array, start)], array.dtype

    def append(self, name: Hashable, array: npt.NDArray[Any]) -> None:
        """Keep a vector behind what has this name, and the same kind of numbers."""
        self._kinds.setdefault(name, array.dtype)
        self._runs.setdefault(name, []).append(
            self._written(array.astype(self._kinds[name], copy=False), self._end)
        )

    def _written(self, array: npt.NDArray[Any], start: int) -> tuple[int, int]:
        content = _bytes_of(np.ascontiguousarray(array))
        try:
            self._file.seek(start)
            while content:
                content = content[self._file.write(content) or 0 :]
        except OSError as error:
            raise InputError(f"cannot write: {reason(error)}", path=self.folder) from error
        self._end = max(self._end, start + array.nbytes)
        return start, array.nbytes


def _bytes_of(array: npt.NDArray[Any]) -> memoryview:
    return memoryview(array.view(np.uint8).data) if array.size else memoryview(b"")


def mapped(array: npt.NDArray[Any], folder: str | PathLike[str]) -> npt.NDArray[Any]:
    """Copy a read-only vector to pages of an anonymous file, which the system may drop.

    Examples
    --------
    >>> mapped(np.arange(3), tempfile.gettempdir()).tolist()
    [0, 1, 2]
    """
    if not array.size:
        return array
    with tempfile.TemporaryFile(dir=folder) as file:
        reserve(file.fileno(), array.nbytes, folder)
        copy = np.memmap(file, dtype=array.dtype, mode="w+", shape=array.shape).view(np.ndarray)
    copy[:] = array
    return copy


def available() -> int:
    """Bytes that this process may still allocate: free memory, or less by set limits."""
    found = [value for value in (_free(), _of_limits(), _of_group()) if value is not None]
    return max(min(found, default=UNKNOWN), 0)


def _free() -> int | None:
    """Of the machine."""
    with suppress(OSError, KeyError, ValueError):
        return _fields("/proc/meminfo")["MemAvailable"]
    with suppress(OSError, ValueError, AttributeError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    return None


def _of_limits() -> int | None:
    """Of ``ulimit -d`` and ``ulimit -v``."""
    with suppress(ImportError, OSError, KeyError, ValueError):
        import resource

        used = _fields("/proc/self/status")
        pairs = ((resource.RLIMIT_DATA, "VmData"), (resource.RLIMIT_AS, "VmSize"))
        limits = [(resource.getrlimit(kind)[0], used[name]) for kind, name in pairs]
        left = [limit - taken for limit, taken in limits if limit != resource.RLIM_INFINITY]
        return min(left, default=None)
    return None


def _of_group() -> int | None:
    """Bytes left in the control group; pages of files count as free."""
    left = []
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, kinds, path = line.split(":", 2)
            if kinds not in ("", "memory"):
                continue
            base, names = (
                ("/sys/fs/cgroup/memory", ("memory.limit_in_bytes", "rss"))
                if kinds
                else ("/sys/fs/cgroup", ("memory.max", "anon"))
            )
            for folder in (Path(base + path), Path(base)):
                with suppress(OSError, ValueError, KeyError):
                    limit = int((folder / names[0]).read_text())
                    taken = (folder / "memory.stat").read_text().split()
                    left.append(limit - int(taken[taken.index(names[1]) + 1]))
                    break
    return min(left, default=None)


def _fields(path: str) -> dict[str, int]:
    """Of a file of the system with lines ``name: number kB``: bytes by name."""
    rows = (line.split() for line in Path(path).read_text().splitlines())
    return {row[0].rstrip(":"): int(row[1]) << 10 for row in rows if row[-1] == "kB"}
