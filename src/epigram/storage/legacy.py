"""Readers of model files of format 1, which epigram wrote before zstd.

Format 1 stored integers as coded bytes: a 64-bit count with flags, then the code. A few integers went
through an adaptive range coder (``_core/packing.c``), many through range asymmetric numeral systems with tables
(``_core/ans.c``), and the first version stored byte planes compressed with xz.
"""

from __future__ import annotations

import lzma
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram._core import bindings
from epigram.errors import ModelFileError
from epigram.storage.quantise import narrow

Bytes = npt.NDArray[np.uint8]
Tensors = dict[str, npt.NDArray[Any]]
LM_ARRAYS = (
    "choices", "class_of", "codes", "counts", "edges", "exact", "node_pair", "pairs", "parents", "steps", "symbols",
    "targets", "text",
)  # fmt: skip
"""Last parts of the names of coded arrays in language models."""
IME_ARRAYS = (
    *(f"{part}.{name}" for part in ("lm", "characters") for name in ("contexts", "counts", "steps")),
    *(f"pairs.{name}" for name in ("degrees", "sizes", "steps", "counts")),
)
"""Names of coded arrays in converters."""
MOST_NUMBERS, NUMBERS_PER_BYTE = 1 << 22, 4
"""Coded integers that a file may hold: so many, and so many more for each of its bytes."""
_RANS = 1 << 62  # flag of the count: the code follows its tables
_TABLES = 16, 240  # contexts, tokens
_MOST_PER_BYTE = 1000  # the probabilities of the coders do not come closer to 1
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 6}]


def decode(family: str, tensors: Tensors) -> Tensors:
    """Return the arrays of a file of format 1 with all integers decoded."""
    coded = [name for name, array in tensors.items() if _is_coded(family, name, array)]
    limit = MOST_NUMBERS + NUMBERS_PER_BYTE * sum(array.nbytes for array in tensors.values())
    if sum(count(tensors[name]) for name in coded) > limit:
        raise ModelFileError("damaged: it promises more numbers than its bytes can hold")
    return {**tensors, **{name: narrow(unpack_integers(tensors[name])) for name in coded}}


def _is_coded(family: str, name: str, array: npt.NDArray[Any]) -> bool:
    known = name.rpartition(".")[2] in LM_ARRAYS if family == "lm" else family == "ime" and name in IME_ARRAYS
    return known and array.dtype == np.uint8 and array.ndim == 1


def count(content: Bytes) -> int:
    """Return how many integers coded bytes say that they hold."""
    return int.from_bytes(content[:8].tobytes(), "little") & (_RANS - 1)


def unpack_integers(content: Bytes) -> npt.NDArray[np.int64]:
    """Decode the integers of an array of format 1."""
    n = count(content)
    code = np.ascontiguousarray(content[8:])
    if n > _MOST_PER_BYTE * (code.size + 64):
        raise ModelFileError("damaged: more numbers than its bytes can hold")
    if content.size < 8 or content[7] < 128:
        return _unpack_planes(code.tobytes(), n) if content.size else np.empty(0, np.int64)
    out = _unpack_rans(code, n) if content[7] & 64 else _unpack_adaptive(code, n)
    return out.astype(np.int64)


def _unpack_adaptive(code: Bytes, n: int) -> npt.NDArray[np.uint32]:
    out = np.empty(n, np.uint32)
    if not bindings.packing_unpack(code, out):
        raise ModelFileError("damaged: its numbers end too early or too late")
    return out


def _unpack_rans(code: Bytes, n: int) -> npt.NDArray[np.uint32]:
    end = 4 + int.from_bytes(code[:4].tobytes(), "little")
    shares = np.minimum(_unpack_adaptive(code[4:end], math.prod(_TABLES)), 1 << 13).astype(np.uint16)
    out, rest = np.empty(n, np.uint32), code[end:]
    if not bindings.ans_unpack(rest, shares, out):
        raise ModelFileError("damaged: its numbers do not fit their tables")
    return out


def _unpack_planes(raw: bytes, n: int) -> npt.NDArray[np.int64]:
    """Decode integers of the first version: bytes of one significance end to end, then xz."""
    try:
        xz = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=_FILTERS)
        planes = xz.decompress(raw, 4 * n + 1)  # one byte more than there may be: a bomb is not unpacked
        bytes_of = np.frombuffer(planes, dtype=np.uint8).reshape(4, n).T
        return bytes_of.copy().view("<u4").ravel().astype(np.int64)
    except (lzma.LZMAError, ValueError, EOFError) as error:
        raise ModelFileError(f"damaged: {error}") from error
