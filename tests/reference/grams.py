"""n-grams of raw text by the definition in _core/grams.h, as strings and numbers of Python."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter

from epigram.features.grams import GramSpec

MASK = (1 << 64) - 1
BASE = 0x9E3779B97F4A7C15
OF_CHARS, OF_WORDS = 0x632BE59BD9B4E019, 0x8CB92BA72F3D8DD7
UNSPACED = (
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3040, 0x30FF), (0x31F0, 0x31FF), (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0xFF66, 0xFF9D), (0x20000, 0x3FFFF),
)  # fmt: skip


def mix(h: int) -> int:
    h = ((h ^ (h >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    h = ((h ^ (h >> 27)) * 0x94D049BB133111EB) & MASK
    return (h ^ (h >> 31)) or 1


def polynomial(numbers: list[int]) -> int:
    h = 0
    for number in numbers:
        h = (h * BASE + number + 1) & MASK
    return h


def chars_key(text: str) -> int:
    return mix((polynomial([ord(c) for c in text]) + len(text) * OF_CHARS) & MASK)


def is_blank(c: str) -> bool:
    return c.isspace() or unicodedata.category(c) == "Cc"


def kind(c: str) -> str:
    category = unicodedata.category(c)
    if is_blank(c):
        return "blank"
    if category[0] not in "LMN" and category != "Pc" and ord(c) not in (0x200C, 0x200D):
        return "sign"
    return "alone" if any(low <= ord(c) <= high for low, high in UNSPACED) else "word"


def words_of(text: str) -> list[str]:
    words, k = [], 0
    while k < len(text):
        if kind(text[k]) == "blank":
            k += 1
            continue
        end, joined = k + 1, False
        if kind(text[k]) == "word":
            while end < len(text):
                if kind(text[end]) == "word":
                    end += 1
                elif (
                    not joined and text[end] in "'’" and end + 1 < len(text) and kind(text[end + 1]) == "word"
                ):
                    joined, end = True, end + 1
                else:
                    break
        words.append(text[k:end])
        k = end
    return words


def keys_of(
    text: str, words: int, chars: tuple[int, int] | None, across: bool, lowercase: bool = False
) -> Counter[int]:
    """Fingerprints of the n-grams of a text and how often each occurs."""
    text = text.lower() if lowercase else text
    out: Counter[int] = Counter()
    if words:
        sequence = [1, *(chars_key(word) for word in words_of(text)), 2]
        for n in range(1, words + 1):
            for k in range(len(sequence) - n + 1):
                if n > 1 or 0 < k < len(sequence) - 1:
                    out[mix((polynomial(sequence[k : k + n]) + n * OF_WORDS) & MASK)] += 1
    if chars:
        spaced = " " + " ".join("".join(" " if is_blank(c) else c for c in text).split()) + " "
        spaced = "  " if spaced.strip() == "" else spaced
        for n in range(chars[0], chars[1] + 1):
            for k in range(len(spaced) - n + 1):
                gram = spaced[k : k + n]
                if gram != " " and (across or " " not in gram[1:-1]):
                    out[chars_key(gram)] += 1
    return out


def values_of(text: str, spec: GramSpec) -> dict[int, float]:
    """Values of a row: 1 or 1 + log count, over the l2 norm of all n-grams, or of words and characters apart."""
    parts = [(spec.words, spec.chars)]
    if spec.apart:
        parts = [(spec.words, None), (0, spec.chars)]
    out: dict[int, float] = {}
    for words, chars in parts:
        counts = keys_of(text, words, chars, spec.across, spec.lowercase)
        raw = {key: 1.0 + math.log(n) if spec.log_counts else 1.0 for key, n in counts.items()}
        norm = math.sqrt(len(parts) * sum(value * value for value in raw.values()))
        out |= {key: value / norm for key, value in raw.items()}
    return out
