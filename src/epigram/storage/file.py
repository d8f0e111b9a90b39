"""Reads and writes model files: safetensors container, JSON header, checksum, mapping.

Header fields: ``family``, ``format`` (version of this layout), ``epigram`` (version that wrote it),
``settings`` (how it was trained), ``fit`` (metrics of the fit), and what the family adds. The first is ``crc32``, the
checksum of the whole file with zeros in its place; files of earlier versions have none.

A file is mapped, not read: its arrays are pages of the file, which processes share, and a change of an array stays in
its process. Saving replaces a file and never writes into one (:func:`write_atomically`), so a model in use keeps its
pages, and a crash leaves the old file or the new one.

A family's module, imported on use, offers ``from_model_file(file) -> estimator``, ``describe(file) -> list[Section]``
and ``weights(file) -> (columns, rows)``.
"""

from __future__ import annotations

import json
import math
import os
import re
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from itertools import chain, pairwise
from mmap import ACCESS_COPY, mmap
from os import PathLike
from stat import S_ISREG
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

import epigram
from epigram.errors import InputError, ModelFileError, reason
from epigram.files import open_file, write_atomically
from epigram.protocols import check_finite
from epigram.storage.compress import DTYPES, LEVEL
from epigram.storage.compress import compress as compress_arrays
from epigram.storage.compress import decompress as decompress_arrays
from epigram.storage.legacy import decode

FORMAT = 2
"""Version of the layout; :mod:`epigram.storage.legacy` reads version 1."""
CODE = "zstd"
"""The array that holds all compressed arrays, and the header field with their layout."""
_KEY = "epigram"
_OLD_KEY = "laconic"  # the name under which earlier files were written
FOREIGN = {
    b"lCRF": ("epigram.compat.crfsuite.file", "read_model"),
    b"vers": ("epigram.compat.text_models", "read_crfpp"),
    b"#mdl": ("epigram.compat.text_models", "read_wapiti"),
    b"mmap": ("epigram.compat.kenlm.binary", "read_model"),
}
"""First bytes of other programs' model files, and what makes a :class:`ModelFile` of their content."""
_SUM = rb'"{\"crc32\": \"'
"""What stands before the checksum, as the metadata spell a header that begins with it."""
LONGEST_HEADER = 100_000_000
"""Bytes of JSON that are read; the limit of safetensors."""
MOST_LEVELS = 60
"""Levels of lists and objects in a header."""
FAMILIES = {
    "ime": "epigram.ime.storage",
    "tagger": "epigram.tagging.storage",
    "reranker": "epigram.rerank.storage",
    "lm": "epigram.lm.storage",
    "parser": "epigram.parsing.storage",
    "pipeline": "epigram.pipeline.storage",
    "classifier": "epigram.classify.storage",
}
_KINDS = {
    "ime": ("a kana-kanji converter", "ime build"),
    "tagger": ("a tagger", "tag train"),
    "reranker": ("a reranker", "rerank train"),
    "lm": ("a language model", "lm train"),
    "parser": ("a parser", "parse train"),
    "pipeline": ("a pipeline", "pipeline train"),
    "classifier": ("a text classifier", "classify train"),
}


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
    checked: bool = False
    """Whether it was read from a file with a checksum, which was right."""

    def to_bytes(self, compress: bool = True, level: int = LEVEL) -> bytes:
        """Return the content of the file; arrays that are not compressed can be mapped."""
        from safetensors.numpy import save

        header = {
            "crc32": "0" * 8,
            **self.header,
            "family": self.family,
            "format": FORMAT,
            "epigram": epigram.__version__,
        }
        tensors = {name: np.asarray(array, order="C") for name, array in self.tensors.items()}
        for name, array in tensors.items():
            if array.dtype.kind == "f" and name not in self.unbounded:
                check_finite(f"numbers of {name!r}", array)
        if compress and (small := compress_arrays(tensors, level)) is not None:
            tensors, header[CODE] = {CODE: small[0]}, small[1]
        text = json.dumps(header, ensure_ascii=False, default=lambda value: value.tolist())
        return sealed(save(tensors, {_KEY: text}))

    def save(self, path: str | PathLike[str], compress: bool = True) -> None:
        """Write the file atomically."""
        write_atomically(path, self.to_bytes(compress))

    @classmethod
    def load(cls, path: str | PathLike[str], family: str | None = None) -> ModelFile:
        """Read a file; ``family`` demands one."""
        if not isinstance(path, str | PathLike):  # a number would be an open file of this process
            raise InputError(f"path must be the path of a model file, not {path!r}")
        try:
            content = _mapped(path)
        except OSError as error:
            raise ModelFileError(f"cannot read: {reason(error)}", path=path) from error
        return cls._parse(content, family, path)

    @classmethod
    def from_bytes(
        cls, content: bytes, family: str | None = None, path: str | PathLike[str] | None = None
    ) -> ModelFile:
        """Parse a file's content, ours or of a program we know; anything wrong is one sentence."""
        return cls._parse(bytearray(content), family, path)

    @classmethod
    def _parse(
        cls, content: bytearray | mmap, family: str | None, path: str | PathLike[str] | None
    ) -> ModelFile:
        if (foreign := FOREIGN.get(bytes(content[:4]))) is not None:
            with blaming(path):
                file: ModelFile = getattr(import_module(foreign[0]), foreign[1])(bytes(content), path)
            demand_family(family, file.family, path)
            return file
        places, header = _read_header(content, path)
        if header["format"] > FORMAT:
            raise ModelFileError(
                f"written by a newer epigram ({header.get(_KEY)}); upgrade epigram to read it", path=path
            )
        demand_family(family, header["family"], path)
        try:
            tensors = _arrays(content, places)
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            said = (
                f"corrupt file: truncated, or changed since it was written ({error}); copy or train it again"
            )
            raise ModelFileError(said, path=path) from error
        checksum = header.pop("crc32", _looks_like_sum(header))
        _check_sum(content, checksum, path)
        with blaming(path):
            if CODE in header:
                tensors = decompress_arrays(tensors[CODE], header.pop(CODE))
            if header["format"] < FORMAT:
                tensors = decode(header["family"], tensors)
        # What was read may be written again.
        return cls(header["family"], header, tensors, unbounded=tensors, checked=checksum is not None)


def stream_to_file(
    path: str | PathLike[str],
    family: str,
    header: dict[str, Any],
    arrays: Mapping[str, tuple[str, int]],
    blocks: Callable[[], Iterable[npt.NDArray[Any]]],
) -> None:
    """Write a model file whose arrays, of these types and sizes, come in blocks.

    ``blocks`` returns them from the first one; it is called more than once.
    """
    inner = {"crc32": "0" * 8, **header, "family": family, "format": FORMAT, "epigram": epigram.__version__}
    places: dict[str, Any] = {"__metadata__": {_KEY: json.dumps(inner, ensure_ascii=False)}}
    end = 0
    for name, (kind, size) in arrays.items():
        begin, end = end, end + size * DTYPES[kind].itemsize
        places[name] = {"dtype": kind, "shape": [size], "data_offsets": [begin, end]}
    start = json.dumps(places, ensure_ascii=False, separators=(",", ":")).encode()
    start += b" " * (-len(start) % 8)
    start = len(start).to_bytes(8, "little") + start
    found = zlib.crc32(start)
    for block in blocks():
        found = zlib.crc32(block.data if block.size else b"", found)
    at = start.index(_SUM) + len(_SUM)
    start = start[:at] + b"%08x" % found + start[at + 8 :]
    write_atomically(path, chain((start,), (block.tobytes() for block in blocks())))


def demand_family(family: str | None, found: str, path: str | PathLike[str] | None) -> None:
    """Refuse a model of another family than the one wanted, if one is."""
    if family is not None and found != family:
        way = f"; train one with epigram {_KINDS[family][1]}" if family in _KINDS else ""
        raise ModelFileError(f"holds {_kind(found)}, not {_kind(family)}{way}", path=path)


def _kind(family: str) -> str:
    return _KINDS[family][0] if family in _KINDS else f"a model of family {family!r}"


def sealed(content: bytes) -> bytes:
    """The content of a file with its checksum in place."""
    at = content.index(_SUM) + len(_SUM)
    with memoryview(content) as view:  # a slice of bytes would be a copy
        return b"".join((view[:at], b"%08x" % _sum_of(content), view[at + 8 :]))


def _sum_of(content: bytes | bytearray | mmap) -> int:
    length = 8 + int.from_bytes(content[:8], "little")
    start = bytes(content[:length])
    at = start.find(_SUM) + len(_SUM)
    found = zlib.crc32(start[:at] + b"0" * 8 + start[at + 8 :])
    with memoryview(content) as view, view[length:] as arrays:
        return zlib.crc32(arrays, found)


def _looks_like_sum(header: dict[str, Any]) -> str | None:
    """The first field where it can only be a checksum whose name is damaged."""
    first = next(iter(header.values()), None)
    return first if isinstance(first, str) and re.fullmatch("[0-9a-f]{8}", first) else None


def _check_sum(content: bytearray | mmap, expected: Any, path: str | PathLike[str] | None) -> None:
    """Compare the file's checksum, where it has one, with its bytes."""
    if expected is not None and expected != (found := f"{_sum_of(content):08x}"):
        said = f"corrupt file: its checksum is {found}, not {str(expected)[:20]!r}"
        raise ModelFileError(f"{said}; copy or train it again", path=path)


def _mapped(path: str | PathLike[str]) -> bytearray | mmap:
    """A file's pages, read where they are looked at.

    What is no plain file is read whole. So is every file on Windows, where a mapped one could not be replaced.
    """
    with open_file(path) as file:
        status = os.fstat(file.fileno())
        if os.name == "nt" or not S_ISREG(status.st_mode) or not status.st_size:
            return bytearray(file.read())
        return mmap(file.fileno(), 0, access=ACCESS_COPY)


def _arrays(content: bytearray | mmap, places: dict[str, Any]) -> dict[str, npt.NDArray[Any]]:
    """The arrays where they lie; they must fill the file after its header, one after the other."""
    start = end = 8 + int.from_bytes(content[:8], "little")
    tensors = {}
    for name, place in sorted(places.items(), key=lambda item: item[1]["data_offsets"]):
        dtype, shape = DTYPES[place["dtype"]], place["shape"]
        first, last = (start + offset for offset in place["data_offsets"])
        if not all(type(size) is int and size >= 0 for size in shape):
            raise ValueError(f"{name!r} has the shape {shape}")
        if max(shape, default=0) > len(content):  # rows without bytes, for which readers would find memory
            raise ValueError(f"{name!r} has the shape {shape} in a file of {len(content):,} bytes")
        if first != end or last - first != math.prod(shape) * dtype.itemsize:
            raise ValueError(f"{name!r} is not where the header says")
        array = np.frombuffer(content, dtype, math.prod(shape), first) if last > first else np.empty(0, dtype)
        aligned = array if first % dtype.itemsize == 0 else array.copy()
        tensors[name] = aligned.reshape(shape).astype(dtype.newbyteorder("="), copy=False)
        end = last
    if end != len(content):
        raise ValueError(f"it has {len(content):,} bytes, its header speaks of {end:,}")
    return tensors


def _read_header(
    content: bytearray | mmap, path: str | PathLike[str] | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read and check the offsets of the arrays and the JSON header."""
    if not len(content):
        raise ModelFileError("empty file, not an epigram model", path=path)
    length = int.from_bytes(content[:8], "little")
    start = content[8:2000]
    looks_like_ours = start[:1] == b"{" and any(f'"{key}"'.encode() in start for key in (_KEY, _OLD_KEY))
    if length + 8 > len(content):
        what = "truncated model file" if looks_like_ours else "not an epigram model file"
        raise ModelFileError(what, path=path)
    try:
        if length > LONGEST_HEADER:
            raise ValueError
        places = json.loads(content[8 : 8 + length])
        metadata = places.pop("__metadata__")
        text = metadata[_KEY if _KEY in metadata else _OLD_KEY]
        header = json.loads(text)
        if not isinstance(header["family"], str) or not isinstance(header["format"], int):
            raise TypeError
        if _deeper_than(MOST_LEVELS, header):
            raise RecursionError
        if "\\ud" in text.lower():
            json.dumps(header, ensure_ascii=False).encode()  # half a character is no text
    except UnicodeEncodeError:
        raise ModelFileError(
            "corrupt file: its header holds half a character (a lone surrogate)", path=path
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ModelFileError("not an epigram model file", path=path) from None
    if _OLD_KEY in header:
        header[_KEY] = header.pop(_OLD_KEY)
    return places, dict(header)


def _deeper_than(most: int, value: Any) -> bool:
    """Whether a JSON value has more than so many levels of lists and objects."""
    level = [value]
    for _ in range(most):
        inside = (one.values() if isinstance(one, dict) else one for one in level)
        level = [item for items in inside for item in items if isinstance(item, dict | list)]
    return bool(level)


def pack_strings(strings: Iterable[str]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint32]]:
    """Bytes and lengths of a list of strings.

    Examples
    --------
    >>> unpack_strings(*pack_strings(["a", "", "日本"]))
    ['a', '', '日本']
    """
    encoded = [string.encode() for string in strings]
    content = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    return content, np.array([len(piece) for piece in encoded], dtype=np.uint32)


def unpack_strings(content: npt.NDArray[np.uint8], lengths: npt.NDArray[np.integer]) -> list[str]:
    """The list of strings that :func:`pack_strings` packed."""
    ptr = string_offsets(content, lengths).tolist()
    raw = content.tobytes()
    return [raw[start:end].decode() for start, end in pairwise(ptr)]


def string_offsets(content: npt.NDArray[np.uint8], lengths: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return where each packed string begins, and the end; refuse strings that are no UTF-8."""
    ptr = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, dtype=np.int64, out=ptr[1:])
    if len(lengths) and (ptr[-1] != len(content) or lengths.max() > len(content)):
        raise ModelFileError("corrupt file: its strings end too early or too late")
    try:
        content.tobytes().decode()
    except UnicodeDecodeError as error:
        raise ModelFileError(f"corrupt file: its strings are no UTF-8 ({error})") from error
    first = content[ptr[:-1][np.asarray(lengths) > 0]]
    if ((first & 0xC0) == 0x80).any():
        raise ModelFileError("corrupt file: a string begins inside a character")
    return ptr


def load(path: str | PathLike[str], family: str | None = None) -> Any:
    """Load any model file, or an installed model by name; ``family`` refuses others."""
    from epigram.storage.installed import model_path

    path = model_path(path)
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
        raise ModelFileError(f"corrupt file: it has no {missing}", path=path) from missing
    except ModelFileError as error:
        if error.path is not None:
            raise
        raise ModelFileError(str(error), path=path) from error
    except InputError as error:
        raise ModelFileError(f"corrupt file: {error}", path=path) from error
    except MemoryError as error:
        raise ModelFileError(f"not enough memory to read this model ({error})", path=path) from error
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        raise ModelFileError(f"corrupt file: {type(error).__name__}: {error}", path=path) from error
