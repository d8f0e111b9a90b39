"""Damage done to files: bytes, lines and numbers of a text; arrays and header fields of a model file, sealed again."""

from __future__ import annotations

import gzip
import re
from functools import cache
from random import Random
from typing import Any

import numpy as np

from epigram.errors import EpigramError
from epigram.storage import ModelFile

NUMBERS = [0, 1, -1, 2, 127, 128, 255, 256, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, -(2**31)]
WORDS = [
    b"inf", b"-inf", b"nan", b"1e400", b"-1e308", b"1e308", b"9" * 25, b"9" * 5000, b"-99", b"0",
    b"", b"\0", b"\xff\xfe", b"\xed\xa0\x80", b"\\ud800", b"\xef\xbb\xbf", b"\t", b"\r", b"\n", b"\n\n", b" ",
    b"\xe3\x80\x80", b"|||", b"#", b":", b"\\", b'"', b"{", b"[", b"]", b"[" * 3000, b"null", b"true",
    b"\\end\\", b"\\data\\", b"\\1-grams:", b"ngram 1=2147483648", b"<s>", b"</s>", b"<unk>",
    b"a" * 2000, b"a b " * 300, b"\x1b[31m", b"%x[0,0]", b"%x[-9,99|match:(a+)+$]", b"|substrings:99", b"U:", b"B",
    b"-5", b"0x1p+2000", b"*", b"b",
]  # fmt: skip
ODD_FIELDS: list[Any] = [
    None, True, -1, 0, 1, 3, 2**31, 2**63, 10**30, 0.5, -1e308, float("nan"), float("inf"), "", "x", "\x1b[31m",
    [], {}, [[]], [1, "a"], {"a": 1}, "../../etc/passwd", "a" * 5000, list(range(300)),
]  # fmt: skip
FLOATS = [np.nan, np.inf, -np.inf, 0.0, -1.0, 3e38, -3e38, 1e-40, 50.0, -99.0, 99.0, 299.0, -228.0, 1e-7]
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:e-?\d+)?")
DTYPES = ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", "?")


def mutate_bytes(content: bytes, rng: Random) -> bytes:
    """One change of any bytes."""
    out = bytearray(content)
    at = rng.randrange(len(out) + 1)
    kind = rng.randrange(7)
    if kind == 6:
        size = rng.choice((4, 8))
        at -= at % 4
        out[at : at + size] = (rng.choice(NUMBERS) & (1 << 8 * size) - 1).to_bytes(size, "little")
    elif kind == 0 and out:
        out[at % len(out)] ^= 1 << rng.randrange(8)
    elif kind == 1 and out:
        out[at % len(out)] = rng.randrange(256)
    elif kind == 2:
        del out[at:]
    elif kind == 3:
        del out[at : at + rng.randrange(1, 20)]
    elif kind == 4:
        out[at:at] = rng.choice(WORDS)
    else:
        out[at:at] = out[at : at + rng.randrange(1, 200)]
    return bytes(out)


def mutate_text(content: bytes, rng: Random) -> bytes:
    """Some changes of a text: its bytes, its lines, its numbers, its words."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        kind = rng.randrange(5)
        lines = content.split(b"\n")
        k = rng.randrange(len(lines))
        if kind == 0:
            content = mutate_bytes(content, rng)
        elif kind == 1:
            found = list(_NUMBER.finditer(content))
            if found:
                one, other = rng.choice(found), rng.choice([*WORDS[:10], str(rng.choice(NUMBERS)).encode()])
                content = content[: one.start()] + other + content[one.end() :]
        elif kind == 2:
            cells = re.split(rb"([ \t])", lines[k])
            cells[rng.randrange(len(cells))] = rng.choice(WORDS)
            content = b"\n".join([*lines[:k], b"".join(cells), *lines[k + 1 :]])
        elif kind == 3:
            content = b"\n".join([*lines[:k], *lines[k : k + 1] * rng.choice((0, 2, 30)), *lines[k + 1 :]])
        else:
            j = rng.randrange(len(lines))
            lines[k], lines[j] = lines[j], lines[k]
            content = b"\n".join(lines)
    if rng.random() < 0.05:
        packed = gzip.compress(content, 1, mtime=0)
        content = packed if rng.random() < 0.5 else mutate_bytes(packed, rng)
    return content


def mutate_model(content: bytes, rng: Random, compress: bool | None = None) -> bytes:
    """Some changes of a model file; most keep it a well-formed file with the right checksum.

    Half of them are compressed unless ``compress`` says which.
    """
    if rng.random() < 0.15:
        return mutate_bytes(content, rng)
    file = _opened(content)
    tensors = {name: np.array(array) for name, array in file.tensors.items()}
    header = file.header
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if rng.random() < 0.25:
            header = change_field(header, rng)
        elif tensors:
            name = rng.choice(sorted(tensors))
            change_array(tensors, name, rng)
    try:
        return ModelFile(file.family, header, tensors, unbounded=tensors).to_bytes(
            rng.random() < 0.5 if compress is None else compress
        )
    except (EpigramError, UnicodeEncodeError, ValueError):
        return mutate_bytes(content, rng)


@cache
def _opened(content: bytes) -> ModelFile:
    """A healthy file, opened once."""
    return ModelFile.from_bytes(content)


def change_field(value: Any, rng: Random, depth: int = 0) -> Any:
    """The header with one field, at any depth, changed, removed or added."""
    if isinstance(value, dict) and value and (depth == 0 or rng.random() < 0.8):
        key = rng.choice(sorted(value))
        rest = {name: item for name, item in value.items() if name != key}
        if rng.random() < 0.15:
            return rest
        return {**rest, key: change_field(value[key], rng, depth + 1)}
    if isinstance(value, list) and value and rng.random() < 0.6:
        k = rng.randrange(len(value))
        if rng.random() < 0.3:
            return value[:k] + value[k + 1 :] if rng.random() < 0.5 else [*value, value[k]]
        return [*value[:k], change_field(value[k], rng, depth + 1), *value[k + 1 :]]
    return rng.choice(ODD_FIELDS)


def change_array(tensors: dict[str, Any], name: str, rng: Random) -> None:
    """One array with numbers, type, shape or name changed."""
    array = tensors[name]
    kind = rng.randrange(10)
    if kind < 7:
        tensors[name] = change_numbers(array, rng)
    elif kind == 7:
        with np.errstate(all="ignore"):
            tensors[name] = array.astype(rng.choice(DTYPES))
    elif kind == 8:
        flat = array.ravel()
        shapes = [
            flat[: rng.randrange(flat.size + 1)],
            np.tile(flat, 2),
            flat.reshape(1, -1),
            flat.reshape(-1, 1),
            array.T,
            np.empty((rng.choice((1, 1 << 20, 1 << 28)), 0), array.dtype),
            np.empty((0, rng.choice((1, 1 << 20, 1 << 28))), array.dtype),
            flat.repeat(rng.choice((3, 50))),
        ]
        tensors[name] = np.ascontiguousarray(rng.choice(shapes))
    elif rng.random() < 0.5:
        del tensors[name]
    else:
        tensors[name] = tensors[rng.choice(sorted(tensors))]


def change_numbers(array: Any, rng: Random) -> Any:
    """A few numbers replaced by others, extreme ones or neighbours."""
    out = np.array(array)
    if not out.size:
        return out
    flat = out.reshape(-1)
    for _ in range(rng.choice((1, 1, 2, 10))):
        k = rng.randrange(flat.size)
        if flat.dtype.kind == "f":
            with np.errstate(over="ignore"):
                flat[k] = rng.choice(FLOATS)
        elif flat.dtype.kind == "b":
            flat[k] = not flat[k]
        else:
            limits = np.iinfo(flat.dtype)
            number = int(flat[k]) + rng.choice((-1, 1)) if rng.random() < 0.5 else rng.choice(NUMBERS)
            flat[k] = number if limits.min <= number <= limits.max else rng.choice((limits.min, limits.max))
    return out
