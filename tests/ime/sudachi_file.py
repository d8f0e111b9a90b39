"""Write small dictionaries in the format of SudachiDict (format 1), for tests."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

PAGE = 4096


class Given(NamedTuple):
    """An entry of a dictionary."""

    surface: str
    reading: str
    left: int
    right: int
    cost: int
    part: str
    normal: int | None = None
    """Which entry is its normal form; None for itself."""


def write_sudachi(path: Path, entries: Sequence[Given], connections: np.ndarray, version: int = 1) -> Path:
    """A file with these entries; connection costs by left id of the next word and right id of the one before."""
    parts = list(dict.fromkeys(entry.part for entry in entries))
    strings, places = _strings([text for entry in entries for text in (entry.surface, entry.reading)])
    records, numbers = bytearray(32), []
    sizes = [40 if k % 3 else 32 for k in range(len(entries))]  # records differ in length
    starts = np.cumsum([32, *sizes[:-1]]) // 8
    for k, entry in enumerate(entries):
        numbers.append(int(starts[k]))
        normal = int(starts[k if entry.normal is None else entry.normal])
        shorts = struct.pack("<4h", entry.left, entry.right, entry.cost, parts.index(entry.part))
        longs = struct.pack("<4I", places[2 * k], places[2 * k + 1], normal, normal)
        records += (shorts + longs).ljust(sizes[k], b"\x07")
    by_surface: dict[str, list[int]] = {}
    for entry, number in zip(entries, numbers, strict=True):
        by_surface.setdefault(entry.surface, []).append(number)
    pointers = b"".join(
        _integer(len(mine)) + b"".join(map(_integer, np.diff(mine, prepend=0).tolist()))
        for mine in by_surface.values()
    )
    blocks = {
        "ConnMatrix": struct.pack("<2h", *connections.shape) + connections.astype("<i2").tobytes(),
        "POS": struct.pack("<H", len(parts)) + b"".join(map(_part, parts)),
        "WordPointers": pointers,
        "TrieIndex": b"not read",
        "Strings": strings,
        "Entries": bytes(records),
    }
    head = b"SudachiBinaryDic" + struct.pack("<3Q", version, 0, 0)
    head += _text("test") + _text("test-1") + _text("") + _integer(len(by_surface)) + _integer(len(entries))
    head += _integer(len(blocks))
    body = bytearray()
    for name, block in blocks.items():
        head += _text(name) + _integer(PAGE + len(body)) + _integer(len(block))
        body += block.ljust(-(-len(block) // 8) * 8, b"\0")
    path.write_bytes(head.ljust(PAGE, b"\0") + body)
    return path


def _integer(value: int) -> bytes:
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _text(text: str) -> bytes:
    return _integer(len(text)) + text.encode("ascii")


def _part(part: str) -> bytes:
    pieces = [*part.split("-"), *["*"] * 6][:6]
    return b"".join(struct.pack("<H", len(piece)) + piece.encode("utf-16-le") for piece in pieces)


def _strings(texts: Sequence[str]) -> tuple[bytes, list[int]]:
    """All strings, and where each is: short ones anywhere, those of 20 and more where their place has room for bits."""
    raw, places = "", []
    for text in texts:
        bits = max((len(text) - 19).bit_length() - 1, 0)
        raw = raw.ljust(-(-len(raw) // (1 << bits)) * (1 << bits), "?")
        if len(text) < 20:
            places.append(len(text) << 27 | len(raw))
        else:
            rest = len(text) - 19 - (1 << bits)
            places.append((20 + bits) << 27 | rest << (27 - bits) | len(raw) >> bits)
        raw += text
    return raw.encode("utf-16-le"), places
