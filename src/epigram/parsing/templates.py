"""Templates of arcs: which cells of the head, of the child and around them make a feature.

A line is a feature, its cells separated by spaces. ``h[0,1]`` is column 1 of the head, ``c[-1,1]`` of the word before
the child; ``b[1]`` is column 1 of each word between, one feature for each distinct value, ``l[1]`` and ``r[1]`` the
same of the words left and right of both; ``way`` is the side of the child and its distance (1, 2, 3, 4, 5 to 9, 10
and more words), ``side`` the side alone. A line that begins with ``+`` stands for two, with ``way`` and without.
A line with ``s[0,1]`` is a feature of second order: of a child ``c`` and the child ``s`` of the same head before it,
from the inside to the outside; the first has the sibling ``<none>``, and the last is the sibling of an ``<end>``.
``gap`` is the way from the one to the other. A line with ``g[0,1]`` is one of the head's head too, with or without a
sibling; ``up`` is the side of it on which the head is. ``#`` begins a comment.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from epigram._core.native import family
from epigram.errors import InputError
from epigram.protocols import Ints, Offsets
from epigram.tagging.attributes import fingerprints

core, siblings, parts = family("arcs"), family("sibling_features"), family("part_features")
PLACES = {"h": 0, "c": 1, "b": 2, "way": 3, "side": 4, "l": 5, "r": 6, "s": 7, "gap": 8, "g": 9, "up": 10}
ZONES = ("b", "l", "r")
NUMBERED = ("way", "side", "gap", "up")  # places whose value is the number of a way
WAYS = (*(f"right {far}" for far in ("1", "2", "3", "4", "5-9", "10+")),
        *(f"left {far}" for far in ("1", "2", "3", "4", "5-9", "10+")), "root")  # fmt: skip
SIDES = ("right", "left", "root")
_WORD = re.compile(r"([hcsg])\[([+-]?\d+),(\d+)\]$")
_ZONE = re.compile(r"([blr])\[(\d+)\]$")

USUAL = """
# McDonald, Crammer and Pereira 2005: words and tags of head and child, with and without side and distance.
# Columns: 0 word, 1 coarse tag, 2 fine tag.
+h[0,0]
+h[0,2]
+h[0,0] h[0,2]
+c[0,0]
+c[0,2]
+c[0,0] c[0,2]
+h[0,2] c[0,2]
+h[0,1] c[0,1]
+h[0,0] c[0,0]
+h[0,0] c[0,2]
+h[0,2] c[0,0]
+h[0,0] c[0,1]
+h[0,1] c[0,0]
+h[0,0] h[0,2] c[0,2]
+h[0,2] c[0,0] c[0,2]
h[0,0] h[0,2] c[0,0] c[0,2] side
# The words around.
+h[0,2] h[+1,2] c[-1,2] c[0,2]
+h[-1,2] h[0,2] c[-1,2] c[0,2]
+h[0,2] h[+1,2] c[0,2] c[+1,2]
+h[-1,2] h[0,2] c[0,2] c[+1,2]
+h[0,2] h[+1,2] c[0,2]
+h[-1,2] h[0,2] c[0,2]
+h[0,2] c[-1,2] c[0,2]
+h[0,2] c[0,2] c[+1,2]
+h[-1,1] h[0,1] h[+1,1] c[-1,1] c[0,1] c[+1,1]
c[-1,0] h[0,2] c[0,2] side
c[+1,0] h[0,2] c[0,2] side
h[-1,0] h[0,2] c[0,2] side
h[+1,0] h[0,2] c[0,2] side
c[-1,0] c[0,0] h[0,1] side
c[0,0] c[+1,0] h[0,1] side
c[-1,2] c[0,2] c[+1,2] way
h[-1,2] h[0,2] h[+1,2] way
+h[0,1] h[+1,1] c[-1,1] c[0,1]
+h[-1,1] h[0,1] c[0,1] c[+1,1]
c[0,0] c[+1,2] h[0,2] side
c[-1,2] c[0,0] h[0,2] side
h[0,0] h[+1,2] c[0,2] side
h[-1,2] h[0,0] c[0,2] side
# What stands before the child, such as its preposition.
h[0,0] c[-1,0] side
h[0,0] c[-2,0] side
h[0,0] c[-1,0] c[0,2] side
h[0,0] c[-2,0] c[0,2] side
h[0,2] c[-2,0] c[0,2] side
h[0,2] c[-2,0] c[-1,2] c[0,2] side
h[0,2] c[-3,0] c[0,2] side
h[0,2] h[+1,0] c[0,2] side
c[-2,2] c[-1,2] c[0,2] h[0,2] side
c[0,2] c[+1,2] c[+2,2] h[0,2] side
way
# The words between.
h[0,2] b[2] c[0,2] side
h[0,1] b[1] c[0,1] way
h[0,0] b[1] c[0,1] side
h[0,1] b[1] c[0,0] side
h[0,1] b[0] c[0,1] side
# The words left and right of both.
h[0,1] l[1] c[0,2] side
h[0,1] r[1] c[0,2] side
# The child of the same head before.
s[0,2] c[0,2] side
s[0,1] c[0,1] side gap
s[0,0] c[0,0] side
s[0,0] c[0,2] side
s[0,2] c[0,0] side
s[0,2] c[-1,2] c[0,2] side
s[0,2] s[+1,2] c[0,2] side
s[0,1] c[-1,0] c[0,1] side
h[0,2] s[0,2] c[0,2] side
h[0,1] s[0,1] c[0,1] side
h[0,1] s[0,1] c[0,1] side gap
h[0,0] s[0,1] c[0,1] side
h[0,1] s[0,0] c[0,1] side
h[0,1] s[0,1] c[0,0] side
h[0,1] s[0,1] c[-1,1] c[0,1] side
h[0,2] s[0,0] c[0,2] side
h[0,2] s[0,2] c[0,0] side
h[0,0] s[0,2] c[0,2] side
h[0,0] s[0,0] c[0,1] side
h[0,0] s[0,1] c[0,0] side
h[0,1] s[0,0] c[0,0] side
h[0,2] s[0,2] c[0,2] side gap
h[0,1] s[0,1] c[0,1] c[+1,1] side
h[0,1] s[0,1] s[+1,1] c[0,1] side
h[0,1] s[-1,1] s[0,1] c[0,1] side
h[0,2] s[+1,0] s[0,2] c[0,2] side
h[0,2] s[0,2] c[-1,0] c[0,2] side
# The head's head.
g[0,2] h[0,2] c[0,2] side up
g[0,1] h[0,1] c[0,1] side up
g[0,2] c[0,2] side up
g[0,1] c[0,1] side up
g[0,0] c[0,0] side up
g[0,0] c[0,2] side up
g[0,2] c[0,0] side up
g[0,0] h[0,1] c[0,1] side up
g[0,1] h[0,0] c[0,1] side up
g[0,1] h[0,1] c[0,0] side up
g[0,1] h[0,0] c[0,0] side up
g[0,0] h[0,0] c[0,1] side up
g[0,1] h[0,1] s[0,1] c[0,1] side up
g[0,1] s[0,1] c[0,1] side up
g[0,2] h[0,2] s[0,2] c[0,2] side up
g[0,2] h[0,2] c[0,0] side up
g[0,0] h[0,2] c[0,2] side up
g[0,2] h[0,0] c[0,2] side up
g[0,0] h[0,1] c[0,0] side up
g[0,2] h[0,0] c[0,0] side up
g[0,0] h[0,0] c[0,0] side up
g[0,2] h[-1,2] h[0,2] c[0,2] side up
g[0,2] h[0,2] h[+1,2] c[0,2] side up
g[0,0] h[0,1] s[0,1] c[0,1] side up
g[0,1] h[0,0] s[0,1] c[0,1] side up
g[0,1] h[0,1] s[0,0] c[0,1] side up
g[0,1] h[0,1] s[0,1] c[0,0] side up
g[0,1] h[0,1] s[0,1] c[0,1] side up gap
"""


BY_FEATURES = """
# With morphological features, in a column after the tags.
+h[0,2] h[0,3] c[0,2] c[0,3]
+h[0,2] h[0,3] c[0,2]
+h[0,2] c[0,2] c[0,3]
h[0,0] c[0,2] c[0,3] side
h[0,2] h[0,3] c[0,0] side
h[0,1] c[-1,3] c[0,2] side
h[0,1] c[0,2] c[+1,3] side
h[+1,3] h[0,2] c[0,1] side
h[0,1] b[3] c[0,1] side
h[0,1] s[0,1] s[0,3] c[0,1] c[0,3] side
h[0,2] h[0,3] s[0,1] c[0,1] side
h[0,2] h[0,3] s[0,1] s[0,3] c[0,2] side
s[0,1] s[0,3] c[0,1] c[0,3] side
g[0,1] g[0,3] h[0,1] h[0,3] c[0,1] c[0,3] side up
g[0,1] h[0,1] h[0,3] c[0,1] side up
g[0,1] h[0,1] c[0,1] c[0,3] side up
g[0,1] g[0,3] c[0,1] c[0,3] side up
"""


BY_CLASS = """
# The same by classes of words, in a column after the others.
+h[0,{0}] c[0,{0}]
+h[0,{0}] c[0,2]
+h[0,2] c[0,{0}]
h[0,{0}] c[0,0] side
h[0,0] c[0,{0}] side
h[0,{0}] c[-1,0] c[0,{0}] side
h[0,{0}] c[-2,0] c[0,{0}] side
s[0,{0}] c[0,{0}] side
h[0,{0}] s[0,1] c[0,{0}] side
"""


SMALL = """
# What chooses the arcs that are worth a model of third order.
+h[0,1] c[0,1]
+h[0,2] c[0,2]
+h[0,0] c[0,2]
+h[0,2] c[0,0]
h[0,0] c[0,0] side
+h[0,2] h[+1,2] c[-1,2] c[0,2]
+h[-1,2] h[0,2] c[-1,2] c[0,2]
+h[0,2] h[+1,2] c[0,2] c[+1,2]
+h[-1,2] h[0,2] c[0,2] c[+1,2]
h[0,1] b[1] c[0,1] way
h[0,2] b[2] c[0,2] side
way
"""


class Cell(NamedTuple):
    """A place (h, c, s, g, b, l, r, way, side, gap or up), an offset from it, and a column."""

    place: str
    offset: int = 0
    column: int = 0

    def __str__(self) -> str:
        if self.place in NUMBERED:
            return self.place
        inside = str(self.column) if self.place in ZONES else f"{self.offset:+d},{self.column}"
        return f"{self.place}[{inside}]"


@dataclass(frozen=True)
class ArcTemplate:
    """Lines of cells: those of arcs, with a cell of many words (``b``, ``l``, ``r``) last; then those of siblings, of
    pairs first, with a head last; then those of grandparents, with siblings last.

    Examples
    --------
    >>> template = ArcTemplate.parse("+h[0,1] c[0,1]\\nb[1] side")
    >>> [" ".join(map(str, line)) for line in template.lines]
    ['h[+0,1] c[+0,1]', 'h[+0,1] c[+0,1] way', 'b[1] side']
    """

    text: str = field(repr=False)
    lines: tuple[tuple[Cell, ...], ...]

    @classmethod
    def parse(cls, text: str) -> ArcTemplate:
        """Read a template; what is wrong is said with its line."""
        lines: list[tuple[Cell, ...]] = []
        for number, line in enumerate(text.splitlines(), 1):
            content = line.split("#")[0].strip()
            if not content:
                continue
            cells = tuple(_cell(word, number) for word in content.removeprefix("+").split())
            lines.append(cells)
            if content.startswith("+"):
                lines.append((*cells, Cell("way")))
        if not lines:
            raise InputError("the template of arcs has no lines")
        for cells in lines:
            _check_line(cells)
        lines.sort(key=_rank)
        return cls(text, tuple(dict.fromkeys(lines)))

    def of_order(self, order: int) -> ArcTemplate:
        """The lines up to an order: 1 of arcs alone, 2 with siblings, 3 with grandparents."""
        chosen = [line for line in self.lines if _rank(line) < 2 * order]
        if len(chosen) == len(self.lines):
            return self
        return ArcTemplate.parse("\n".join(" ".join(map(str, line)) for line in chosen))

    def within(self, n_columns: int) -> ArcTemplate:
        """The lines that look at the first columns alone."""
        chosen = (line for line in self.lines if all(cell.column < n_columns for cell in line))
        return ArcTemplate.parse("\n".join(" ".join(map(str, line)) for line in chosen))

    @cached_property
    def arc_lines(self) -> tuple[tuple[Cell, ...], ...]:
        """The lines of first order."""
        return tuple(line for line in self.lines if _rank(line) < 2)

    @cached_property
    def sibling_lines(self) -> tuple[tuple[Cell, ...], ...]:
        """The lines of siblings."""
        return tuple(line for line in self.lines if _rank(line) in (2, 3))

    @cached_property
    def part_lines(self) -> tuple[PartLines, ...]:
        """The lines of second and third order: of siblings, of grandparents, of both."""
        found, first = [], len(self.arc_lines)
        for ranks in ((2, 3), (4,), (5,)):
            lines = tuple(line for line in self.lines if _rank(line) in ranks)
            if lines:
                found.append(PartLines(lines, first))
            first += len(lines)
        return tuple(found)

    @property
    def has_grandparents(self) -> bool:
        """Whether it is of third order."""
        return _rank(self.lines[-1]) >= 4

    @property
    def n_between(self) -> int:
        """How many lines have a cell of many words."""
        return sum(any(cell.place in ZONES for cell in cells) for cells in self.lines)

    @property
    def n_columns(self) -> int:
        """How many columns the lines look at."""
        return 1 + max(cell.column for cells in self.lines for cell in cells)

    @cached_property
    def struct(self) -> Any:
        """The lines of arcs as C takes them."""
        return _as_struct(self.arc_lines, self.n_between)

    @cached_property
    def sibling_struct(self) -> Any:
        """The lines of siblings as C takes them."""
        return _as_struct(self.sibling_lines, 0)

    @cached_property
    def whole_struct(self) -> Any:
        """All lines, for keys of features by their cells."""
        return _as_struct(self.lines, 0)

    def way_cells(self, owners: Ints, ptr: Offsets) -> npt.NDArray[np.bool_]:
        """Which cells are ways, sides or gaps; feature k has line ``owners[k]`` and cells from ``ptr[k]`` on."""
        kinds = np.array([cell.place in NUMBERED for line in self.lines for cell in line])
        starts = np.cumsum([0, *map(len, self.lines)])
        within = np.arange(int(ptr[-1])) - np.repeat(ptr[:-1], np.diff(ptr))
        return kinds[np.repeat(starts[owners], np.diff(ptr)) + within]

    def memory(self, room: int) -> Any:
        """Working memory of C for sentences of so many words."""
        T, B = len(self.arc_lines), self.n_between
        sizes = (*[(room + 1) * T] * 2, 13 * T, 64 * B, *[(room + 1) * B] * 2, T + 64 * B)
        return core.ArcMemory(room, T, B, *(np.zeros(size, dtype=np.uint64) for size in sizes))

    def sibling_memory(self, room: int) -> Any:
        """The same for siblings."""
        T, pairs = len(self.sibling_lines), sum(_rank(line) == 2 for line in self.sibling_lines)
        sizes = (room * T, (room + 1) * T, (room + 1) * T, 14 * T, 2 * T)
        keys = (np.zeros(size, dtype=np.uint64) for size in sizes)
        return siblings.SiblingMemory(room, T, pairs, *keys, np.zeros(2 * (room + 1) ** 2))


@dataclass(frozen=True)
class PartLines:
    """Lines that look at the same kind of parts, and the number of the first of them in the template."""

    lines: tuple[tuple[Cell, ...], ...]
    first: int

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def rank(self) -> int:
        """0 for siblings, 1 for grandparents, 2 for both."""
        return max(0, _rank(self.lines[0]) - 3)

    @property
    def see_ends(self) -> bool:
        """Whether they look at the end after the last child."""
        return self.rank != 1

    @cached_property
    def struct(self) -> Any:
        """The lines as C takes them."""
        return _as_struct(self.lines, 0)

    def memory(self, room: int) -> Any:
        """Working memory of C for sentences of so many words."""
        T = len(self.lines)
        sizes = (4 * (room + 2) * T, 78 * T, T)
        return parts.PartMemory(room, T, *(np.zeros(size, dtype=np.uint64) for size in sizes))


def _as_struct(lines: tuple[tuple[Cell, ...], ...], n_between: int) -> Any:
    """Lines as C takes them."""
    cells = [cell for line in lines for cell in line]
    ptr = np.cumsum([0, *map(len, lines)], dtype=np.int64)
    places = np.array([PLACES[cell.place] for cell in cells], dtype=np.int32)
    offsets, columns = (
        np.array([getattr(cell, name) for cell in cells], dtype=np.int32) for name in ("offset", "column")
    )
    seeds = fingerprints([" ".join(map(str, line)) for line in lines])
    return core.ArcTemplates(len(lines), n_between, len(cells), ptr, places, offsets, columns, seeds)


def _rank(line: tuple[Cell, ...]) -> int:
    """The order of lines: of arcs, of arcs and many words, of pairs of siblings, of siblings and their head, of
    grandparents, of grandparents and siblings."""
    places = {cell.place for cell in line}
    if "g" in places:
        return 5 if "s" in places else 4
    if "s" in places:
        return 3 if "h" in places else 2
    return 1 if places & set(ZONES) else 0


def _check_line(cells: tuple[Cell, ...]) -> None:
    """Refuse cells that cannot stand together."""
    places, text = [cell.place for cell in cells], " ".join(map(str, cells))
    if sum(place in ZONES for place in places) > 1:
        raise InputError(f"template line {text}: one cell of b, l and r is all there can be")
    if {"s", "g"} & set(places) and any(place in (*ZONES, "way") for place in places):
        raise InputError(
            f"template line {text}: a line with s or g has cells of g, h, s and c, side, gap and up"
        )
    if "up" in places and "g" not in places:
        raise InputError(f"template line {text}: up is the side of g on which h is; there is no g")
    if "gap" in places and "s" not in places:
        raise InputError(f"template line {text}: gap is the way from a sibling s to c; there is no s")


def _cell(word: str, number: int) -> Cell:
    if word in NUMBERED:
        return Cell(word)
    if found := _WORD.match(word):
        return Cell(found[1], int(found[2]), int(found[3]))
    if found := _ZONE.match(word):
        return Cell(found[1], 0, int(found[2]))
    raise InputError(
        f"template line {number}: {word!r} is no cell; "
        "cells are h[0,1], c[-1,0], s[0,1], g[0,1], b[1], l[1], r[1], way, side, gap and up"
    )
