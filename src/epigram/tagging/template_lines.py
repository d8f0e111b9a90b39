"""The lines of a template, each split into literals and cells: ``U`` and ``B`` lines, and ``S`` lines of segments."""

from __future__ import annotations

import re
from dataclasses import dataclass

from epigram.tagging.cell_functions import CellFunction, FindList

CELL_HEAD = re.compile(r"%x\[\s*([+-]?\d+)\s*,\s*(\d+)\s*([|\]])")
FARTHEST = 1000
"""Lines between a token and a cell that its template looks at."""
PLACES = ("all", "first", "last", "before", "after")
SEGMENT_HEAD = re.compile(rf"%x\[\s*(?:({'|'.join(PLACES)})\s*,\s*(\d+)\s*([|\]])|length\s*\])")


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell that a line looks at: ``%x[offset,column|functions]``."""

    offset: int
    column: int
    functions: tuple[CellFunction, ...] = ()

    @property
    def boundary(self) -> bool:
        """True where the cell has a value outside the sentence only."""
        return any(function.text == "boundary" for function in self.functions)

    @property
    def spans(self) -> int | None:
        """Which function is a gazetteer, whose phrases may span tokens; None for none."""
        asked = (k for k, one in enumerate(self.functions) if one.lexicon and one.lexicon.matches_spans)
        return next(asked, None)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a template: ``literals[0] cells[0] literals[1] ... literals[-1]``."""

    number: int
    literals: tuple[str, ...]
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class SegmentCell:
    """``%x[place,column|functions]`` of an ``S`` line; the place ``length`` has neither column nor functions."""

    place: str
    column: int = 0
    functions: tuple[CellFunction, ...] = ()


@dataclass(frozen=True, slots=True)
class SegmentLine:
    """One ``S`` line, an attribute of whole segments: ``literals[0] cells[0] literals[1] ... literals[-1]``."""

    number: int
    literals: tuple[str, ...]
    cells: tuple[SegmentCell, ...]


def parse_line(line: str, number: int, find: FindList) -> Line:
    """Split a line into literals and cells; ValueError where a cell is malformed."""
    literals: list[str] = []
    cells: list[Cell] = []
    at = 0
    while True:
        start = line.find("%x", at)
        if start < 0:
            literals.append(line[at:])
            return Line(number, tuple(literals), tuple(cells))
        literals.append(line[at:start])
        head = CELL_HEAD.match(line, start)
        if head is None:
            raise ValueError(f"expected %x[ROW,COLUMN] or %x[ROW,COLUMN|FUNCTION] at {line[start:]!r}")
        at = head.end()
        functions: tuple[CellFunction, ...] = ()
        if head[3] == "|":
            functions, at = _parse_functions(line, at, find)
        if max(len(head[1]), len(head[2])) > 5 or abs(int(head[1])) > FARTHEST:
            raise ValueError(f"a cell may be {FARTHEST:,} places away, not more: {head[0]!r}")
        cells.append(Cell(int(head[1]), int(head[2]), functions))


def parse_segment_line(line: str, number: int, find: FindList) -> SegmentLine:
    """Split an ``S`` line into literals and cells; ValueError where a cell is malformed."""
    literals: list[str] = []
    cells: list[SegmentCell] = []
    at = 0
    while (start := line.find("%x", at)) >= 0:
        literals.append(line[at:start])
        head = SEGMENT_HEAD.match(line, start)
        if head is None:
            raise ValueError(
                f"expected %x[PLACE,COLUMN] or %x[length] at {line[start:]!r}; places are {', '.join(PLACES)}"
            )
        at = head.end()
        functions: tuple[CellFunction, ...] = ()
        if head[3] == "|":
            functions, at = _parse_functions(line, at, find)
        if any(one.lexicon and one.lexicon.matches_spans for one in functions):
            raise ValueError("in:FILE is for U lines; a segment's text is looked up by class:FILE")
        cells.append(SegmentCell(head[1], int(head[2]), functions) if head[1] else SegmentCell("length"))
    return SegmentLine(number, (*literals, line[at:]), tuple(cells))


def _parse_functions(line: str, at: int, find: FindList) -> tuple[tuple[CellFunction, ...], int]:
    """Functions up to the closing bracket; ``match`` is the last one, its pattern may hold bars."""
    functions: list[CellFunction] = []
    while True:
        if line.startswith("match:", at):
            end = _pattern_end(line, at)
            return (*functions, CellFunction.parse(line[at:end])), end + 1
        stop = re.compile(r"[|\]]").search(line, at)
        if stop is None:
            raise ValueError(f"no closing bracket after {line[at:]!r}")
        functions.append(CellFunction.parse(line[at : stop.start()].strip(), find))
        at = stop.end()
        if stop[0] == "]":
            return tuple(functions), at


def _pattern_end(line: str, at: int) -> int:
    """The first ``]`` that is neither escaped nor the end of a character class of the regular expression."""
    in_class = False
    while at < len(line):
        if line[at] == "\\":
            at += 1
        elif in_class:
            in_class = line[at] != "]"
        elif line[at] == "[":
            in_class = True
            # a closing bracket that comes first in a class stands for itself
            at += 2 if line.startswith("[^]", at) else line.startswith("[]", at)
        elif line[at] == "]":
            return at
        at += 1
    raise ValueError("no closing bracket after the regular expression")
