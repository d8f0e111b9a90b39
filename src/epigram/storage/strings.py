"""String tables as byte tensors: UTF-8 bytes end to end, and the offsets where each string starts."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from epigram.errors import ModelFileError


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


def unpack_strings(content: npt.NDArray[np.uint8], lengths: npt.NDArray[np.uint32]) -> list[str]:
    """The list of strings that :func:`pack_strings` packed."""
    raw = content.tobytes()
    ends = np.cumsum(lengths, dtype=np.int64)
    spans = zip((ends - lengths).tolist(), ends.tolist(), strict=True)
    try:
        return [raw[start:end].decode() for start, end in spans]
    except UnicodeDecodeError as error:
        raise ModelFileError(f"damaged model file (its strings are no UTF-8: {error})") from error
