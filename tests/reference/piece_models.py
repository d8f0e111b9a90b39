"""Sentencepiece models: their files written by hand, and segmentations by trying everything."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from itertools import pairwise

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
Piece = tuple[str, float, int]


def varint(n: int) -> bytes:
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes([*out, n])


def field(number: int, value: bytes | int | float) -> bytes:
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    return varint(number << 3) + varint(value)


def double_array(pairs: dict[bytes, int]) -> list[int]:
    """Units of a darts double array of keys of one or two bytes, each byte in a block of its own."""
    units = [0] * 256 * 2
    firsts = sorted({key[0] for key in pairs})

    units[0] = 256 << 10
    for byte in firsts:
        at = 256 ^ byte
        start = len(units)
        units.extend([0] * 256)
        leaf = bytes([byte]) in pairs
        units[at] = byte | (start ^ at) << 10 | (1 << 8 if leaf else 0)
        if leaf:
            units[start] = 1 << 31 | pairs[bytes([byte])]
        for key in (key for key in pairs if len(key) == 2 and key[0] == byte):
            child, end = start ^ key[1], len(units)
            units.extend([0] * 256)
            units[child] = key[1] | (end ^ child) << 10 | 1 << 8
            units[end] = 1 << 31 | pairs[key]
    return units


def model_bytes(
    pieces: Sequence[Piece], bpe: bool = False, rules: dict[str, str] | None = None, has_bytes: bool = False,
    adds_blank: bool = True, trims: bool = True,
) -> bytes:  # fmt: skip
    """The content of a file; rules are normalisations of strings of one or two bytes."""
    out = b""
    for text, score, kind in pieces:
        out += field(
            1, field(1, text.encode()) + field(2, float(score)) + (field(3, kind) if kind != NORMAL else b"")
        )
    out += field(2, field(3, 2 if bpe else 1) + (field(35, 1) if has_bytes else b""))
    compiled = b""
    if rules:
        forms, places = b"", {}
        for key, form in rules.items():
            places[key.encode()] = len(forms)
            forms += form.encode() + b"\0"
        units = double_array(places)
        compiled = struct.pack("<I", 4 * len(units)) + struct.pack(f"<{len(units)}I", *units) + forms
    return out + field(3, field(2, compiled) + field(3, int(adds_blank)) + field(4, int(trims)))


def best_segmentation(text: str, pieces: Sequence[Piece]) -> float:
    """The highest score of all ways to cut a text; characters that are no piece cost 10 more than the worst."""
    score = {piece: own for piece, own, kind in pieces if kind == NORMAL}
    alone = min(score.values()) - 10.0

    def cuts(n: int) -> Iterator[list[int]]:
        for mask in range(1 << max(n - 1, 0)):
            yield [0, *(k + 1 for k in range(n - 1) if mask >> k & 1), n]

    best = -float("inf")
    for ends in cuts(len(text)):
        found = [text[a:b] for a, b in pairwise(ends)]
        if all(one in score or len(one) == 1 for one in found):
            best = max(best, sum(score.get(one, alone) for one in found))
    return best


def merged(text: str, pieces: Sequence[Piece]) -> list[str]:
    """BPE: the pair of the highest score is merged, the leftmost of equal ones, until none is a piece."""
    score = {piece: own for piece, own, kind in pieces if kind == NORMAL}
    symbols = list(text)
    while True:
        pairs = [(-score[a + b], k) for k, (a, b) in enumerate(pairwise(symbols)) if a + b in score]
        if not pairs:
            return symbols
        k = min(pairs)[1]
        symbols[k : k + 2] = [symbols[k] + symbols[k + 1]]
