"""Small files: integers as compressed byte planes, weights as codes of a codebook.

The bytes of one significance lie together, so that the rare high ones cost nothing; then xz. A codebook has
2^bits values, placed by Lloyd's algorithm on a histogram of the weights.
"""

from __future__ import annotations

import lzma
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from epigram.errors import InputError, ModelFileError
from epigram.protocols import Floats

Bytes = npt.NDArray[np.uint8]
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 6}]


def pack_integers(values: npt.NDArray[np.integer]) -> Bytes:
    """Non-negative integers below 2^32 as compressed bytes.

    Examples
    --------
    >>> unpack_integers(pack_integers(np.array([3, 70000, 0]))).tolist()
    [3, 70000, 0]
    """
    planes = np.ascontiguousarray(values.astype("<u4")).view(np.uint8).reshape(-1, 4).T
    packed = lzma.compress(planes.tobytes(), format=lzma.FORMAT_RAW, filters=_FILTERS)
    return np.frombuffer(values.size.to_bytes(8, "little") + packed, dtype=np.uint8)


def unpack_integers(content: Bytes) -> npt.NDArray[np.int64]:
    """What :func:`pack_integers` packed."""
    raw = content.tobytes()
    n = int.from_bytes(raw[:8], "little")
    try:
        planes = lzma.decompress(raw[8:], format=lzma.FORMAT_RAW, filters=_FILTERS)
        bytes_of = np.frombuffer(planes, dtype=np.uint8).reshape(4, n).T
        return bytes_of.copy().view("<u4").ravel().astype(np.int64)
    except (lzma.LZMAError, ValueError, EOFError) as error:
        raise ModelFileError(f"damaged model file ({error})") from error


def pack_weights(w: Floats, bits: int) -> dict[str, npt.NDArray[np.generic]]:
    """Weights as float32 (``bits`` 0), or as codes of 1 to 16 bits and their codebook.

    Examples
    --------
    >>> w = np.array([0.5, 2.0, 0.5])
    >>> unpack_weights(pack_weights(w, 8)).tolist()
    [0.5, 2.0, 0.5]
    """
    if bits == 0:
        return {"weights": w.astype(np.float32)}
    if not 1 <= bits <= 16:
        raise InputError(f"bits must be 0 (full) or 1 to 16, not {bits}.")
    book = codebook(w, 1 << bits)
    codes = np.searchsorted((book[1:] + book[:-1]) / 2, w)
    return {"codes": pack_integers(codes), "codebook": book.astype(np.float32)}


def unpack_weights(tensors: Mapping[str, npt.NDArray[np.generic]]) -> Floats:
    """What :func:`pack_weights` packed."""
    if "weights" in tensors:
        return tensors["weights"].astype(np.float64)
    book = tensors["codebook"].astype(np.float64)
    codes = unpack_integers(tensors["codes"])  # type: ignore[arg-type]
    if codes.size and codes.max() >= book.size:
        raise ModelFileError("damaged model file (a code outside the codebook)")
    return np.asarray(book[codes])


def codebook(w: Floats, size: int, rounds: int = 30) -> Floats:
    """At most ``size`` rising values that lie close to the weights in the square mean."""
    distinct = np.unique(w)
    if distinct.size <= size:
        return distinct
    counts, edges = np.histogram(w, bins=max(1 << 14, 4 * size))
    middles, counts = ((edges[1:] + edges[:-1]) / 2)[counts > 0], counts[counts > 0]
    mass, moment = np.cumsum(counts), np.cumsum(counts * middles)
    # Centres start at the density to the power 1/3, which is best for many of them.
    spacing = np.cumsum(np.cbrt(counts))
    book = np.interp((np.arange(size) + 0.5) / size * spacing[-1], spacing, middles)
    for _ in range(rounds):
        ends = np.searchsorted(middles, (book[1:] + book[:-1]) / 2)
        sums = np.diff(np.concatenate(([0.0], np.append(moment, moment[-1])[ends - 1], moment[-1:])))
        masses = np.diff(np.concatenate(([0.0], np.append(mass, mass[-1])[ends - 1], mass[-1:])))
        book = np.where(masses > 0, sums / np.maximum(masses, 1), book)
    return np.unique(book)
