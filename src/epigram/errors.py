"""Exception classes, and the argument checks that raise them.

The command line turns them into one line and exit code 2; a :class:`DivergenceError` into exit code 1, because the
input and the options were well formed and the result was not reached.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from operator import index
from os import PathLike
from typing import Any, NoReturn


class EpigramError(Exception):
    """Base class of the errors that epigram raises."""


class InputError(EpigramError, ValueError):
    """Bad input; where it has a place, ``path`` and ``line`` (counted from 1) name it.

    Examples
    --------
    >>> str(InputError("expected 3 columns, found 2", path="train.txt", line=7))
    'train.txt:7: expected 3 columns, found 2'
    """

    def __init__(
        self, message: str, *, path: str | PathLike[str] | None = None, line: int | None = None
    ) -> None:
        self.path = None if path is None else str(path)
        self.line = line
        place = ":".join(str(part) for part in (self.path, line) if part is not None)
        super().__init__(f"{place}: {message}" if place else message)


class DivergenceError(EpigramError):
    """Training that left the finite numbers; see :func:`epigram.protocols.check_finite`."""


class DataWarning(EpigramError, UserWarning):
    """Warning of input that is well formed and probably not what the user meant.

    Issue it with :func:`warnings.warn`. The command line prints it on standard error, ``--quiet`` drops it and
    ``--strict`` makes it an error.
    """


class WrongInputWarning(DataWarning):
    """Warning of input that is most likely of another format than the one expected.

    The command line makes it an error, unless ``--quiet`` is given: a wrong input has no answer.
    """


class ModelFileError(InputError):
    """A model file that cannot be read: truncated, foreign, newer, or of another family."""


def reason(error: OSError) -> str:
    """Return why the system refused; errors that numpy raises have no ``strerror``.

    Examples
    --------
    >>> reason(OSError(28, "No space left on device")), reason(OSError("10 requested and 3 written"))
    ('No space left on device', '10 requested and 3 written')
    """
    return error.strerror or str(error) or type(error).__name__


@contextmanager
def os_errors_as(what: str, path: str | PathLike[str], advice: str = "") -> Iterator[None]:
    """Turn an OSError into an InputError that says what failed and names the file."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{what}: {reason(error)}{advice}", path=path) from error


def install(extra: str) -> str:
    """Return the command that installs an optional dependency from a checkout of the repository.

    Examples
    --------
    >>> install("plot")
    "pip install '.[plot]' in a checkout of epigram"
    """
    return f"pip install '.[{extra}]' in a checkout of epigram"


def misfit(solver: object, needs: str, given: object, instead: str) -> NoReturn:
    """Raise the TypeError of a loss, penalty and solver that do not fit together."""
    raise TypeError(
        f"{type(solver).__name__} needs {needs}; {type(given).__name__} is not that. Use {instead}."
    )


def each(things: Any, name: str, of: str) -> Iterator[Any]:
    """Iterate over an argument; refuse strings and what cannot be iterated over.

    Examples
    --------
    >>> next(each(3, "X", "sentences"))
    Traceback (most recent call last):
        ...
    epigram.errors.InputError: X must be an iterable of sentences, not 3
    """
    if isinstance(things, str | bytes):
        shown = repr(things) if len(things) <= 40 else f"{things[:40]!r}..."
        raise InputError(f"{name} is the string {shown}; give a list of {of}: split the string first")
    try:
        return iter(things)
    except TypeError:
        raise InputError(f"{name} must be an iterable of {of}, not {things!r}") from None


def at_least(least: int, number: Any, name: str) -> int:
    """Return a whole number of at least ``least``, or raise an error that names the argument.

    Examples
    --------
    >>> at_least(1, "two", "threads")
    Traceback (most recent call last):
        ...
    epigram.errors.InputError: threads must be a whole number >= 1, not 'two'
    """
    try:
        if index(number) >= least:
            return index(number)
    except TypeError:
        pass
    raise InputError(f"{name} must be a whole number >= {least}, not {number!r}")
