"""Cells of characters by plain string slices; the reference implementation of ``_core/characters.h``."""

from __future__ import annotations

from epigram.pipeline.characters import class_of


def low(character: str) -> str:
    """Lower case where it is one character; digits are 0."""
    if character.isdecimal():
        return "0"
    lowered = character.lower()
    return (lowered if len(lowered) == 1 else character).replace("\ud800", "\ufffd")


def kind(character: str) -> str:
    return class_of(character)


def rows(text: str) -> list[tuple[str, ...]]:
    """The cells of every character of a sequence that is not blank."""
    words, at = [], 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        end = at
        while end < len(text) and not text[end].isspace():
            end += 1
        words.append(text[at:end])
        at = end
    found = []
    lower = ["".join(map(low, word)) for word in words]
    kinds = [list(map(kind, word)) for word in words]
    for k, word in enumerate(words):
        before = lower[k - 1] if k else ""
        before_that = lower[k - 2] if k > 1 else ""
        after = lower[k + 1] if k + 1 < len(words) else ""
        for i in range(len(word)):
            found.append(
                (
                    lower[k][i],
                    kinds[k][i],
                    "." if i else "_",
                    lower[k][max(0, i - 8) : i] or "-",
                    lower[k][i : i + 8],
                    before[-10:] or "<",
                    after[:10] or ">",
                    kinds[k + 1][0] if after else ">",
                    str(min(len(word) - i, 4)),
                    before[-1:] or "<",
                    "".join(kinds[k][max(0, i - 4) : i]) or "-",
                    "".join(kinds[k][i : i + 5]),
                    before_that[-10:] or "<",
                )
            )
    return found
