r"""Feature templates in the syntax of CRF++, with functions on cells.

``U00:%x[-1,0]/%x[0,0]`` is an attribute of a token made of the cells one line up and here in column 0; ``B``
asks for weights on pairs of labels; ``B01:%x[0,0]`` makes a pair of labels look at the observation. Beyond
CRF++: functions (``%x[0,0|lower|suffix:3]``, :mod:`epigram.tagging.cell_functions`), of which ``class:FILE``,
``in:FILE`` and ``vector:FILE`` ask a word list (:mod:`epigram.tagging.lexicon`), and the directive
``# outside: drop``, which drops an attribute with a cell outside the sentence instead of writing ``_B-1``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epigram.errors import InputError
from epigram.tagging.cell_functions import CellFunction, FindList, apply_chain
from epigram.tagging.lexicon import Lexicon, mapped_phrases, match_spans
from epigram.text import read_text

if TYPE_CHECKING:
    from epigram.tagging.corpus import Column, Columns

BUILT_IN = ("chunking", "ner", "pos", "chunking+", "ner+", "pos+")
DIRECTIVE = re.compile(r"#\s*outside:\s*(\w+)\s*")
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


@dataclass(frozen=True)
class Template:
    """A parsed template; :attr:`text` is what was parsed.

    Attributes
    ----------
    text, path
        The source, and where it was read from (a built-in template's name, a file, or None).
    nodes
        ``U`` lines: attributes of tokens.
    edges
        ``B`` lines with cells: attributes of transitions.
    transitions
        True where a line is a plain ``B``: a weight for each pair of labels.
    drops_outside
        True under ``# outside: drop``.
    segments
        ``S`` lines: attributes of segments, for :class:`~epigram.tagging.segment.SegmentTagger`.

    Examples
    --------
    >>> template = Template.parse("U00:%x[-1,0|lower]/%x[0,0]\\nB\\n")
    >>> template.nodes[0].cells[0].offset, template.transitions
    (-1, True)
    >>> from epigram.tagging.corpus import Columns
    >>> list(template.expand(Columns.from_rows([[("The",), ("cat",)]]), 1, template.nodes))
    ['U00:the/cat']
    """

    text: str
    path: str | None
    nodes: tuple[Line, ...]
    edges: tuple[Line, ...]
    transitions: bool
    drops_outside: bool
    segments: tuple[SegmentLine, ...] = ()

    @classmethod
    def parse(
        cls, text: str, path: str | None = None, lexicons: Mapping[str, Lexicon] | None = None
    ) -> Template:
        """Read a template; an InputError names the line that is wrong.

        The word lists it asks are ``lexicons``; None reads their files, which lie beside ``path`` or in the current
        folder.
        """
        find = _finder(path, lexicons)
        nodes: list[Line] = []
        edges: list[Line] = []
        segments: list[SegmentLine] = []
        transitions = drops_outside = False
        for number, line in enumerate(text.splitlines(), start=1):
            line = line.strip()
            directive = DIRECTIVE.fullmatch(line)
            if directive:
                if directive[1] not in ("drop", "mark"):
                    raise InputError(
                        f"outside is drop or mark, not {directive[1]!r}", path=path or "template", line=number
                    )
                drops_outside = directive[1] == "drop"
            if not line or line.startswith("#"):
                continue
            if line[0] not in "UBS":
                raise InputError(
                    f"a template line starts with U, B, S or #, not {line[0]!r}",
                    path=path or "template",
                    line=number,
                )
            try:
                if line[0] == "S":
                    segments.append(_parse_segment_line(line, number, find))
                    continue
                parsed = _parse_line(line, number, find)
            except InputError:
                raise
            except ValueError as error:
                raise InputError(str(error), path=path or "template", line=number) from None
            if line[0] == "U":
                nodes.append(parsed)
            elif parsed.cells:
                edges.append(parsed)
            else:
                transitions = True
        if not nodes:
            raise InputError("a template needs at least one U line", path=path or "template")
        return cls(text, path, tuple(nodes), tuple(edges), transitions, drops_outside, tuple(segments))

    @classmethod
    def load(cls, name: str | PathLike[str]) -> Template:
        """A built-in template by its name (``chunking``, ``ner``, ``pos``, or richer ``chunking+``, ...), else a file.

        Examples
        --------
        >>> len(Template.load("chunking").nodes)
        21
        """
        if str(name) in BUILT_IN:
            file = Path(__file__).with_name("templates") / f"{str(name).replace('+', '_plus')}.txt"
            return cls.parse(file.read_text(encoding="utf-8"), str(name))
        if not Path(name).exists():
            raise InputError(
                f"no such template; built-in ones are {', '.join(BUILT_IN)}, else name a file", path=name
            )
        return cls.parse(read_text(name), str(name))

    def with_lists(
        self,
        classes: str | PathLike[str] | None = None,
        gazetteer: str | PathLike[str] | None = None,
        vectors: str | PathLike[str] | None = None,
    ) -> Template:
        """The same with lines that look word lists up for the words of column 0.

        Classes: those of the five words around, of both pairs with a neighbour and of all three together; phrases:
        those of three; vectors: those of three.
        """
        lines = []
        for k, (kind, file, shapes) in enumerate((
            ("class", classes, ((-2,), (-1,), (0,), (1,), (2,), (-1, 0), (0, 1), (-1, 0, 1))),
            ("in", gazetteer, ((-1,), (0,), (1,), (-1, 0), (0, 1))),
            ("vector", vectors, ((-1,), (0,), (1,))),
        )):  # fmt: skip
            if file is not None:
                for n, offsets in enumerate(shapes):
                    name = f"{kind}:{file}" + ("#1" if kind == "class" and len(offsets) > 1 else "")
                    lines.append(f"UL{k}{n}:" + "/".join(f"%x[{at},0|{name}]" for at in offsets))
        if not lines:
            return self
        path = None if self.path in BUILT_IN else self.path
        return Template.parse("\n".join([self.text.rstrip("\n"), *lines, ""]), path)

    @cached_property
    def lexicons(self) -> dict[str, Lexicon]:
        """The word lists that it asks, by what it calls them."""
        functions = [one for line in self.lines for cell in line.cells for one in cell.functions]
        asked = [one.lexicon for one in functions if one.lexicon is not None]
        return {lexicon.name: lexicon for lexicon in asked}

    def placed(self, columns: Columns) -> tuple[Template, Columns]:
        """The same where each gazetteer's phrases are found in the text already, as columns of their own."""
        if not self._matches_spans:
            return self, columns
        found: dict[tuple[int, tuple[CellFunction, ...]], int] = {}
        added = []

        def place(cell: Cell) -> Cell:
            k = cell.spans
            if k is None:
                return cell
            key = (cell.column, cell.functions[: k + 1])
            if key not in found:
                found[key] = columns.n_columns + len(found)
                added.append(_matched(columns, cell.column, cell.functions[:k], cell.functions[k]))
            return replace(cell, column=found[key], functions=(_IF_ANY, *cell.functions[k + 1 :]))

        def lines(given: tuple[Line, ...]) -> tuple[Line, ...]:
            return tuple(replace(line, cells=tuple(map(place, line.cells))) for line in given)

        nodes, edges = lines(self.nodes), lines(self.edges)
        return replace(self, nodes=nodes, edges=edges), replace(columns, columns=[*columns.columns, *added])

    @property
    def has_transitions(self) -> bool:
        """False without ``B`` lines: tokens are then labelled one by one."""
        return self.transitions or bool(self.edges)

    @cached_property
    def reach(self) -> int:
        """The largest distance of a cell from the token."""
        return max((abs(cell.offset) for line in self.nodes + self.edges for cell in line.cells), default=0)

    @cached_property
    def plans(self) -> dict[tuple[int, ...], Any]:
        """What :mod:`epigram.tagging.encoding` works out about some lines, by their numbers."""
        return {}

    @cached_property
    def n_columns(self) -> int:
        """How many columns the lines look at."""
        return 1 + max((cell.column for line in self.lines for cell in line.cells), default=-1)

    @property
    def lines(self) -> tuple[Line | SegmentLine, ...]:
        """Those of tokens, transitions and segments."""
        return (*self.nodes, *self.edges, *self.segments)

    @cached_property
    def _matches_spans(self) -> bool:
        return any(lexicon.matches_spans for lexicon in self.lexicons.values())

    def check(self, n_columns: int, path: str | None = None) -> None:
        """Raise an InputError where a line names a column that the input has not."""
        if n_columns >= self.n_columns:
            return
        for line in self.lines:
            for cell in line.cells:
                if cell.column >= n_columns:
                    raise InputError(
                        f"column {cell.column} is asked for (counted from 0), but {path or 'the input'} has "
                        f"{n_columns} column{'s' * (n_columns != 1)} of observations",
                        path=self.path or "template",
                        line=line.number,
                    )

    def marks(self, cell: Cell) -> bool:
        """True where the cell has a value (``_B-1``) outside the sentence."""
        return cell.boundary or not self.drops_outside

    def expand(self, columns: Columns, token: int, lines: tuple[Line, ...]) -> Iterator[str]:
        """The attributes of one token as strings, in the order of encoding: for people, not for speed."""
        begin, end = columns.sentence_of(token)
        placed, columns = replace(self, nodes=lines, edges=()).placed(columns)
        for line in placed.nodes:
            yield from self.spell(columns, line, token, begin, end)

    def spell(self, columns: Columns, line: Line, token: int, begin: int, end: int) -> list[str]:
        """The attributes of one line at a token of the sentence ``begin`` to ``end``, last cell fastest."""
        names = [line.literals[0]]
        for cell, literal in zip(line.cells, line.literals[1:], strict=True):
            values = self._values(cell, columns, token + cell.offset, begin, end)
            names = [name + value + literal for name in names for value in values]
        return names

    def _values(self, cell: Cell, columns: Columns, at: int, begin: int, end: int) -> tuple[str, ...]:
        if begin <= at < end:
            return apply_chain(cell.functions, columns.columns[cell.column].string(at))
        return (outside_mark(at - begin if at < begin else at - end + 1),) if self.marks(cell) else ()


def outside_mark(distance: int) -> str:
    """What CRF++ writes for a cell ``distance`` places outside the sentence: ``_B-1``, ``_B+2``."""
    return f"_B{distance:+d}"


def _matched(
    columns: Columns, column: int, before: tuple[CellFunction, ...], gazetteer: CellFunction
) -> Column:
    """What a gazetteer finds in a column, after some functions."""
    from epigram.tagging.corpus import Column

    assert gazetteer.lexicon is not None
    given = columns.columns[column]
    lexicon = mapped_phrases(gazetteer.lexicon, lambda word: apply_chain(before, word))
    values = (apply_chain(before, string) for string in given.strings)
    forms = [one[0] if len(one) == 1 else None for one in values]
    return Column(*match_spans(lexicon, columns.sentence_ptr, given.ids, forms))


_IF_ANY = CellFunction("if any", lambda cell: (cell,) if cell else ())


def _finder(path: str | None, lexicons: Mapping[str, Lexicon] | None) -> FindList:
    """Where a template has its word lists from: those given, or files, each read once."""
    folder = None if path is None or path in BUILT_IN else Path(path).parent
    read: dict[str, Lexicon] = {}

    def find(name: str) -> Lexicon:
        if lexicons is not None:
            if name not in lexicons:
                raise ValueError(f"the word list {name!r} is not there")
            return lexicons[name]
        if name not in read:
            read[name] = Lexicon.read(name, folder)
        return read[name]

    return find


def _parse_line(line: str, number: int, find: FindList) -> Line:
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


def _parse_segment_line(line: str, number: int, find: FindList) -> SegmentLine:
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
