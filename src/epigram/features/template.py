r"""Feature templates in the syntax of CRF++, with functions on cells.

``U00:%x[-1,0]/%x[0,0]`` is an attribute of a token made of the cells one line up and here in column 0; ``B``
asks for weights on pairs of labels; ``B01:%x[0,0]`` makes a pair of labels look at the observation. Beyond
CRF++: functions (``%x[0,0|lower|suffix:3]``, :mod:`epigram.features.cell_functions`), of which ``class:FILE``,
``in:FILE`` and ``vector:FILE`` ask a word list (:mod:`epigram.features.lexicon`), and the directive
``# outside: drop``, which drops an attribute with a cell outside the sentence instead of writing ``_B-1``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from epigram.errors import InputError
from epigram.features.cell_functions import (
    CellFunction,
    FindList,
    Line,
    Mask,
    SegmentCell,
    SegmentLine,
    TemplateCell,
    apply_chain,
    parse_line,
    parse_segment_line,
)
from epigram.features.lexicon import WordTable, mapped_phrases, match_spans
from epigram.files import read_text

if TYPE_CHECKING:
    from epigram.features.columns import Column, Columns

BUILT_IN = ("chunking", "ner", "pos", "chunking+", "ner+", "pos+")
DIRECTIVE = re.compile(r"#\s*outside:\s*(\w+)\s*")


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
    >>> from epigram.features.columns import Columns
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
        cls, text: str, path: str | None = None, lexicons: Mapping[str, WordTable] | None = None
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
                    segments.append(parse_segment_line(line, number, find))
                    continue
                parsed = parse_line(line, number, find)
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
        parsed_all = cls(text, path, tuple(nodes), tuple(edges), transitions, drops_outside, tuple(segments))
        return parsed_all if lexicons is None else parsed_all._masked(lambda name, _: lexicons.get(name))

    @classmethod
    def load(cls, name: str | PathLike[str]) -> Template:
        """Load a built-in template (``chunking``, ``ner``, ``pos``, ``chunking+``, ...) or a file.

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
    def lexicons(self) -> dict[str, WordTable]:
        """The word lists that it asks, by what it calls them."""
        functions = [one for line in self.lines for cell in line.cells for one in cell.functions]
        asked = [one.lexicon for one in functions if one.lexicon is not None]
        return {lexicon.name: lexicon for lexicon in asked}

    def placed(self, columns: Columns) -> tuple[Template, Columns]:
        """Return the template with gazetteer phrases matched in the text, as extra columns."""
        if not self._matches_spans:
            return self, columns
        found: dict[tuple[int, tuple[CellFunction, ...]], int] = {}
        added = []

        def place(cell: TemplateCell) -> TemplateCell:
            k = cell.spans
            if k is None:
                return cell
            key = (cell.column, cell.functions[: k + 1])
            if key not in found:
                found[key] = columns.n_columns + len(found)
                added.append(_matched(columns, cell.column, cell.functions[:k], cell.functions[k]))
            return replace(cell, column=found[key], functions=(_IF_ANY, *cell.functions[k + 1 :]))

        mapped = self._map_cells(place, "nodes", "edges")
        return mapped, replace(columns, columns=[*columns.columns, *added])

    def learnt(self, columns: Columns) -> Template:
        """Return the template with the strings that ``frequent:N`` and ``rare:N`` select."""
        return self._masked(lambda name, cell: _frequent(name, cell, columns))

    @cached_property
    def has_masks(self) -> bool:
        """Whether some functions have to be learnt from training sentences."""
        return any(_mask_of(one) for line in self.lines for cell in line.cells for one in cell.functions)

    def _masked(self, words: Callable[[str, TemplateCell | SegmentCell], WordTable | None]) -> Template:
        """The same with masks of these words."""
        if not self.has_masks:
            return self

        def cell_with(cell: Any) -> Any:
            functions: list[CellFunction] = []
            for k, one in enumerate(cell.functions):
                mask = _mask_of(one)
                if mask is not None:
                    name = "|".join((str(cell.column), *(each.text for each in cell.functions[: k + 1])))
                    before = replace(cell, functions=tuple(functions))
                    one = CellFunction(one.text, replace(mask, words=words(name, before)))
                functions.append(one)
            return replace(cell, functions=tuple(functions))

        return self._map_cells(cell_with, "nodes", "edges", "segments")

    def _map_cells(self, function: Callable[[Any], Any], *kinds: str) -> Template:
        """Return the template with a function applied to every cell of some kinds of lines."""
        changed: dict[str, Any] = {
            kind: tuple(replace(line, cells=tuple(map(function, line.cells))) for line in getattr(self, kind))
            for kind in kinds
        }
        return replace(self, **changed)

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
        """Compiled lines that :mod:`epigram.features.encoding` caches, by line numbers."""
        return {}

    @cached_property
    def n_columns(self) -> int:
        """Number of columns that the lines use."""
        return 1 + max((cell.column for line in self.lines for cell in line.cells), default=-1)

    @cached_property
    def descriptions(self) -> dict[str, str]:
        """The cells of each line in words, by the name of the line.

        Examples
        --------
        >>> Template.parse("U05:%x[-1,0]/%x[0,0]\\nU08:%x[0,0|shape]\\nU3:%x[1,1]").descriptions
        {'U05': 'before, here', 'U08': 'shape', 'U3': 'after (column 1)'}
        """
        places = {-2: "two before", -1: "before", 0: "here", 1: "after", 2: "two after"}

        def describe(cell: TemplateCell) -> str:
            words = [function.text.partition(":")[0] for function in cell.functions]
            if not words or cell.offset:
                words.append(places.get(cell.offset, f"{cell.offset:+d}"))
            return " ".join([*words, f"(column {cell.column})"] if cell.column else words)

        return {
            line.literals[0].partition(":")[0]: ", ".join(map(describe, line.cells))
            for line in self.nodes + self.edges
        }

    def meaning(self, feature: str) -> str:
        """Return a feature with its line in words, such as ``before the`` for ``U01:the``."""
        line, colon, value = feature.partition(":")
        return f"{self.descriptions[line]} {value}" if colon and line in self.descriptions else feature

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

    def marks(self, cell: TemplateCell) -> bool:
        """True where the cell has a value (``_B-1``) outside the sentence."""
        return cell.boundary or not self.drops_outside

    def expand(self, columns: Columns, token: int, lines: tuple[Line, ...]) -> Iterator[str]:
        """Return the attributes of one token as strings, in the order of encoding; slow."""
        begin, end = columns.sentence_of(token)
        placed, columns = replace(self, nodes=lines, edges=()).placed(columns)
        for line in placed.nodes:
            yield from self.spell(columns, line, token, begin, end)

    def spell(self, columns: Columns, line: Line, token: int, begin: int, end: int) -> list[str]:
        """Return the attributes of one line at one token as strings, last cell fastest."""
        names = [line.literals[0]]
        for cell, literal in zip(line.cells, line.literals[1:], strict=True):
            values = self._values(cell, columns, token + cell.offset, begin, end)
            names = [name + value + literal for name in names for value in values]
        return names

    def _values(self, cell: TemplateCell, columns: Columns, at: int, begin: int, end: int) -> tuple[str, ...]:
        if begin <= at < end:
            return apply_chain(cell.functions, columns.columns[cell.column].string(at))
        return (outside_mark(at - begin if at < begin else at - end + 1),) if self.marks(cell) else ()


def outside_mark(distance: int) -> str:
    """Return CRF++'s mark for a cell outside the sentence: ``_B-1``, ``_B+2``."""
    return f"_B{distance:+d}"


def _matched(
    columns: Columns, column: int, before: tuple[CellFunction, ...], gazetteer: CellFunction
) -> Column:
    """Match a gazetteer against a column after some functions."""
    from epigram.features.columns import Column

    assert gazetteer.lexicon is not None
    given = columns.columns[column]
    lexicon = mapped_phrases(gazetteer.lexicon, lambda word: apply_chain(before, word))
    values = (apply_chain(before, string) for string in given.strings)
    forms = [one[0] if len(one) == 1 else None for one in values]
    return Column(*match_spans(lexicon, columns.sentence_ptr, given.ids, forms))


_IF_ANY = CellFunction("if any", lambda cell: (cell,) if cell else ())


def _mask_of(function: CellFunction) -> Mask | None:
    return function.apply if isinstance(function.apply, Mask) else None


def _frequent(name: str, cell: TemplateCell | SegmentCell, columns: Columns) -> WordTable:
    """Return the values of a cell that occur as often as a mask requires."""
    column, counts = columns.columns[cell.column], Counter[str]()
    occurrences = np.bincount(column.ids, minlength=len(column.strings)).tolist()
    for string, n in zip(column.strings, occurrences, strict=True):
        for value in apply_chain(cell.functions, string) if n else ():
            counts[value] += n
    least = int(name.rpartition(":")[2])
    return WordTable(name, {value: (value,) for value, n in counts.items() if n >= least})


def _finder(path: str | None, lexicons: Mapping[str, WordTable] | None) -> FindList:
    """Return a function that finds word lists: given ones, or files, each read once."""
    folder = None if path is None or path in BUILT_IN else Path(path).parent
    read: dict[str, WordTable] = {}

    def find(name: str) -> WordTable:
        if lexicons is not None:
            if name not in lexicons:
                raise ValueError(f"the word list {name!r} is not there")
            return lexicons[name]
        if name not in read:
            read[name] = WordTable.read(name, folder)
        return read[name]

    return find
