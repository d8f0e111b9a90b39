"""Regular expressions of templates, restricted so that no pattern takes long on any text.

A model file carries its patterns, so they are untrusted input for Python's backtracking engine. Refused are back
references, look-around, and repeats or alternatives inside a repeat, which can take exponential time. The rest takes
polynomial time: with k repeats at most C(n + k + 1, k + 1) attempts on n characters, times the number of ways through
the alternatives. Only as many characters of a text are searched as keep this product below ``MOST_ATTEMPTS``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import comb
from typing import Any

MOST_CHARACTERS, LEAST_CHARACTERS = 1000, 20
MOST_ATTEMPTS = 10**7
MOST_REPEATED = 1000
_PLAIN = {"LITERAL", "NOT_LITERAL", "ANY", "IN", "AT"}
_REPEATS = {"MAX_REPEAT", "MIN_REPEAT"}


def compile_search(pattern: str) -> Callable[[str], bool]:
    """Compile a pattern into a function that searches the first 1,000 characters of a text.

    Raises ValueError for a pattern that could take too long, and ``re.error`` for a malformed one. A pattern of three
    or more repeats is searched in fewer characters.

    Examples
    --------
    >>> search = compile_search("[A-Z][a-z]+")
    >>> search("in Paris"), search("in paris")
    (True, False)
    """
    search = re.compile(pattern).search
    n_repeats, n_ways = _size(re._parser.parse(pattern), pattern)  # type: ignore[attr-defined]
    for n in (MOST_CHARACTERS, 300, 100, 50, LEAST_CHARACTERS):
        if n_ways * comb(n + n_repeats + 1, n_repeats + 1) <= MOST_ATTEMPTS:
            return lambda text: search(text, 0, n) is not None
    raise ValueError(f"the regular expression {pattern!r} has too many repeats and alternatives; use fewer")


def _size(tree: Any, pattern: str, inside: bool = False) -> tuple[int, int]:
    """Count repeats and multiply alternatives; ``inside`` is true within a repeat."""
    n_repeats, n_ways = 0, 1
    for code, argument in tree:
        kind, parts, loops = code.name, [], inside
        if inside and kind in _REPEATS | {"BRANCH"}:
            raise ValueError(
                f"the regular expression {pattern!r} has a repeat or alternatives inside a repeat, "
                "which can take exponential time; use a pattern without them"
            )
        if kind in _REPEATS:
            least, most, inner = argument
            if least > MOST_REPEATED:
                raise ValueError(
                    f"the regular expression {pattern!r} repeats more than {MOST_REPEATED:,} times"
                )
            parts, loops = [inner], inside or most > 1
            if most - least > 1:
                n_repeats += 1
            else:
                n_ways *= 1 + most - least
        elif kind == "SUBPATTERN":
            parts = [argument[-1]]
        elif kind == "BRANCH":
            parts = argument[1]
            n_ways *= len(parts)
        elif kind not in _PLAIN:
            raise ValueError(
                f"the regular expression {pattern!r} has a back reference, look-around, an atomic group or a "
                "possessive repeat; templates take patterns without them"
            )
        for part in parts:
            repeats, ways = _size(part, pattern, loops)
            n_repeats, n_ways = n_repeats + repeats, n_ways * ways
    return n_repeats, n_ways
