"""How much memory there is, and arrays that need none of it: they live in files without a name.

A folder of shards may be larger than memory, and so may a solver's vectors over its weights. What does not fit goes
to a file that is mapped: the system writes pages out and reads them back as it likes, and the file is gone with the
process, however that ends.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

UNKNOWN = 4 << 30  # what is assumed where the system does not tell


class Room:
    """Arrays in files without a name, in a folder whose disk has room for them.

    Examples
    --------
    >>> room = Room(tempfile.gettempdir())
    >>> room.keep(np.arange(3)).tolist(), room.zeros(2).tolist()
    ([0, 1, 2], [0.0, 0.0])
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        self.folder = folder

    def zeros(self, n: int, dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
        """So many zeros."""
        if not n:
            return np.zeros(0, dtype)
        with tempfile.TemporaryFile(dir=self.folder) as file:
            return np.memmap(file, dtype=dtype, mode="w+", shape=(n,)).view(np.ndarray)

    def keep(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """A copy of a vector."""
        copy = self.zeros(array.size, array.dtype)
        copy[:] = array
        return copy


def available() -> int:
    """Bytes that this process may still take: the least of what is free and of the limits that are set."""
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
    """Of the control group, as containers and ``systemd-run`` set it; pages of files can be taken back."""
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
