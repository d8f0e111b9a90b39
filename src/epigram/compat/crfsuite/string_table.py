"""Reads and writes the string tables inside CRFsuite model files.

A table starts with a header of 24 bytes and the offsets of 256 hash tables; then come the records (number, length,
bytes and a closing zero), the hash tables (see ``_core/cqdb.h``), and last the offset of each record by number, which
is all that reading needs. Offsets count from the start of the table.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from epigram._core import bindings
from epigram._core.arrays import offsets
from epigram.errors import ModelFileError

_HEADER = struct.Struct("<4s5I")
_RECORD = struct.Struct("<II")
_BYTE_ORDER = 0x62445371
N_TABLES = 256


def read_strings(content: bytes, start: int, n: int, what: str) -> list[str]:
    """Return the n strings of the table at ``start``; ``what`` names them in messages."""
    if start + _HEADER.size > len(content):
        raise ModelFileError(f"corrupt CRFsuite model: the table of {what} begins beyond the end of the file")
    name, size, _, byte_order, n_places, places = _HEADER.unpack_from(content, start)
    if name != b"CQDB" or byte_order != _BYTE_ORDER or start + size > len(content):
        raise ModelFileError(f"corrupt CRFsuite model: no table of {what} at the offset in the header")
    if n > n_places or places + 4 * n > size:
        raise ModelFileError(
            f"corrupt CRFsuite model: the header says {n:,} {what}, but their table is smaller"
        )
    table = content[start : start + size]
    strings, total = [], 0
    for i, at in enumerate(np.frombuffer(table, "<u4", n, places).tolist()):
        if at + _RECORD.size > size:
            raise ModelFileError(f"corrupt CRFsuite model: number {i} of the {what} is outside their table")
        number, length = _RECORD.unpack_from(table, at)
        first = at + _RECORD.size
        total += length  # overlapping strings would exceed the file
        if number != i or not 0 < length <= size - first or total > size:
            raise ModelFileError(f"corrupt CRFsuite model: number {i} of the {what} is not a string")
        try:
            strings.append(table[first : first + length - 1].decode())
        except UnicodeDecodeError:
            raise ModelFileError(
                f"number {i} of the {what} is not UTF-8 text; train the model on UTF-8 text"
            ) from None
    return strings


def write_strings(strings: Sequence[str]) -> bytes:
    """Return a table of strings, numbered from 0.

    Examples
    --------
    >>> read_strings(write_strings(["B", "", "日本"]), 0, 3, "labels")
    ['B', '', '日本']
    """
    keys = [string.encode() + b"\0" for string in strings]
    n = len(keys)
    ptr = np.zeros(n + 1, dtype=np.int64)
    np.cumsum([len(key) for key in keys], out=ptr[1:])
    hashes = np.empty(n, dtype=np.uint32)
    bindings.cqdb_hash_keys(ptr, np.frombuffer(b"".join(keys), dtype=np.uint8), hashes)
    records = b"".join(_RECORD.pack(i, len(key)) + key for i, key in enumerate(keys))
    first = _HEADER.size + N_TABLES * _RECORD.size
    places = (first + ptr[:-1] + _RECORD.size * np.arange(n)).astype(np.uint32)
    sizes = 2 * np.bincount(hashes & 255, minlength=N_TABLES)
    table_ptr = offsets(sizes)
    buckets = np.zeros((2 * n, 2), dtype=np.uint32)
    bindings.cqdb_fill_buckets(hashes, places, table_ptr, buckets)
    tables = np.zeros((N_TABLES, 2), dtype="<u4")
    at_buckets = first + len(records)
    tables[:, 0] = np.where(sizes > 0, at_buckets + 8 * table_ptr[:-1], 0)
    tables[:, 1] = sizes
    at_places = at_buckets + buckets.nbytes
    header = _HEADER.pack(b"CQDB", at_places + places.nbytes, 0, _BYTE_ORDER, n, at_places)
    return b"".join(
        [header, tables.tobytes(), records, buckets.astype("<u4").tobytes(), places.astype("<u4").tobytes()]
    )
