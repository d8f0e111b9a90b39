"""One decorator for every numba kernel: compiled for this CPU, cached between processes, GIL released.

The cache directory is keyed by a hash of all kernel sources of a family, because numba looks only at the file of
the function itself when it decides whether a cached binary is stale. So a kernel may call kernels of other files
of its family (``tagging``, ``lm``, ...), and of no other.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any


def user_cache() -> Path:
    """The folder for things that can be made again: ``EPIGRAM_CACHE``, else the platform's cache folder."""
    explicit = os.environ.get("EPIGRAM_CACHE")
    if explicit:
        return Path(explicit)
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(base) if base else Path.home() / ".cache") / "epigram"


@cache
def kernel_cache(folder: Path) -> Path:
    """Where the compiled kernels of exactly this family's sources live."""
    digest = hashlib.sha256()
    for source in sorted(folder.rglob("*kernels.py")):
        digest.update(source.name.encode())
        digest.update(source.read_bytes())
    return user_cache() / "kernels" / f"{folder.name}-{digest.hexdigest()[:16]}"


def is_cold(family: str) -> bool:
    """True until the first kernel of a family's folder (``tagging``, ``lm``, ...) is compiled on this machine."""
    return not kernel_cache(Path(__file__).parent / family).is_dir()


def _family(source: Path) -> Path:
    """The folder of the family that a source file belongs to."""
    package = Path(__file__).parent
    return package / source.relative_to(package).parts[0]


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """``njit`` with the keyed cache directory; division by zero is inf or nan, a*b+c may fuse."""
    numba: Any = import_module("numba")
    previous = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(kernel_cache(_family(Path(function.__code__.co_filename))))
    try:
        return numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})(function)  # type: ignore[no-any-return]
    finally:
        numba.config.CACHE_DIR = previous
