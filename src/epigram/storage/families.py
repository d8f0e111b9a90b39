"""Load any model file: the table of families and the modules that read them, imported on use.

A family's module offers ``from_model_file(file) -> estimator``, ``describe(file) -> list[Section]`` and
``weights(file) -> (columns, rows)``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from os import PathLike
from types import ModuleType
from typing import Any

from epigram.errors import InputError, ModelFileError
from epigram.storage.file import ModelFile, Section

FAMILIES = {
    "ime": "epigram.ime.storage",
    "tagger": "epigram.tagging.storage",
    "reranker": "epigram.rerank.storage",
    "lm": "epigram.lm.storage",
    "parser": "epigram.parsing.storage",
}


def load(path: str | PathLike[str], family: str | None = None) -> Any:
    """The fitted estimator of any model file; ``family`` demands one."""
    return _estimator(ModelFile.load(path, family), path)


def loads(content: bytes, family: str | None = None, path: str | PathLike[str] | None = None) -> Any:
    """The same from a file's content."""
    return _estimator(ModelFile.from_bytes(content, family, path), path)


def _estimator(file: ModelFile, path: str | PathLike[str] | None) -> Any:
    reader = _reader(file, path)
    with blaming(path):
        return reader.from_model_file(file)


def describe(path: str | PathLike[str]) -> tuple[ModelFile, list[Section]]:
    """A model file and what its family says about it."""
    file = ModelFile.load(path)
    reader = _reader(file, path)
    with blaming(path):
        return file, reader.describe(file)


def weights(path: str | PathLike[str]) -> tuple[tuple[str, ...], Iterator[tuple[Any, ...]]]:
    """Names of columns, and a row for every weight of a model, one at a time."""
    file = ModelFile.load(path)
    reader = _reader(file, path)
    with blaming(path):
        columns, rows = reader.weights(file)
    return columns, rows


def _reader(file: ModelFile, path: str | PathLike[str] | None) -> ModuleType:
    if file.family not in FAMILIES:
        raise ModelFileError(f"unknown family {file.family!r}; upgrade epigram to read it", path=path)
    return import_module(FAMILIES[file.family])


@contextmanager
def blaming(path: str | PathLike[str] | None) -> Iterator[None]:
    """Whatever goes wrong while a file becomes a model is one sentence that names the file."""
    try:
        yield
    except KeyError as missing:
        raise ModelFileError(f"damaged: it has no {missing}", path=path) from missing
    except ModelFileError as error:
        if error.path is not None:
            raise
        raise ModelFileError(str(error), path=path) from error
    except InputError as error:
        raise ModelFileError(f"damaged: {error}", path=path) from error
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        MemoryError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        raise ModelFileError(f"damaged: {type(error).__name__}: {error}", path=path) from error
