"""KenLM's hash of an n-gram, and n-grams found from hashes by trying all there could be."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

MASK = 2**64 - 1


def key(words: Sequence[int]) -> int:
    """From the last word to the first."""
    found = words[-1]
    for word in reversed(words[:-1]):
        found = (found * 8978948897894561157 & MASK) ^ ((word + 1) * 17894857484156487943 & MASK)
    return found


def grams_of(keys: Sequence[int], n_words: int, n: int) -> list[tuple[int, ...]]:
    """The n-gram of each key."""
    by_key = {key(words): words for words in product(range(n_words), repeat=n)}
    return [by_key[one] for one in keys]
