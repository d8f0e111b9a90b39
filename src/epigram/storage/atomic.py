"""Write a file whole or not at all: to a temporary name beside the target, fsync, rename."""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path

from epigram.errors import InputError


def write_atomically(path: str | PathLike[str], content: bytes) -> None:
    """Replace ``path`` by ``content``; a reader, or a crash, sees the old file or the new one.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "a"
    >>> write_atomically(target, b"new")
    >>> target.read_bytes(), [p.name for p in target.parent.iterdir()]
    (b'new', ['a'])
    """
    target = Path(os.path.realpath(path))  # a link is followed, not replaced
    try:
        if target.exists() and not target.is_file():  # a device or a pipe cannot be renamed over
            target.write_bytes(content)
            return
        temporary = _claim(target)
        try:
            with temporary.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable(path, error) from error


def check_writable(path: str | PathLike[str]) -> None:
    """Fail now, not after an hour of training, if ``path`` cannot be written."""
    target = Path(os.path.realpath(path))
    try:
        if target.is_dir():
            raise InputError("cannot write: is a folder; give a file name", path=path)
        if target.is_file() or not target.exists():
            _claim(target).unlink()
    except OSError as error:
        raise _unwritable(path, error) from error


def _claim(target: Path) -> Path:
    """A new, empty file beside ``target``, with the permissions a new file gets."""
    temporary = target.with_name(f".epigram-{os.urandom(8).hex()}")
    temporary.touch(exist_ok=False)
    return temporary


def _unwritable(path: str | PathLike[str], error: OSError) -> InputError:
    if isinstance(error, FileNotFoundError):
        return InputError("cannot write: the folder does not exist; make it first", path=path)
    return InputError(f"cannot write: {error.strerror}", path=path)
