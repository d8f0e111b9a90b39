"""Template expansion and fingerprints the slow way: a Python string per attribute."""

from __future__ import annotations

import re
from collections.abc import Callable

WORD = (1 << 64) - 1
CELL = re.compile(r"%x\[(-?\d+),(\d+)(?:\|([a-z]+)(?::(\d+))?)?\]")

FUNCTIONS: dict[str | None, Callable[[str, int], list[str]]] = {
    None: lambda cell, n: [cell],
    "lower": lambda cell, n: [cell.lower()],
    "prefix": lambda cell, n: [cell[:n]] if len(cell) >= n else [],
    "suffix": lambda cell, n: [cell[len(cell) - n :]] if len(cell) >= n else [],
    "substrings": lambda cell, n: unique(
        [cell[i : i + length] for i in range(len(cell)) for length in range(1, n) if i + length <= len(cell)]
    ),
    "boundary": lambda cell, n: [],
}


def unique(strings: list[str]) -> list[str]:
    return [string for k, string in enumerate(strings) if string not in strings[:k]]


def fingerprint(string: str) -> int:
    """The polynomial in 0x9E37...15 modulo 2^64, then splitmix64's finaliser."""
    h = 0
    for byte in string.encode():
        h = (h * 0x9E3779B97F4A7C15 + byte + 1) & WORD
    h = ((h ^ (h >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    h = ((h ^ (h >> 27)) * 0x94D049BB133111EB) & WORD
    return (h ^ (h >> 31)) or 1


def expand(line: str, sentence: list[tuple[str, ...]], t: int, drop: bool) -> list[str]:
    """All attributes of one line at one token, last cell fastest."""
    cell = CELL.search(line)
    if cell is None:
        return [line]
    row, column, function, argument = int(cell[1]), int(cell[2]), cell[3], int(cell[4] or 0)
    at = t + row
    if 0 <= at < len(sentence):
        values = FUNCTIONS[function](sentence[at][column], argument)
    elif drop and function != "boundary":
        values = []
    else:
        values = [f"_B{at}"] if at < 0 else [f"_B+{at - len(sentence) + 1}"]
    rests = expand(line[cell.end() :], sentence, t, drop) if values else []
    return [line[: cell.start()] + value + rest for value in values for rest in rests]


def encode(
    lines: list[str], sentences: list[list[tuple[str, ...]]], drop: bool, edges: bool = False
) -> list[list[str]]:
    """The attributes of every token, as strings."""
    return [
        [] if edges and t == 0 else [name for line in lines for name in expand(line, sentence, t, drop)]
        for sentence in sentences
        for t in range(len(sentence))
    ]
