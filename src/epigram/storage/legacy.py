"""Readers of model files of format 1, which epigram wrote before zstd.

Format 1 stored integers as coded bytes: a 64-bit count with flags, then the code. A few integers went through an
adaptive binary range coder (Martin 1979), many through range asymmetric numeral systems with tables (Duda 2013), and
the first version stored byte planes compressed with xz. Decoding takes 2 to 8 CPU seconds per million integers;
``epigram convert`` rewrites such a file in the present format.
"""

from __future__ import annotations

import lzma
import math
from typing import Any

import numpy as np
import numpy.typing as npt

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
        raise _corrupt("it announces more numbers than its bytes can hold")
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
        raise _corrupt("an array announces more numbers than its bytes can hold")
    if content.size < 8 or content[7] < 128:
        return _unpack_planes(code.tobytes(), n) if content.size else np.empty(0, np.int64)
    out = _unpack_rans(code, n) if content[7] & 64 else _unpack_adaptive(code, n)
    return out.astype(np.int64)


def _unpack_adaptive(code: Bytes, n: int) -> npt.NDArray[np.uint32]:
    """Decode bit lengths, each given the one before, and the bits after the leading one."""
    reader, out, before = _RangeReader(code.tobytes()), np.empty(n, np.uint32), 0
    lengths = [[_Bit() for _ in range(64)] for _ in range(33)]
    leads = [[_Bit() for _ in range(16)] for _ in range(33)]
    for k in range(n):
        length = reader.read_tree(lengths[before], 6)
        if length > 32 or reader.is_past_end:
            raise _corrupt("a code does not decode")
        rest = max(length - 1, 0)
        led = min(rest, 4)
        value = int(length > 0) << led | reader.read_tree(leads[length], led)
        out[k] = reader.read_even(value, rest - led)
        before = length
    if reader.is_past_end or len(reader.code) > reader.at + 8:
        raise _corrupt(f"a code does not hold the {n:,} integers that it announces")
    return out


class _Bit:
    """Probability of a 0 in units of 2^-16: the mean of a fast and a slow estimate."""

    __slots__ = ("fast", "slow")

    def __init__(self) -> None:
        self.fast = self.slow = 1 << 15


class _RangeReader:
    """Decoder of binary decisions; carries are those of LZMA's coder."""

    def __init__(self, code: bytes) -> None:
        self.code, self.at, self.range = code, 4, 0xFFFFFFFF
        self.low = int.from_bytes(code[:4].ljust(4, b"\0"), "big")

    @property
    def is_past_end(self) -> bool:
        """Whether more was read than a code that ends here can need."""
        return self.at > len(self.code) + 8

    def read_tree(self, bits: list[_Bit], n: int) -> int:
        """Read ``n`` bits, each with its probability given those before."""
        node = 1
        for _ in range(n):
            bit = bits[node]
            bound = (self.range >> 16) * ((bit.fast + bit.slow) >> 1 | 1)
            if self.low >= bound:
                self.low -= bound
                self.range -= bound
                bit.fast -= bit.fast >> 4
                bit.slow -= bit.slow >> 7
                node = 2 * node + 1
            else:
                self.range = bound
                bit.fast += (65535 - bit.fast) >> 4
                bit.slow += (65535 - bit.slow) >> 7
                node *= 2
            self._refill()
        return node - (1 << n)

    def read_even(self, value: int, n: int) -> int:
        """Append ``n`` bits to a number, both values of each as likely."""
        for _ in range(n):
            self.range >>= 1
            bit = self.low >= self.range
            self.low -= self.range * bit
            value = value << 1 | bit
            self._refill()
        return value

    def _refill(self) -> None:
        while self.range < 1 << 24:
            byte = self.code[self.at] if self.at < len(self.code) else 0
            self.low, self.range, self.at = self.low << 8 | byte, self.range << 8, self.at + 1


def _unpack_rans(code: Bytes, n: int) -> npt.NDArray[np.uint32]:
    """Decode four parts of the numbers side by side, which draw from one row of 32-bit words.

    A number is a token, below 16 the number itself, else its bit length and the three bits after the leading one; the
    other bits follow as they are. The table of shares of 2^12 is chosen by the bit length of the number before.
    """
    end = 4 + int.from_bytes(code[:4].tobytes(), "little")
    shares = np.minimum(_unpack_adaptive(code[4:end], math.prod(_TABLES)), 1 << 13).reshape(_TABLES)
    slots = [entry for row in shares.astype(np.int64) for entry in _slots(row)]
    words = code[end:].tobytes()
    if len(words) % 4 or len(words) < 32:
        raise _corrupt("a code ends too early")
    states, stream = [int(x) for x in np.frombuffer(words, "<u8", 4)], np.frombuffer(words, "<u4", offset=32)
    source, n_read, out = iter(stream.tolist()), 0, np.empty(n, np.uint32)
    starts = [n * lane // 4 for lane in range(5)]
    contexts = [0] * 4
    for k in range(-(-n // 4)):
        for lane in range(4):
            at = starts[lane] + k
            if at == starts[lane + 1]:
                continue
            x = states[lane]
            share, offset, base, rest, length = slots[contexts[lane] << 12 | x & 4095]
            x = (x >> 12) * share + offset
            if x < 1 << 31:
                x, n_read = x << 32 | next(source, 0), n_read + 1
            out[at] = base + (x & ((1 << rest) - 1))
            x >>= rest
            if x < 1 << 31:
                x, n_read = x << 32 | next(source, 0), n_read + 1
            states[lane], contexts[lane] = x, length
    if n_read != stream.size or states != [1 << 31] * 4:
        raise _corrupt(f"a code does not hold the {n:,} integers that it announces")
    return out


def _slots(shares: npt.NDArray[np.int64]) -> list[tuple[int, int, int, int, int]]:
    """Expand a table: share, offset, base, number of other bits and context per slot."""
    if shares.sum() not in (0, 1 << 12):
        raise _corrupt("a table's shares do not add up")
    found = []
    for token in np.flatnonzero(shares).tolist():
        share, base, rest = int(shares[token]), token, 0
        if token >= 16:
            rest = 1 + ((token - 16) >> 3)
            base = (8 | token & 7) << rest
        found += [(share, k, base, rest, min(base.bit_length(), 15)) for k in range(share)]
    return found or [(1 << 12, k, 0, 0, 0) for k in range(1 << 12)]  # of a context that never occurs


def _corrupt(found: str) -> ModelFileError:
    return ModelFileError(f"corrupt file: {found}. Copy or train the model again.")


def _unpack_planes(raw: bytes, n: int) -> npt.NDArray[np.int64]:
    """Decode integers of the first version: bytes of one significance end to end, then xz."""
    try:
        xz = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=_FILTERS)
        planes = xz.decompress(raw, 4 * n + 1)  # one byte more than there may be: a bomb is not unpacked
        bytes_of = np.frombuffer(planes, dtype=np.uint8).reshape(4, n).T
        return bytes_of.copy().view("<u4").ravel().astype(np.int64)
    except (lzma.LZMAError, ValueError, EOFError) as error:
        raise _corrupt(str(error)) from error
