"""StoredEstimator: base class of estimators that are saved to and loaded from model files."""

from __future__ import annotations

from os import PathLike
from typing import Any, ClassVar, Self

from epigram.errors import ModelFileError
from epigram.estimator import Estimator


class StoredEstimator(Estimator):
    """An estimator of one family of model files (a key of ``epigram.storage.file.FAMILIES``)."""

    _family: ClassVar[str]

    def save(self, path: str | PathLike[str], compress: bool = True) -> None:
        """Write the model file; processes that load a file that is not compressed share its memory."""
        self._to_model_file().save(path, compress)

    def to_bytes(self) -> bytes:
        """Return the content of the model file."""
        content: bytes = self._to_model_file().to_bytes()
        return content

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model file."""
        from epigram.storage.file import load

        return cls._checked(load(path, cls._family), path)

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Read the content of a model file."""
        from epigram.storage.file import loads

        return cls._checked(loads(content, cls._family))

    def _to_model_file(self) -> Any:
        from importlib import import_module

        from epigram.storage.file import FAMILIES

        return import_module(FAMILIES[self._family]).to_model_file(self)

    @classmethod
    def _checked(cls, estimator: Any, path: str | PathLike[str] | None = None) -> Self:
        if not isinstance(estimator, cls):
            raise ModelFileError(f"holds a {type(estimator).__name__}, not a {cls.__name__}", path=path)
        return estimator
