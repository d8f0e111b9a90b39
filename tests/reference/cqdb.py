"""CRFsuite's string tables in slow, obvious Python: lookup3's hash, and a look-up as the format describes it."""

from __future__ import annotations

import struct

MASK = 0xFFFFFFFF


def rotate(x: int, k: int) -> int:
    return (x << k | x >> (32 - k)) & MASK


def hash_key(key: bytes) -> int:
    """Bob Jenkins's lookup3 with the starting value 0."""
    a = b = c = (0xDEADBEEF + len(key)) & MASK
    while len(key) > 12:
        x, y, z = struct.unpack("<3I", key[:12])
        a, b, c, key = (a + x) & MASK, (b + y) & MASK, (c + z) & MASK, key[12:]
        a = (a - c) & MASK ^ rotate(c, 4)
        c = (c + b) & MASK
        b = (b - a) & MASK ^ rotate(a, 6)
        a = (a + c) & MASK
        c = (c - b) & MASK ^ rotate(b, 8)
        b = (b + a) & MASK
        a = (a - c) & MASK ^ rotate(c, 16)
        c = (c + b) & MASK
        b = (b - a) & MASK ^ rotate(a, 19)
        a = (a + c) & MASK
        c = (c - b) & MASK ^ rotate(b, 4)
        b = (b + a) & MASK
    if not key:
        return c
    x, y, z = struct.unpack("<3I", key.ljust(12, b"\0"))
    a, b, c = (a + x) & MASK, (b + y) & MASK, (c + z) & MASK
    c = ((c ^ b) - rotate(b, 14)) & MASK
    a = ((a ^ c) - rotate(c, 11)) & MASK
    b = ((b ^ a) - rotate(a, 25)) & MASK
    c = ((c ^ b) - rotate(b, 16)) & MASK
    a = ((a ^ c) - rotate(c, 4)) & MASK
    b = ((b ^ a) - rotate(a, 14)) & MASK
    return ((c ^ b) - rotate(b, 24)) & MASK


def look_up(table: bytes, key: bytes) -> int | None:
    """The number of a string, as a reader of the format finds it."""
    hashed = hash_key(key + b"\0")
    start, size = struct.unpack_from("<II", table, 24 + 8 * (hashed % 256))
    k = (hashed >> 8) % size if size else 0
    while size:
        found, at = struct.unpack_from("<II", table, start + 8 * k)
        if not at:
            return None
        number, length = struct.unpack_from("<II", table, at)
        if found == hashed and table[at + 8 : at + 8 + length] == key + b"\0":
            return int(number)
        k = (k + 1) % size
    return None
