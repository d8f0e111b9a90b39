"""Functions on a cell of a template, ``%x[0,0|lower|suffix:3]``: from one string to none, one or many.

A function sees each distinct string of a column once, so its speed hardly matters. Cells outside the sentence
are not given to functions, except that ``boundary`` is about nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

Values: TypeAlias = tuple[str, ...]


def lower(cell: str) -> Values:
    """``IL-2`` gives ``il-2``."""
    return (cell.lower(),)


def shape(cell: str) -> Values:
    """``IL-2`` gives ``AA-#``: capital letters A, other letters a, digits #, anything else itself."""
    return ("".join(_shape(character) for character in cell),)


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


def _shape(character: str) -> str:
    if character.isdecimal():
        return "#"
    if character.isupper():
        return "A"
    return "a" if character.isalpha() else character
