"""Turn hiragana into katakana and back, and romaji into kana as people type it."""

from __future__ import annotations

import re
from functools import cache

HIRAGANA = range(0x3041, 0x3097)
SHIFT = 0x60
LONG = "ー"
KANA_ROWS = len(HIRAGANA) + 2
"""Rows of a kana character model: hiragana, the long mark, any other kana sign."""

_TO_KATAKANA = {code: code + SHIFT for code in HIRAGANA}
_TO_HIRAGANA = {code + SHIFT: code for code in HIRAGANA}
_HIRAGANA = re.compile(r"[ぁ-ゖーゝゞ]+")
_KATAKANA = re.compile(r"[ァ-ヶーヽヾ]+")

_VOWELS = "aiueo"
_ROWS = {
    "": "あいうえお", "k": "かきくけこ", "g": "がぎぐげご", "s": "さしすせそ", "z": "ざじずぜぞ", "t": "たちつてと",
    "d": "だぢづでど", "n": "なにぬねの", "h": "はひふへほ", "b": "ばびぶべぼ", "p": "ぱぴぷぺぽ", "m": "まみむめも",
    "r": "らりるれろ", "x": "ぁぃぅぇぉ", "l": "ぁぃぅぇぉ",
}  # fmt: skip
_GLIDES = {
    "ky": "き", "gy": "ぎ", "sy": "し", "zy": "じ", "jy": "じ", "ty": "ち", "cy": "ち", "dy": "ぢ", "ny": "に",
    "hy": "ひ", "by": "び", "py": "ぴ", "my": "み", "ry": "り", "sh": "し", "ch": "ち", "j": "じ",
}  # fmt: skip
_OTHERS = {
    "ya": "や", "yu": "ゆ", "yo": "よ", "wa": "わ", "wi": "うぃ", "we": "うぇ", "wo": "を", "nn": "ん",
    "n'": "ん", "xn": "ん", "shi": "し", "chi": "ち", "tsu": "つ", "ji": "じ", "fu": "ふ", "fa": "ふぁ",
    "fi": "ふぃ", "fe": "ふぇ", "fo": "ふぉ", "she": "しぇ", "che": "ちぇ", "je": "じぇ", "thi": "てぃ", "dhi": "でぃ",
    "dhu": "でゅ", "twu": "とぅ", "dwu": "どぅ", "va": "ゔぁ", "vi": "ゔぃ", "vu": "ゔ", "ve": "ゔぇ", "vo": "ゔぉ",
    "tsa": "つぁ", "tse": "つぇ", "tso": "つぉ", "xya": "ゃ", "xyu": "ゅ", "xyo": "ょ", "xtu": "っ", "xtsu": "っ",
    "ltu": "っ", "lya": "ゃ", "lyu": "ゅ", "lyo": "ょ", "ye": "いぇ", "-": "ー", ",": "、", ".": "。",
    "[": "「", "]": "」", "!": "！", "?": "？", "/": "・",
}  # fmt: skip


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


def from_romaji(text: str, *, finished: bool = True) -> str:
    """Romaji (Hepburn, Kunrei, and what input methods add) as hiragana; what is no romaji stays.

    While a word is still being typed (``finished=False``), a last ``n`` waits for what follows.

    Examples
    --------
    >>> from_romaji("kyouhagakkouheitta."), from_romaji("konnichiha"), from_romaji("sen'en to WWW")
    ('きょうはがっこうへいった。', 'こんにちは', 'せんえん と WWW')
    >>> from_romaji("hon"), from_romaji("hon", finished=False)
    ('ほん', 'ほn')
    """
    table = romaji_table()
    out = []
    at = 0
    while at < len(text):
        for length in (4, 3, 2, 1):
            kana = table.get(text[at : at + length])
            if kana is not None and len(text[at : at + length]) == length:
                # "nn" before a vowel or y is ん and a syllable of n
                if text[at : at + 2] == "nn" and text[at + 2 : at + 3] in tuple(_VOWELS + "y"):
                    kana, length = "ん", 1
                out.append(kana)
                at += length
                break
        else:
            here, then = text[at], text[at + 1 : at + 2]
            if here == "n" and (finished or then) and then not in tuple("y'"):
                out.append("ん")
            elif here == then and here in "bcdfghjkmprstwyz":
                out.append("っ")
            else:
                out.append(here)
            at += 1
    return "".join(out)


@cache
def romaji_table() -> dict[str, str]:
    """Syllables in Latin letters and their hiragana."""
    table = {
        consonant + vowel: kana
        for consonant, row in _ROWS.items()
        for vowel, kana in zip(_VOWELS, row, strict=True)
    }
    for onset, kana in _GLIDES.items():
        for vowel, small in zip("auoie", "ゃゅょぃぇ", strict=True):
            table.setdefault(onset + vowel, kana + small)
    return {**table, **_OTHERS}
