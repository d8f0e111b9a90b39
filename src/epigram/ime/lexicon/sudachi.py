"""Reads words, costs and connection costs from the binary file of SudachiDict.

The file ``system.dic`` of the packages sudachidict_core, sudachidict_small and sudachidict_full, format 1:

    "SudachiBinaryDic", version (u64), time (u64), flags (u64), three strings, two counts, the number of blocks;
    for each block its name, where it begins and its size. Here and in WordPointers, integers are in seven bits a byte.

    ConnMatrix    n_left, n_right (i16), then i16 [n_left, n_right]: left id of a word, right id of the one before it
    POS           a count (u16), then six strings for each part of speech: length (u16), UTF-16
    WordPointers  for each surface how many words it has, and the words, each as the step from the one before
    Strings       UTF-16
    Entries       at 8 times the number of a word: left id, right id, cost, part of speech (i16); its surface and its
                  reading (u32, places in Strings), the word that is its normal form and that of the dictionary (u32)

Words with a left id below 0 only serve to split others. SudachiPy says the same of every word (tests compare).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from os import PathLike
from pathlib import Path

import numpy as np
import numpy.typing as npt

from epigram.errors import InputError, install
from epigram.ime.kana import LONGEST_READING, is_hiragana, token_of
from epigram.ime.lexicon.wordlist import WordList
from epigram.protocols import Ints, Offsets

PACKAGES = ("sudachidict_core", "sudachidict_full", "sudachidict_small")
MAGIC = b"SudachiBinaryDic"
VERSION = 1
HEADER_BYTES = 4096
BLOCKS = ("ConnMatrix", "POS", "WordPointers", "Strings", "Entries")
LONGEST_INTEGER = 5
"""Bytes of an integer in WordPointers."""
SHORTEST_LONG = 20
"""A place in Strings has the length in its upper five bits; from this on they say how many more bits have it."""
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class SudachiDictionary:
    """Words that can be typed: tokens (with repetitions), parts of speech, ids and costs."""

    tokens: list[str]
    parts: list[str] = field(repr=False)
    left: Ints = field(repr=False)
    right: Ints = field(repr=False)
    costs: Ints = field(repr=False)
    normal: list[str] = field(repr=False)
    """The normal form of each word: 仕事 for シゴト."""
    connections: npt.NDArray[np.int16] = field(repr=False)
    """By the left id of a word and the right id of the word before it; id 0 is the edge of the text."""

    def words(self) -> WordList:
        """Each token once, with the cost and the part of speech of its first entry."""
        first = {token: k for k, token in reversed(list(enumerate(self.tokens)))}
        kept = sorted(first.values())
        return WordList(
            [self.tokens[k] for k in kept], self.costs[kept].astype(float), [self.parts[k] for k in kept]
        )


def installed_dictionary() -> Path:
    """Path of the installed SudachiDict, or an error that says how to install it."""
    for name in PACKAGES:
        spec = find_spec(name)
        if spec is not None and spec.origin is not None:
            return Path(spec.origin).parent / "resources" / "system.dic"
    raise InputError(f"--sudachi needs SudachiDict, which is not installed: {install('japanese')}")


def read_sudachi(path: str | PathLike[str] | None = None) -> SudachiDictionary:
    """Read a dictionary file (default: the installed SudachiDict)."""
    path = installed_dictionary() if path is None else path
    try:
        blocks = _blocks(np.memmap(path, np.uint8, "r"), path)
        words = _word_numbers(blocks["WordPointers"])
        entries = blocks["Entries"]
        shorts, longs = entries.view(np.int16), entries.view(np.uint32)
        words = words[shorts[4 * words] >= 0]
        left, right, costs, part = (shorts[4 * words + k].astype(np.int32) for k in range(4))
        connections = _connections(blocks["ConnMatrix"], path)
        if left.max() >= connections.shape[0] or not 0 <= right.min() <= right.max() < connections.shape[1]:
            raise InputError(
                "corrupt SudachiDict: a word has an id without connection costs. Install it again", path=path
            )
        strings = blocks["Strings"].tobytes()
        surfaces, readings = (list(_strings(strings, longs[2 * words + k])) for k in (2, 3))
        normal = list(_strings(strings, longs[2 * longs[2 * words + 4].astype(np.int64) + 2]))
        names = _parts(blocks["POS"].tobytes())
        parts = [names[k] for k in part.tolist()]
    except InputError:
        raise
    except (OSError, ValueError, IndexError) as error:
        raise InputError(f"cannot read this SudachiDict: {error}", path=path) from None
    tokens = [_typed(surface, reading) for surface, reading in zip(surfaces, readings, strict=True)]
    kept = [k for k, token in enumerate(tokens) if token]
    return SudachiDictionary(
        [tokens[k] for k in kept], [parts[k] for k in kept], left[kept], right[kept], costs[kept],
        [normal[k] for k in kept], connections,
    )  # fmt: skip


def _typed(surface: str, reading: str) -> str:
    """Token of a word that people type; "" for Latin letters, long numbers and blanks."""
    if surface.split() != [surface] or "\0" in surface:
        return ""
    token = token_of(surface, reading)
    if token is None or max(len(surface), len(token)) > LONGEST_READING:
        return ""
    return token if token != surface or len(surface) == 1 or is_hiragana(surface) else ""


def _blocks(raw: Bytes, path: str | PathLike[str]) -> dict[str, Bytes]:
    """Blocks of a file by name."""
    head = raw[:HEADER_BYTES].tobytes()
    if not head.startswith(MAGIC) or int.from_bytes(head[16:24], "little") != VERSION:
        raise InputError(
            f"no SudachiDict of format {VERSION} (those of 2026 and later); pip install -U sudachidict-core", path=path
        )  # fmt: skip
    at = 40

    def integer() -> int:
        nonlocal at
        first = at
        while head[at] >= 128:
            at += 1
        at += 1
        return sum((byte & 127) << 7 * k for k, byte in enumerate(head[first:at]))

    def text() -> bytes:
        nonlocal at
        length = integer()
        at += length
        return head[at - length : at]

    _ = text(), text(), text(), integer(), integer()
    found = {}
    for _ in range(integer()):
        name, start, size = text().decode("ascii"), integer(), integer()
        found[name] = raw[start : start + size]
        if found[name].size != size:
            raise InputError(
                f"truncated SudachiDict: the block {name} goes beyond the end of the file. Install it again",
                path=path,
            )
    missing = [name for name in BLOCKS if name not in found]
    if missing:
        raise InputError(
            f"corrupt SudachiDict: the block {missing[0]} is missing. Install it again", path=path
        )
    return found


def _connections(block: Bytes, path: str | PathLike[str]) -> npt.NDArray[np.int16]:
    n_left, n_right = block[:4].view(np.int16).tolist()
    costs = block[4:].view(np.int16)
    if costs.size != n_left * n_right:
        raise InputError(f"{costs.size} connection costs, expected {n_left} x {n_right}", path=path)
    return np.array(costs).reshape(n_left, n_right)


def _word_numbers(block: Bytes) -> Offsets:
    """Numbers of all words that have a surface."""
    last = np.flatnonzero(block < 128)
    lengths = np.diff(last, prepend=-1)
    values = np.zeros(last.size, np.int64)
    if lengths.max(initial=0) > LONGEST_INTEGER:
        raise ValueError("a word has a number of more than 35 bits")
    for k in range(int(lengths.max(initial=0))):
        these = np.flatnonzero(lengths > k)
        byte = block[last[these] - lengths[these] + 1 + k]
        values[these] |= (byte.astype(np.int64) & 127) << 7 * k
    flat, at, counts = values.tolist(), 0, []
    while at < len(flat):
        counts.append(flat[at])
        at += 1 + flat[at]
    if at != len(flat):
        raise ValueError("the numbers of words end within a surface")
    sizes = np.array(counts, np.int64)
    heads = np.cumsum(sizes + 1) - sizes - 1
    steps = np.delete(values, heads)
    totals = np.cumsum(steps)
    firsts = np.cumsum(sizes) - sizes  # of each surface among the steps
    before = np.where(firsts > 0, totals[np.maximum(firsts - 1, 0)], 0)
    return np.asarray(totals - np.repeat(before, sizes))


def _strings(raw: bytes, places: npt.NDArray[np.uint32]) -> Iterator[str]:
    """Strings at references into the block Strings."""
    packed = places.astype(np.int64)
    kind, rest = packed >> 27, packed & ((1 << 27) - 1)
    bits = np.maximum(kind - SHORTEST_LONG, 0)
    more = SHORTEST_LONG - 1 + (1 << bits) + (rest >> (27 - bits))
    long = kind >= SHORTEST_LONG
    lengths = np.where(long, more, kind)
    starts = np.where(long, (rest & ((1 << (27 - bits)) - 1)) << bits, rest)
    for first, last in zip((2 * starts).tolist(), (2 * (starts + lengths)).tolist(), strict=True):
        yield raw[first:last].decode("utf-16-le")


def _parts(raw: bytes) -> list[str]:
    """Parts of speech as 動詞-一般-連用形."""
    at = 2
    out = []
    for _ in range(int.from_bytes(raw[:2], "little")):
        pieces = []
        for _ in range(6):
            end = at + 2 + 2 * int.from_bytes(raw[at : at + 2], "little")
            pieces.append(raw[at + 2 : end].decode("utf-16-le"))
            at = end
        out.append("-".join(piece for piece in pieces if piece != "*"))
    return out
