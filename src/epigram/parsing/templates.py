"""Templates of arcs: which cells of the head, of the child and around them make a feature.

A line is a feature, its cells separated by spaces. ``h[0,1]`` is column 1 of the head, ``c[-1,1]`` of the word before
the child; ``b[1]`` is column 1 of each word between, one feature for each distinct value, ``l[1]`` and ``r[1]`` the
same of the words left and right of both; ``way`` is the side of the child and its distance (1, 2, 3, 4, 5 to 9, 10
and more words), ``side`` the side alone. A line that begins with ``+`` stands for two, with ``way`` and without.
``#`` begins a comment.
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

core = family("arcs")
PLACES = {"h": 0, "c": 1, "b": 2, "way": 3, "side": 4, "l": 5, "r": 6}
ZONES = ("b", "l", "r")
WAYS = (*(f"right {far}" for far in ("1", "2", "3", "4", "5-9", "10+")),
        *(f"left {far}" for far in ("1", "2", "3", "4", "5-9", "10+")), "root")  # fmt: skip
SIDES = ("right", "left", "root")
_WORD = re.compile(r"([hc])\[([+-]?\d+),(\d+)\]$")
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
"""


class Cell(NamedTuple):
    """A place (``h``, ``c``, ``b``, ``l``, ``r``, ``way``, ``side``), an offset from it, and a column."""

    place: str
    offset: int = 0
    column: int = 0

    def __str__(self) -> str:
        if self.place in ("way", "side"):
            return self.place
        inside = str(self.column) if self.place in ZONES else f"{self.offset:+d},{self.column}"
        return f"{self.place}[{inside}]"


@dataclass(frozen=True)
class ArcTemplate:
    """Lines of cells, those with a cell of many words (``b``, ``l``, ``r``) last.

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
            if sum(cell.place in ZONES for cell in cells) > 1:
                raise InputError(
                    f"template line {' '.join(map(str, cells))}: one cell of b, l and r is all there can be"
                )
        lines.sort(key=lambda cells: any(cell.place in ZONES for cell in cells))
        return cls(text, tuple(dict.fromkeys(lines)))

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
        """The lines as C takes them."""
        cells = [cell for line in self.lines for cell in line]
        ptr = np.cumsum([0, *map(len, self.lines)], dtype=np.int64)
        places = np.array([PLACES[cell.place] for cell in cells], dtype=np.int32)
        offsets, columns = (
            np.array([getattr(cell, name) for cell in cells], dtype=np.int32) for name in ("offset", "column")
        )
        seeds = fingerprints([" ".join(map(str, line)) for line in self.lines])
        return core.ArcTemplates(
            len(self.lines), self.n_between, len(cells), ptr, places, offsets, columns, seeds
        )

    def way_cells(self, owners: Ints, ptr: Offsets) -> npt.NDArray[np.bool_]:
        """Which cells of features are ways or sides; feature k has line ``owners[k]`` and cells from ``ptr[k]`` on."""
        kinds = np.array([cell.place in ("way", "side") for line in self.lines for cell in line])
        starts = np.cumsum([0, *map(len, self.lines)])
        within = np.arange(int(ptr[-1])) - np.repeat(ptr[:-1], np.diff(ptr))
        return kinds[np.repeat(starts[owners], np.diff(ptr)) + within]

    def memory(self, room: int) -> Any:
        """Working memory of C for sentences of so many words."""
        T, B = len(self.lines), self.n_between
        sizes = (*[(room + 1) * T] * 2, 13 * T, 64 * B, *[(room + 1) * B] * 2, T + 64 * B)
        return core.ArcMemory(room, T, B, *(np.zeros(size, dtype=np.uint64) for size in sizes))


def _cell(word: str, number: int) -> Cell:
    if word in ("way", "side"):
        return Cell(word)
    if found := _WORD.match(word):
        return Cell(found[1], int(found[2]), int(found[3]))
    if found := _ZONE.match(word):
        return Cell(found[1], 0, int(found[2]))
    raise InputError(
        f"template line {number}: {word!r} is no cell; cells are h[0,1], c[-1,0], b[1], l[1], r[1], way and side"
    )
