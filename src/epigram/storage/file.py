"""The model file: a safetensors file whose metadata carries one JSON header.

Header fields: ``family``, ``format`` (version of this layout), ``epigram`` (version that wrote it),
``settings`` (how it was trained), ``fit`` (metrics of the fit), and what the family adds.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, field
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import epigram
from epigram.errors import ModelFileError
from epigram.protocols import check_finite
from epigram.storage.atomic import write_atomically

FORMAT = 1
_KEY = "epigram"
_OLD_KEY = "laconic"  # the name under which earlier files were written
FOREIGN = {b"lCRF": ("epigram.compat.crfsuite_file", "read_model")}
"""First bytes of other programs' model files, and what makes a :class:`ModelFile` of their content."""


@dataclass(frozen=True, slots=True)
class Section:
    """A titled table of a model's description, for people and (as records) for programs."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]

    def records(self) -> list[dict[str, Any]]:
        """The rows as dictionaries."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


@dataclass(slots=True)
class ModelFile:
    """A model as it stands in a file: family, JSON header, named arrays.

    Arrays must be finite, but for those named in ``unbounded``, where NaN and infinity mean something (a
    log-probability of -inf, the errors on held-out lists that were not given).

    Examples
    --------
    >>> model = ModelFile("tagger", {"settings": {"l1": 1.0}}, {"w": np.array([1.0, 0.0])})
    >>> again = ModelFile.from_bytes(model.to_bytes())
    >>> again.family, again.header["settings"], again.tensors["w"].tolist()
    ('tagger', {'l1': 1.0}, [1.0, 0.0])
    """

    family: str
    header: dict[str, Any]
    tensors: dict[str, npt.NDArray[Any]] = field(repr=False)
    unbounded: Collection[str] = ()

    def to_bytes(self) -> bytes:
        """The file's content."""
        from safetensors.numpy import save

        header = {
            **self.header,
            "family": self.family,
            "format": FORMAT,
            "epigram": epigram.__version__,
        }
        tensors = {name: np.asarray(array, order="C") for name, array in self.tensors.items()}
        for name, array in tensors.items():
            if array.dtype.kind == "f" and name not in self.unbounded:
                check_finite(f"numbers of {name!r}", array)
        text = json.dumps(header, ensure_ascii=False, default=lambda value: value.tolist())
        return bytes(save(tensors, {_KEY: text}))

    def save(self, path: str | PathLike[str]) -> None:
        """Write atomically."""
        write_atomically(path, self.to_bytes())

    @classmethod
    def load(cls, path: str | PathLike[str], family: str | None = None) -> ModelFile:
        """Read a file; ``family`` demands one."""
        try:
            content = Path(path).read_bytes()
        except OSError as error:
            raise ModelFileError(f"cannot read: {error.strerror}", path=path) from error
        return cls.from_bytes(content, family, path)

    @classmethod
    def from_bytes(
        cls, content: bytes, family: str | None = None, path: str | PathLike[str] | None = None
    ) -> ModelFile:
        """Parse a file's content, ours or of a program we know; anything wrong is one sentence."""
        if content[:4] in FOREIGN:
            home, name = FOREIGN[content[:4]]
            file: ModelFile = getattr(import_module(home), name)(content, path)
            _demand(family, file.family, path)
            return file
        header = _read_header(content, path)
        if header["format"] > FORMAT:
            raise ModelFileError(
                f"written by a newer epigram ({header.get(_KEY)}); upgrade epigram to read it", path=path
            )
        _demand(family, header["family"], path)
        from safetensors import SafetensorError
        from safetensors.numpy import load

        try:
            tensors = load(content)
        except (SafetensorError, ValueError, TypeError) as error:
            raise ModelFileError(f"truncated or damaged model file ({error})", path=path) from error
        return cls(header["family"], header, tensors, unbounded=tensors)  # what was read may be written again


def _demand(family: str | None, found: str, path: str | PathLike[str] | None) -> None:
    """Refuse a model of another family than the one wanted, if one is."""
    if family is not None and found != family:
        raise ModelFileError(f"a model of family {found!r}, not {family!r}", path=path)


def _read_header(content: bytes, path: str | PathLike[str] | None) -> dict[str, Any]:
    """The JSON header in the safetensors metadata, checked."""
    if not content:
        raise ModelFileError("empty file, not an epigram model", path=path)
    length = int.from_bytes(content[:8], "little")
    start = content[8:2000]
    looks_like_ours = start[:1] == b"{" and any(f'"{key}"'.encode() in start for key in (_KEY, _OLD_KEY))
    if length + 8 > len(content):
        what = "truncated model file" if looks_like_ours else "not an epigram model file"
        raise ModelFileError(what, path=path)
    try:
        metadata = json.loads(content[8 : 8 + length])["__metadata__"]
        header = json.loads(metadata[_KEY if _KEY in metadata else _OLD_KEY])
        if not isinstance(header["family"], str) or not isinstance(header["format"], int):
            raise TypeError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ModelFileError("not an epigram model file", path=path) from None
    if _OLD_KEY in header:
        header[_KEY] = header.pop(_OLD_KEY)
    return dict(header)
