"""Regular expressions in time linear in the text: a model file may carry any pattern, and must not hang on it.

Python's parser reads the pattern; Thompson's construction (1968) turns it into steps, and all ways through them are
followed at once, one character after the other. What needs memory of the way taken (back references, looking around)
is refused. Python's own engine, which tries one way after the other, is used only where that cannot take long.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

_parser: Any = re._parser  # type: ignore[attr-defined]
_codes: Any = re._constants  # type: ignore[attr-defined]
_compiler: Any = re._compiler  # type: ignore[attr-defined]
MOST_STEPS = 5000
"""Of a pattern, repeats written out."""
CHEAP = 20_000
"""Ways that Python's engine may have to try in one text."""
_CATEGORIES: dict[Any, Callable[[str], bool]] = {
    _codes.CATEGORY_DIGIT: str.isdecimal,
    _codes.CATEGORY_SPACE: str.isspace,
    _codes.CATEGORY_WORD: lambda c: c.isalnum() or c == "_",
    _codes.CATEGORY_NOT_DIGIT: lambda c: not c.isdecimal(),
    _codes.CATEGORY_NOT_SPACE: lambda c: not c.isspace(),
    _codes.CATEGORY_NOT_WORD: lambda c: not (c.isalnum() or c == "_"),
}
_REPEATS = (_codes.MAX_REPEAT, _codes.MIN_REPEAT)


class LinearRegex:
    """A pattern that can be looked for in any text.

    Examples
    --------
    >>> LinearRegex("^(a+)+$").found_in("a" * 5000 + "!")
    False
    >>> LinearRegex("[A-Z][a-z]+").found_in("in Paris")
    True
    """

    def __init__(self, pattern: str) -> None:
        self._fast = re.compile(pattern)
        tree = _parser.parse(pattern)
        if tree.state.flags & ~(re.UNICODE | re.IGNORECASE):
            raise ValueError(f"the regular expression {pattern!r} has flags other than (?i)")
        self._ignores_case = bool(tree.state.flags & re.IGNORECASE)
        self._steps: list[tuple[Any, ...]] = []
        self._depth = _repeats(tree)
        self._add(tree)
        self._steps.append(("found",))

    def found_in(self, text: str) -> bool:
        """Whether a part of the text fits."""
        if self._depth is not None and len(text) ** (self._depth + 1) <= CHEAP:
            return self._fast.search(text) is not None
        now: set[int] = set()
        for at in range(len(text) + 1):
            closed: set[int] = set()
            if self._follow([*now, 0], text, at, closed):
                return True
            if at < len(text):
                forms = _forms(text[at]) if self._ignores_case else {text[at]}
                now = {k + 1 for k in closed if self._steps[k][0] == "take" and self._steps[k][1](forms)}
        return False

    def _follow(self, starts: Iterable[int], text: str, at: int, seen: set[int]) -> bool:
        """All steps that can be reached without a character, into ``seen``; True where the end is among them."""
        waiting = list(starts)
        while waiting:
            k = waiting.pop()
            if k in seen:
                continue
            seen.add(k)
            kind, *more = self._steps[k]
            if kind == "found":
                return True
            if kind == "fork":
                waiting += more[0]
            elif kind == "place" and _is_place(more[0], text, at):
                waiting.append(k + 1)
        return False

    def _add(self, tree: Any) -> None:
        for code, argument in tree:
            if len(self._steps) > MOST_STEPS:
                raise ValueError("a regular expression that is too long with its repeats written out")
            if code == _codes.SUBPATTERN:
                if argument[1] or argument[2]:
                    raise ValueError("flags inside a regular expression")
                self._add(argument[3])
            elif code == _codes.BRANCH:
                self._branch(argument[1])
            elif code in _REPEATS:
                self._repeat(*argument)
            elif code == _codes.AT:
                self._steps.append(("place", argument))
            else:
                self._steps.append(("take", _test(code, argument)))

    def _branch(self, ways: list[Any]) -> None:
        fork, ends = len(self._steps), []
        starts: list[int] = []
        self._steps.append(("fork", starts))
        for way in ways:
            starts.append(len(self._steps))
            self._add(way)
            ends.append(len(self._steps))
            self._steps.append(("fork", []))
        for end in ends:
            self._steps[end] = ("fork", [len(self._steps)])
        self._steps[fork] = ("fork", starts)

    def _repeat(self, least: int, most: Any, inner: Any) -> None:
        for _ in range(least):
            self._add(inner)
        if most == _codes.MAXREPEAT:
            fork = len(self._steps)
            self._steps.append(("fork", []))
            self._add(inner)
            self._steps.append(("fork", [fork]))
            self._steps[fork] = ("fork", [fork + 1, len(self._steps)])
            return
        forks = []
        for _ in range(most - least):
            forks.append(len(self._steps))
            self._steps.append(("fork", []))
            self._add(inner)
        for fork in forks:
            self._steps[fork] = ("fork", [fork + 1, len(self._steps)])


def _repeats(tree: Any, inside: bool = False) -> int | None:
    """How many repeats a pattern has; None where one is inside another."""
    total = 0
    for code, argument in tree:
        if code in _REPEATS and inside:
            return None
        inner: list[Any] = []
        if code in _REPEATS:
            inner = [argument[2]]
        elif code == _codes.SUBPATTERN:
            inner = [argument[3]]
        elif code == _codes.BRANCH:
            inner, total = argument[1], total + 1
        for part in inner:
            found = _repeats(part, inside or code in _REPEATS)
            if found is None:
                return None
            total += found
        total += code in _REPEATS
    return total


def _forms(c: str) -> set[str]:
    """A character as Python's engine takes it without its case: also as a small and as a large letter."""
    small = _compiler._sre.unicode_tolower(ord(c))
    forms = (c, chr(small), chr(small).upper(), *map(chr, _compiler._EXTRA_CASES.get(small, ())))
    return {form for form in forms if len(form) == 1}


def _test(code: Any, argument: Any) -> Callable[[set[str]], bool]:
    """Whether a character, in any of its forms, fits one step of a pattern."""
    if code == _codes.LITERAL:
        return lambda forms: chr(argument) in forms
    if code == _codes.NOT_LITERAL:
        return lambda forms: chr(argument) not in forms
    if code == _codes.ANY:
        return lambda forms: "\n" not in forms
    if code == _codes.RANGE:
        return lambda forms: any(argument[0] <= ord(c) <= argument[1] for c in forms)
    if code == _codes.CATEGORY:
        return lambda forms: any(map(_CATEGORIES[argument], forms))
    if code == _codes.IN:
        negated = argument[0][0] == _codes.NEGATE
        tests = [_test(*item) for item in argument[negated:]]
        return lambda forms: negated != any(test(forms) for test in tests)
    what = str(code).lower().replace("_", " ")
    raise ValueError(f"{what} in a regular expression, which would take too long on some texts")


def _is_place(place: Any, text: str, at: int) -> bool:
    if place in (_codes.AT_BEGINNING, _codes.AT_BEGINNING_STRING):
        return at == 0
    if place == _codes.AT_END_STRING:
        return at == len(text)
    if place == _codes.AT_END:
        return at == len(text) or (at == len(text) - 1 and text[at] == "\n")
    is_word = _CATEGORIES[_codes.CATEGORY_WORD]
    boundary = (at > 0 and is_word(text[at - 1])) != (at < len(text) and is_word(text[at]))
    return boundary == bool(place == _codes.AT_BOUNDARY)
