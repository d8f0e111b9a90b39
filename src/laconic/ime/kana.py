"""Kana: hiragana and katakana of each other, character classes, romaji to hiragana."""

from __future__ import annotations

import re

HIRAGANA = range(0x3041, 0x3097)
SHIFT = 0x60
LONG = "ー"
KANA_ROWS = len(HIRAGANA) + 2
"""Rows of a kana character model: hiragana, the long mark, any other kana sign."""

_TO_KATAKANA = {code: code + SHIFT for code in HIRAGANA}
_TO_HIRAGANA = {code + SHIFT: code for code in HIRAGANA}
_HIRAGANA = re.compile(r"[ぁ-ゖーゝゞ]+")
_KATAKANA = re.compile(r"[ァ-ヶーヽヾ]+")


def to_katakana(text: str) -> str:
    """Hiragana as katakana; the rest stays.

    Examples
    --------
    >>> to_katakana("らーめん2")
    'ラーメン2'
    """
    return text.translate(_TO_KATAKANA)


def to_hiragana(text: str) -> str:
    """Katakana as hiragana; the rest stays.

    Examples
    --------
    >>> to_hiragana("ラーメン")
    'らーめん'
    """
    return text.translate(_TO_HIRAGANA)


def is_hiragana(text: str) -> bool:
    """Hiragana (and the long mark) only, and not empty."""
    return _HIRAGANA.fullmatch(text) is not None


def is_katakana(text: str) -> bool:
    """Katakana (and the long mark) only, and not empty."""
    return _KATAKANA.fullmatch(text) is not None
