r"""Feature templates in the syntax of CRF++, with functions on cells.

``U00:%x[-1,0]/%x[0,0]`` is an attribute of a token made of the cells one line up and here in column 0; ``B``
asks for weights on pairs of labels; ``B01:%x[0,0]`` makes a pair of labels look at the observation. Beyond
CRF++: functions (``%x[0,0|lower|suffix:3]``; here, each from one string to none, one or many), and the directive
``# outside: drop``, which drops an attribute with a cell outside the sentence instead of writing ``_B-1``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from epigram.errors import InputError
from epigram.text import read_text

if TYPE_CHECKING:
    from epigram.tagging.corpus import Columns

BUILT_IN = ("chunking", "ner", "pos")
DIRECTIVE = re.compile(r"#\s*outside:\s*(\w+)\s*")
CELL_HEAD = re.compile(r"%x\[\s*([+-]?\d+)\s*,\s*(\d+)\s*([|\]])")


Values: TypeAlias = tuple[str, ...]


def lower(cell: str) -> Values:
    """``IL-2`` gives ``il-2``."""
    return (cell.lower(),)


def shape(cell: str) -> Values:
    """``IL-2`` gives ``AA-#``: capital letters A, other letters a, digits #, anything else itself."""
    return (cell.translate(_SHAPES),)


def normalise(cell: str) -> Values:
    """``IL-2`` gives ``il-#``: lower case, digits become #."""
    return ("".join("#" if character.isdecimal() else character for character in cell.lower()),)


def boundary(cell: str) -> Values:
    """Nothing inside the sentence; outside, the mark of the place (``_B-1``), dropped or not elsewhere."""
    return ()


def prefix(cell: str, length: int) -> Values:
    """The first ``length`` characters; nothing where the cell is shorter."""
    return (cell[:length],) if len(cell) >= length else ()


def suffix(cell: str, length: int) -> Values:
    """The last ``length`` characters; nothing where the cell is shorter."""
    return (cell[-length:],) if len(cell) >= length else ()


def substrings(cell: str, limit: int) -> Values:
    """All distinct substrings shorter than ``limit``, by their start and then by their length."""
    n = len(cell)
    spans = (cell[i:j] for i in range(n) for j in range(i + 1, min(n, i + limit - 1) + 1))
    return tuple(dict.fromkeys(spans))


def match(cell: str, pattern: re.Pattern[str]) -> Values:
    """``1`` where the regular expression is found in the cell, else ``0``."""
    return ("1" if pattern.search(cell) else "0",)


PLAIN: dict[str, Callable[[str], Values]] = {
    "lower": lower,
    "shape": shape,
    "normalise": normalise,
    "boundary": boundary,
}
WITH_LENGTH: dict[str, tuple[Callable[[str, int], Values], int]] = {
    "prefix": (prefix, 1),
    "suffix": (suffix, 1),
    "substrings": (substrings, 2),
}
NAMES = (*PLAIN, *(f"{name}:N" for name in WITH_LENGTH), "match:REGEX")


@dataclass(frozen=True, slots=True)
class CellFunction:
    """One function with its argument, as written in a template.

    Examples
    --------
    >>> CellFunction.parse("suffix:2")("running")
    ('ng',)
    >>> CellFunction.parse("match:^[0-9]+$")("1984")
    ('1',)
    """

    text: str
    apply: Callable[[str], Values] = field(compare=False, repr=False)

    @classmethod
    def parse(cls, text: str) -> CellFunction:
        """Read ``name`` or ``name:argument``; a ValueError says what is wrong with it."""
        name, colon, argument = text.partition(":")
        if name in PLAIN and not colon:
            return cls(text, PLAIN[name])
        if name in WITH_LENGTH:
            function, least = WITH_LENGTH[name]
            if not argument.isdecimal() or int(argument) < least:
                raise ValueError(
                    f"{name} needs a whole number of at least {least}, as in {name}:3, not {text!r}"
                )
            length = int(argument)
            return cls(text, lambda cell: function(cell, length))
        if name == "match" and argument:
            try:
                pattern = re.compile(argument)
            except re.error as error:
                raise ValueError(f"bad regular expression {argument!r}: {error}") from None
            return cls(text, lambda cell: match(cell, pattern))
        raise ValueError(f"unknown function {text!r}; there are {', '.join(NAMES)}")

    def __call__(self, cell: str) -> Values:
        """The values of the function at a cell."""
        return self.apply(cell)

    def __reduce__(self) -> tuple[Callable[[str], CellFunction], tuple[str]]:
        return CellFunction.parse, (self.text,)


def apply_chain(functions: tuple[CellFunction, ...], cell: str) -> Values:
    """The functions from left to right; each is applied to every value of the one before.

    Examples
    --------
    >>> apply_chain((CellFunction.parse("lower"), CellFunction.parse("prefix:1")), "IL-2")
    ('i',)
    """
    values: Values = (cell,)
    for function in functions:
        if len(values) == 1:
            values = function.apply(values[0])
            continue
        values = tuple(dict.fromkeys(out for value in values for out in function(value)))
    return values


class _Shapes(dict[int, str]):
    """The shape of each character, worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if character.isdecimal():
            found = "#"
        elif character.isupper():
            found = "A"
        else:
            found = "a" if character.isalpha() else character
        self[code] = found
        return found


_SHAPES = _Shapes()


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


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a template: ``literals[0] cells[0] literals[1] ... literals[-1]``."""

    number: int
    literals: tuple[str, ...]
    cells: tuple[Cell, ...]


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

    @classmethod
    def parse(cls, text: str, path: str | None = None) -> Template:
        """Read a template; an InputError names the line that is wrong."""
        nodes: list[Line] = []
        edges: list[Line] = []
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
            if line[0] not in "UB":
                raise InputError(
                    f"a template line starts with U, B or #, not {line[0]!r}",
                    path=path or "template",
                    line=number,
                )
            try:
                parsed = _parse_line(line, number)
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
        return cls(text, path, tuple(nodes), tuple(edges), transitions, drops_outside)

    @classmethod
    def load(cls, name: str | PathLike[str]) -> Template:
        """A built-in template by its name (``chunking``, ``ner``, ``pos``), else a template file.

        Examples
        --------
        >>> len(Template.load("chunking").nodes)
        21
        """
        if str(name) in BUILT_IN:
            file = Path(__file__).with_name("templates") / f"{name}.txt"
            return cls.parse(file.read_text(encoding="utf-8"), str(name))
        if not Path(name).exists():
            raise InputError(
                f"no such template; built-in ones are {', '.join(BUILT_IN)}, else name a file", path=name
            )
        return cls.parse(read_text(name), str(name))

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
        return 1 + max((cell.column for line in self.nodes + self.edges for cell in line.cells), default=-1)

    def check(self, n_columns: int, path: str | None = None) -> None:
        """Raise an InputError where a line names a column that the input has not."""
        if n_columns >= self.n_columns:
            return
        for line in self.nodes + self.edges:
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
        for line in lines:
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


def _parse_line(line: str, number: int) -> Line:
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
            functions, at = _parse_functions(line, at)
        cells.append(Cell(int(head[1]), int(head[2]), functions))


def _parse_functions(line: str, at: int) -> tuple[tuple[CellFunction, ...], int]:
    """Functions up to the closing bracket; ``match`` is the last one, its pattern may hold bars."""
    functions: list[CellFunction] = []
    while True:
        if line.startswith("match:", at):
            end = _pattern_end(line, at)
            return (*functions, CellFunction.parse(line[at:end])), end + 1
        stop = re.compile(r"[|\]]").search(line, at)
        if stop is None:
            raise ValueError(f"no closing bracket after {line[at:]!r}")
        functions.append(CellFunction.parse(line[at : stop.start()].strip()))
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
