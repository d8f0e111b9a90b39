"""Feature templates for dependency arcs, siblings and grandparents.

A line is a feature; its cells are separated by spaces. ``h[0,1]`` is column 1 of the head, ``c[-1,1]`` of the word
before the child. ``b[1]`` is column 1 of each word between them, one feature for each distinct value; ``l[1]`` and
``r[1]`` read the words left and right of both. ``way`` is the side and distance of the child (1, 2, 3, 4, 5 to 9, 10
and more words), ``side`` the side alone. A line that begins with ``+`` stands for two, with ``way`` and without.

A line with ``s[0,1]`` is a second-order feature: of a child ``c`` and the child ``s`` of the same head before it,
from the inside to the outside. The first child has the sibling ``<none>``, the last is the sibling of an ``<end>``.
``gap`` is the way from sibling to child. A line with ``g[0,1]`` is a third-order feature: it reads the head's head,
with or without a sibling; ``up`` is the side of the grandparent on which the head is. ``#`` begins a comment.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from epigram._core import bindings
from epigram.errors import InputError
from epigram.features.attributes import fingerprints
from epigram.protocols import Ints, Offsets

PLACES = {"h": 0, "c": 1, "b": 2, "way": 3, "side": 4, "l": 5, "r": 6, "s": 7, "gap": 8, "g": 9, "up": 10}
ZONES = ("b", "l", "r")
NUMBERED = ("way", "side", "gap", "up")  # cells whose value is the number of a way
WAYS = (*(f"right {far}" for far in ("1", "2", "3", "4", "5-9", "10+")),
        *(f"left {far}" for far in ("1", "2", "3", "4", "5-9", "10+")), "root")  # fmt: skip
SIDES = ("right", "left", "root")
_WORD = re.compile(r"([hcsg])\[([+-]?\d+),(\d+)\]$")
_ZONE = re.compile(r"([blr])\[(\d+)\]$")


def read_built_in(*names: str) -> str:
    """Read built-in template files of the folder ``templates``, one after the other."""
    folder = Path(__file__).with_name("templates")
    return "".join("\n" + (folder / f"{name}.txt").read_text("utf-8") for name in names)


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
    """Parsed lines of a template, sorted by order.

    Lines of arcs come first, those with ``b``, ``l`` or ``r`` last among them; then lines of siblings, those with a
    head last; then lines of grandparents, those with siblings last.

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
        """Parse a template; errors name the line."""
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
            raise InputError("the arc template has no lines; give at least one, such as: +h[0,1] c[0,1]")
        for cells in lines:
            _check_line(cells)
        lines.sort(key=_rank)
        return cls(text, tuple(dict.fromkeys(lines)))

    def __reduce__(self) -> tuple[Any, ...]:
        return ArcTemplate.parse, (self.text,)

    def of_order(self, order: int) -> ArcTemplate:
        """Drop lines of a higher order: 1 keeps arcs alone, 2 also siblings, 3 also grandparents."""
        chosen = [line for line in self.lines if _rank(line) < 2 * order]
        if len(chosen) == len(self.lines):
            return self
        return ArcTemplate.parse("\n".join(" ".join(map(str, line)) for line in chosen))

    def within(self, n_columns: int) -> ArcTemplate:
        """Keep the lines that read only the first ``n_columns`` columns."""
        chosen = (line for line in self.lines if all(cell.column < n_columns for cell in line))
        return ArcTemplate.parse("\n".join(" ".join(map(str, line)) for line in chosen))

    @cached_property
    def arc_lines(self) -> tuple[tuple[Cell, ...], ...]:
        """The first-order lines."""
        return tuple(line for line in self.lines if _rank(line) < 2)

    @cached_property
    def part_lines(self) -> tuple[PartLines, ...]:
        """The second- and third-order lines: of siblings, of grandparents, of both."""
        found, first = [], len(self.arc_lines)
        for ranks in ((2, 3), (4,), (5,)):
            lines = tuple(line for line in self.lines if _rank(line) in ranks)
            if lines:
                found.append(PartLines(lines, first))
            first += len(lines)
        return tuple(found)

    @cached_property
    def part_kinds(self) -> tuple[PartLines, PartLines, PartLines]:
        """The lines of siblings, of grandparents and of both, each of which may be none."""
        found = {lines.rank: lines for lines in self.part_lines}
        siblings, grandparents, both = (found.get(rank, PartLines((), 0)) for rank in range(3))
        return siblings, grandparents, both

    @property
    def n_between(self) -> int:
        """Number of lines with a cell ``b``, ``l`` or ``r``."""
        return sum(any(cell.place in ZONES for cell in cells) for cells in self.lines)

    @property
    def n_columns(self) -> int:
        """Number of columns that the lines read."""
        return 1 + max(cell.column for cells in self.lines for cell in cells)

    @cached_property
    def struct(self) -> Any:
        """The first-order lines as a structure of C."""
        return _as_struct(self.arc_lines, self.n_between)

    @cached_property
    def whole_struct(self) -> Any:
        """All lines as a structure of C, for keys of features by their cells."""
        return _as_struct(self.lines, 0)

    def way_cells(self, owners: Ints, ptr: Offsets) -> npt.NDArray[np.bool_]:
        """Mark cells that are ways; feature k has line ``owners[k]`` and cells from ``ptr[k]`` on."""
        kinds = np.array([cell.place in NUMBERED for line in self.lines for cell in line])
        starts = np.cumsum([0, *map(len, self.lines)])
        within = np.arange(int(ptr[-1])) - np.repeat(ptr[:-1], np.diff(ptr))
        return kinds[np.repeat(starts[owners], np.diff(ptr)) + within]

    def memory(self, room: int) -> Any:
        """Allocate the working memory of C for sentences of up to ``room`` words."""
        T, B = len(self.arc_lines), self.n_between
        sizes = (*[(room + 1) * T] * 2, 13 * T, 64 * B, *[(room + 1) * B] * 2, T + 64 * B)
        memory = bindings.ArcMemory(room, *(np.zeros(size, dtype=np.uint64) for size in sizes))
        bindings.arcs_prepare(self.struct, memory)
        return memory


@dataclass(frozen=True)
class PartLines:
    """Lines of one kind of parts, and the index of the first of them in the template."""

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
        """Whether the lines read the end after the last child."""
        return self.rank != 1

    @cached_property
    def struct(self) -> Any:
        """The lines as a structure of C."""
        return _as_struct(self.lines, 0)

    def memory(self, room: int) -> Any:
        """Allocate the working memory of C for sentences of up to ``room`` words."""
        T = len(self.lines)
        sizes = (4 * (room + 2) * T, 78 * T, T)
        memory = bindings.PartMemory(room, *(np.zeros(size, dtype=np.uint64) for size in sizes))
        bindings.part_features_prepare(self.struct, memory)
        return memory


def _as_struct(lines: tuple[tuple[Cell, ...], ...], n_between: int) -> Any:
    """Convert lines to a structure of C."""
    cells = [cell for line in lines for cell in line]
    ptr = np.cumsum([0, *map(len, lines)], dtype=np.int64)
    places = np.array([PLACES[cell.place] for cell in cells], dtype=np.int32)
    offsets, columns = (
        np.array([getattr(cell, name) for cell in cells], dtype=np.int32) for name in ("offset", "column")
    )
    seeds = fingerprints([" ".join(map(str, line)) for line in lines])
    return bindings.ArcTemplates(n_between, ptr, places, offsets, columns, seeds)


def _rank(line: tuple[Cell, ...]) -> int:
    """Rank a line: 0 arc, 1 with b, l, r; 2 sibling, 3 with head; 4 grandparent, 5 with sibling."""
    places = {cell.place for cell in line}
    if "g" in places:
        return 5 if "s" in places else 4
    if "s" in places:
        return 3 if "h" in places else 2
    return 1 if places & set(ZONES) else 0


def _check_line(cells: tuple[Cell, ...]) -> None:
    """Refuse combinations of cells that are not possible."""
    places, text = [cell.place for cell in cells], " ".join(map(str, cells))
    if sum(place in ZONES for place in places) > 1:
        raise InputError(f"template line {text}: a line has at most one cell of b, l and r")
    if {"s", "g"} & set(places) and any(place in (*ZONES, "way") for place in places):
        raise InputError(
            f"template line {text}: a line with s or g may have only cells of g, h, s and c, side, gap and up"
        )
    if "up" in places and "g" not in places:
        raise InputError(f"template line {text}: up needs a cell of g, and there is no g")
    if "gap" in places and "s" not in places:
        raise InputError(f"template line {text}: gap needs a cell of s, and there is no s")


def _cell(word: str, number: int) -> Cell:
    if word in NUMBERED:
        return Cell(word)
    if found := _WORD.match(word):
        return Cell(found[1], int(found[2]), int(found[3]))
    if found := _ZONE.match(word):
        return Cell(found[1], 0, int(found[2]))
    raise InputError(
        f"template line {number}: {word!r} is not a cell; "
        "cells are h[0,1], c[-1,0], s[0,1], g[0,1], b[1], l[1], r[1], way, side, gap and up"
    )
