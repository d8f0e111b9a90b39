"""The lines of a template, split into literals and cells, and the functions on cells.

A function makes none, one or many strings of one string. ``U`` and ``B`` lines are attributes of tokens and of steps
between them, ``S`` lines attributes of segments.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeAlias

from epigram.errors import InputError
from epigram.features.lexicon import KINDS, WordTable
from epigram.features.regex import compile_search

Values: TypeAlias = tuple[str, ...]
MOST_VALUES = 20_000
"""That functions may make of one cell."""
CELL_HEAD = re.compile(r"%x\[\s*([+-]?\d+)\s*,\s*(\d+)\s*([|\]])")
FARTHEST = 1000
"""Lines between a token and a cell that its template looks at."""
PLACES = ("all", "first", "last", "before", "after")
SEGMENT_HEAD = re.compile(rf"%x\[\s*(?:({'|'.join(PLACES)})\s*,\s*(\d+)\s*([|\]])|length\s*\])")


def lower(cell: str) -> Values:
    """``IL-2`` gives ``il-2``."""
    return (cell.lower(),)


def shape(cell: str) -> Values:
    """Map capitals to A, other letters to a, digits to #: ``IL-2`` gives ``AA-#``."""
    return (cell.translate(_SHAPES),)


def normalise(cell: str) -> Values:
    """``IL-2`` gives ``il-#``: lower case, digits become #."""
    return ("".join("#" if character.isdecimal() else character for character in cell.lower()),)


def boundary(cell: str) -> Values:
    """Return nothing inside the sentence, outside it the mark of the position (``_B-1``)."""
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
    if n * min(n, limit - 1) > MOST_VALUES:
        raise too_many(f"substrings:{limit}", cell)
    spans = (cell[i:j] for i in range(n) for j in range(i + 1, min(n, i + limit - 1) + 1))
    return tuple(dict.fromkeys(spans))


def too_many(what: str, cell: str) -> InputError:
    """The error of a function that makes too much of a cell."""
    return InputError(
        f"{what} makes more than {MOST_VALUES:,} values of the cell {cell[:20]!r} of {len(cell):,} characters; "
        "use a smaller number"
    )


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
MASKS = ("frequent", "rare")
NAMES = (
    *PLAIN,
    *(f"{name}:N" for name in WITH_LENGTH),
    *(f"{name}:FILE" for name in KINDS),
    *(f"{name}:N" for name in MASKS),
    "match:REGEX",
)
FindList: TypeAlias = Callable[[str], WordTable]


@dataclass(frozen=True, slots=True)
class Mask:
    """``frequent:N``, the cell if training saw it N times or more, or ``rare:N``, if not.

    ``words`` are the frequent ones, each with itself as its value; None before training, which learns them.

    Examples
    --------
    >>> mask = Mask("rare", 2, WordTable("", {"the": ("the",)}))
    >>> mask("the"), mask("zebra")
    ((), ('zebra',))
    """

    kind: str
    least: int
    words: WordTable | None = field(default=None, repr=False)

    def __call__(self, cell: str) -> Values:
        """The cell, or nothing."""
        if self.words is None:
            raise ValueError(
                f"{self.kind}:{self.least} is learnt from training sentences; fit the tagger first."
            )
        return (cell,) if (cell in self.words.table) == (self.kind == "frequent") else ()


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
    def parse(cls, text: str, find: FindList = WordTable.read) -> CellFunction:
        """Parse ``name`` or ``name:argument``; ``find`` loads word lists. Raises ValueError."""
        name, colon, argument = text.partition(":")
        if name in KINDS and colon:
            return cls(text, find(text))
        if name in MASKS:
            if not argument.isdecimal() or int(argument) < 1:
                raise ValueError(f"{name} needs a whole number of at least 1, as in {name}:3, not {text!r}")
            return cls(text, Mask(name, int(argument)))
        if name in PLAIN and not colon:
            return cls(text, PLAIN[name])
        if name in WITH_LENGTH:
            function, least = WITH_LENGTH[name]
            if not argument.isdecimal() or len(argument) > 9 or int(argument) < least:
                raise ValueError(
                    f"{name} needs a whole number of at least {least}, as in {name}:3, not {text!r}"
                )
            length = int(argument)
            return cls(text, lambda cell: function(cell, length))
        if name == "match" and argument:
            try:
                search = compile_search(argument)
            except re.error as error:
                raise ValueError(f"bad regular expression {argument!r}: {error}") from None
            return cls(text, lambda cell: ("1" if search(cell) else "0",))
        raise ValueError(f"unknown function {text!r}; there are {', '.join(NAMES)}")

    def __call__(self, cell: str) -> Values:
        """The values of the function at a cell."""
        return self.apply(cell)

    @property
    def lexicon(self) -> WordTable | None:
        """The word list that it asks, if it does."""
        if isinstance(self.apply, Mask):
            return self.apply.words
        return self.apply if isinstance(self.apply, WordTable) else None

    @property
    def makes_many(self) -> bool:
        """Whether it may make more than one value of a cell."""
        return self.text.partition(":")[0] in ("substrings", *KINDS)

    def __reduce__(self) -> tuple[Callable[..., CellFunction], tuple[Any, ...]]:
        if isinstance(self.apply, WordTable | Mask):
            return CellFunction, (self.text, self.apply)
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
        made = list(islice((out for value in values for out in function(value)), MOST_VALUES + 1))
        if len(made) > MOST_VALUES:
            raise too_many("|".join(one.text for one in functions), cell)
        values = tuple(dict.fromkeys(made))
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
class TemplateCell:
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
    cells: tuple[TemplateCell, ...]


@dataclass(frozen=True, slots=True)
class SegmentCell:
    """``%x[place,column|functions]`` of an ``S`` line; ``length`` stands alone."""

    place: str
    column: int = 0
    functions: tuple[CellFunction, ...] = ()


@dataclass(frozen=True, slots=True)
class SegmentLine:
    """One ``S`` line, an attribute of whole segments, as literals and cells in turn."""

    number: int
    literals: tuple[str, ...]
    cells: tuple[SegmentCell, ...]


def parse_line(line: str, number: int, find: FindList) -> Line:
    """Split a line into literals and cells; raise ValueError if a cell is malformed."""
    literals, found = _split_line(line, CELL_HEAD, "%x[ROW,COLUMN] or %x[ROW,COLUMN|FUNCTION]", "", find)
    for head, _ in found:
        if max(len(head[1]), len(head[2])) > 5 or abs(int(head[1])) > FARTHEST:
            raise ValueError(f"a cell may be {FARTHEST:,} places away, not more: {head[0]!r}")
    cells = tuple(TemplateCell(int(head[1]), int(head[2]), functions) for head, functions in found)
    return Line(number, literals, cells)


def parse_segment_line(line: str, number: int, find: FindList) -> SegmentLine:
    """Split an ``S`` line into literals and cells; raise ValueError if a cell is malformed."""
    places = f"; places are {', '.join(PLACES)}"
    literals, found = _split_line(line, SEGMENT_HEAD, "%x[PLACE,COLUMN] or %x[length]", places, find)
    if any(one.lexicon and one.lexicon.matches_spans for _, functions in found for one in functions):
        raise ValueError("in:FILE is for U lines; a segment's text is looked up by class:FILE")
    cells = (
        SegmentCell(head[1], int(head[2]), functions) if head[1] else SegmentCell("length")
        for head, functions in found
    )
    return SegmentLine(number, literals, tuple(cells))


def _split_line(
    line: str, pattern: re.Pattern[str], expected: str, hint: str, find: FindList
) -> tuple[tuple[str, ...], list[tuple[re.Match[str], tuple[CellFunction, ...]]]]:
    """Return the literals of a line, and of each cell between them its head and functions."""
    literals, cells, at = [], [], 0
    while (start := line.find("%x", at)) >= 0:
        literals.append(line[at:start])
        head = pattern.match(line, start)
        if head is None:
            raise ValueError(f"expected {expected} at {line[start:]!r}{hint}")
        functions, at = _parse_functions(line, head.end(), find) if head[3] == "|" else ((), head.end())
        cells.append((head, functions))
    return (*literals, line[at:]), cells


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
    """Return the first ``]`` that is neither escaped nor closes a character class."""
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
