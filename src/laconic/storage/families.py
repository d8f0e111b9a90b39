"""From a model file's family name to the module that reads it. The one table; modules load on use.

A family's module offers ``from_model_file(file) -> estimator`` and ``describe(file) -> list[Section]``.
"""

from __future__ import annotations

from importlib import import_module
from os import PathLike
from types import ModuleType
from typing import Any

from laconic.errors import ModelFileError
from laconic.storage.modelfile import ModelFile, Section

FAMILIES = {
    "tagger": "laconic.tagging.stored",
    "reranker": "laconic.rerank.stored",
}


def load(path: str | PathLike[str]) -> Any:
    """The fitted estimator of any model file."""
    file = ModelFile.load(path)
    reader = _reader(file, path)
    try:
        return reader.from_model_file(file)
    except KeyError as missing:
        raise _lacks(missing, path) from missing


def describe(path: str | PathLike[str]) -> tuple[ModelFile, list[Section]]:
    """A model file and what its family says about it."""
    file = ModelFile.load(path)
    reader = _reader(file, path)
    try:
        return file, reader.describe(file)
    except KeyError as missing:
        raise _lacks(missing, path) from missing


def _reader(file: ModelFile, path: str | PathLike[str]) -> ModuleType:
    if file.family not in FAMILIES:
        raise ModelFileError(f"unknown family {file.family!r}; upgrade laconic to read it", path=path)
    return import_module(FAMILIES[file.family])


def _lacks(missing: KeyError, path: str | PathLike[str]) -> ModelFileError:
    return ModelFileError(f"damaged model file: it has no {missing}", path=path)
