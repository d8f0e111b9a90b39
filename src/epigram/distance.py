"""Edit distance of texts or of lists of words: what error rates count."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from epigram._core.native import family
from epigram.protocols import Ints


def edit_distance(first: str | Sequence[str], second: str | Sequence[str]) -> int:
    """Insertions, deletions and substitutions (of characters, or of words) that turn one into the other.

    Examples
    --------
    >>> edit_distance("sitting", "kitten"), edit_distance(["the", "cat"], ["cat"])
    (3, 1)
    """
    if isinstance(first, str) and isinstance(second, str):
        a, b = _characters(first), _characters(second)
    else:
        number: dict[str, int] = {}
        a, b = (
            np.array([number.setdefault(word, len(number)) for word in words], dtype=np.int32)
            for words in (first, second)
        )
    return int(family("distance").levenshtein(a.size, a, b.size, b, np.empty(b.size + 1, dtype=np.int64)))


def _characters(text: str) -> Ints:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.int32)
