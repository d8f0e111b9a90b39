"""Whole files or none: write to a temporary name beside the target, fsync, rename."""

from __future__ import annotations

import os
import tempfile
from os import PathLike
from pathlib import Path

from laconic.errors import InputError


def write_atomically(path: str | PathLike[str], content: bytes) -> None:
    """Replace ``path`` by ``content``; a reader, or a crash, sees the old file or the new one.

    Examples
    --------
    >>> target = Path(tempfile.mkdtemp()) / "a"
    >>> write_atomically(target, b"new")
    >>> target.read_bytes(), [p.name for p in target.parent.iterdir()]
    (b'new', ['a'])
    """
    target = Path(path)
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise _unwritable(target, error) from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except OSError as error:
        raise _unwritable(target, error) from error
    finally:
        Path(temporary).unlink(missing_ok=True)


def check_writable(path: str | PathLike[str]) -> None:
    """Fail now, not after an hour of training, if ``path`` cannot be written."""
    target = Path(path)
    if target.is_dir():
        raise InputError("is a folder; give a file name", path=path)
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise _unwritable(target, error) from error
    os.close(handle)
    Path(temporary).unlink()


def _unwritable(target: Path, error: OSError) -> InputError:
    return InputError(f"cannot write: {error.strerror}", path=target)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
