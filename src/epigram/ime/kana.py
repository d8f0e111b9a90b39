"""Tokens, kana and romaji.

Raw text is read through SudachiPy (extra ``japanese``).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from os import PathLike
from typing import Any

import numpy as np

from epigram.errors import InputError, each, install
from epigram.files import read_lines, refuse_file_names
from epigram.protocols import Ints

USUAL = {"日本": "にほん", "私": "わたし", "言う": "いう"}
"""Readings set by hand where the dictionary's first one is not the usual one."""
HIRAGANA = range(0x3041, 0x3097)
SHIFT = 0x60
LONG = "ー"
KANA_ROWS = len(HIRAGANA) + 2
"""Rows of a kana character model: hiragana, the long mark, any other kana sign."""
_TO_KATAKANA = {code: code + SHIFT for code in HIRAGANA}
_TO_HIRAGANA = {code + SHIFT: code for code in HIRAGANA}
_HIRAGANA = re.compile(r"[ぁ-ゖーゝゞ]+")
_KANA = re.compile("[ぁ-ゖァ-ヺ]")
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
LONGEST_READING = 64


def characters(text: str) -> Ints:
    """Code points of a text."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.int32)


def read_sentences(path: str | PathLike[str]) -> list[list[str]]:
    """Read tokenised sentences of a file, one per line; skips blank lines.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "a.txt"
    >>> _ = file.write_text("橋/はし を 渡る/わたる\\n\\n")
    >>> read_sentences(file)
    [['橋/はし', 'を', '渡る/わたる']]
    """
    sentences = []
    for number, line in enumerate(read_lines(path, sentences=True), 1):
        tokens = line.split()
        for token in tokens:
            if len(split_token(token)[1]) > LONGEST_READING:
                raise InputError(
                    f"the token {token[:20]!r} has a reading of more than {LONGEST_READING} characters; expected "
                    "words between blanks, surface/reading (raw text needs --raw)", path=path, line=number,
                )  # fmt: skip
        if tokens:
            sentences.append([plain_token(token) for token in tokens])
    if not sentences:
        raise InputError(
            "no sentences; expected one a line, tokens surface/reading between blanks", path=path
        )
    refuse_foreign((token for tokens in sentences for token in tokens), path)
    return sentences


def refuse_foreign(tokens: Iterable[str], path: str | PathLike[str]) -> None:
    """Refuse a file of which no token has kana."""
    if not any(map(_KANA.search, tokens)):
        raise InputError(
            "no kana; expected a sentence a line, tokens surface/reading between blanks", path=path
        )


def sentences_of(text: Any, name: str) -> list[list[str]]:
    """Read tokenised sentences from a file (a path object), strings or lists of tokens.

    Examples
    --------
    >>> sentences_of(["橋/はし を 渡る/わたる", ["橋/はし", "だ"]], "text")
    [['橋/はし', 'を', '渡る/わたる'], ['橋/はし', 'だ']]
    """
    if isinstance(text, PathLike):
        return read_sentences(text)
    refuse_file_names(text)
    found = [line.split() if isinstance(line, str) else list(line) for line in each(text, name, "sentences")]
    return [[plain_token(token) for token in tokens] for tokens in found if tokens]


def analyse(lines: Iterable[str]) -> list[list[str]]:
    """Tokenise raw Japanese text with readings; drops lines with a word without reading."""
    tokenizer = sudachi().tokenizer("A")
    out = []
    for line in lines:
        tokens = [_token(morpheme) for morpheme in tokenizer.tokenize(line.strip())]
        if tokens and all(token is not None for token in tokens):
            out.append([token for token in tokens if token])
    return out


def sudachi() -> Any:
    """Load the dictionary of SudachiPy, or raise an error that says how to install it."""
    try:
        from sudachipy import Dictionary
    except ImportError:
        raise InputError(f"raw Japanese text needs SudachiPy: {install('japanese')}") from None
    return Dictionary()


def token_of(surface: str, reading: str) -> str | None:
    """Make ``surface/reading`` of a word with a reading in kana; None for kanji without one.

    Examples
    --------
    >>> token_of("橋", "ハシ"), token_of("ペン", "ペン"), token_of("A", "エー"), token_of("々", "")
    ('橋/はし', 'ペン/ぺん', 'A', None)
    """
    if is_katakana(surface):
        return join_token(surface, to_hiragana(surface))
    if not any("一" <= c <= "鿿" or c in "々〆ヶ" for c in surface):
        return surface
    reading = USUAL.get(surface) or to_hiragana(reading)
    return join_token(surface, reading) if is_hiragana(reading) else None


def _token(morpheme: Any) -> str | None:
    """Token of a morpheme; "" for blanks."""
    surface = str(morpheme.surface())
    return token_of(surface, str(morpheme.reading_form())) if surface.strip() else ""


def to_katakana(text: str) -> str:
    """Convert hiragana to katakana.

    Examples
    --------
    >>> to_katakana("らーめん2")
    'ラーメン2'
    """
    return text.translate(_TO_KATAKANA)


def to_hiragana(text: str) -> str:
    """Convert katakana to hiragana.

    Examples
    --------
    >>> to_hiragana("ラーメン")
    'らーめん'
    """
    return text.translate(_TO_HIRAGANA)


def to_half_width(text: str) -> str:
    """Convert katakana and Latin letters to their half-width forms.

    Examples
    --------
    >>> to_half_width("ガッコウ、Ａ")
    'ｶﾞｯｺｳ､A'
    """
    return text.translate(_half_width())


@cache
def _half_width() -> dict[int, str]:
    halves = [chr(code) for code in range(0xFF61, 0xFF9E)]
    marked = [half + mark for half in halves for mark in ("", "ﾞ", "ﾟ")]
    table = {unicodedata.normalize("NFKC", half): half for half in reversed(marked)}
    wide = {chr(code + 0xFEE0): chr(code) for code in range(0x21, 0x7F)}
    return {ord(full): half for full, half in {**table, **wide}.items() if len(full) == 1}


def to_wide(text: str) -> str:
    """Convert ASCII to full-width forms.

    Examples
    --------
    >>> to_wide("Ab 1")
    'Ａｂ　１'
    """
    return text.translate({0x20: 0x3000, **{code: code + 0xFEE0 for code in range(0x21, 0x7F)}})


def open_kana(letters: str) -> list[str]:
    """Kana that syllables beginning with these letters begin with.

    Examples
    --------
    >>> open_kana("t"), open_kana("sh"), open_kana("q")
    (['た', 'ち', 'つ', 'て', 'と'], ['し'], [])
    """
    begun = sorted({kana[0] for key, kana in romaji_table().items() if key.startswith(letters)})
    return [kana for kana in begun if kana in "".join(_ROWS.values())]


def is_hiragana(text: str) -> bool:
    """Whether a text consists of hiragana (and the long mark)."""
    return _HIRAGANA.fullmatch(text) is not None


def is_katakana(text: str) -> bool:
    """Whether a text consists of katakana (and the long mark)."""
    return _KATAKANA.fullmatch(text) is not None


def from_romaji(text: str, *, finished: bool = True) -> str:
    """Convert romaji (Hepburn, Kunrei, input-method spellings) to hiragana; keeps other text.

    While a word is still being typed (``finished=False``), a last ``n`` waits for what follows.

    Examples
    --------
    >>> from_romaji("kyouhagakkouheitta."), from_romaji("konnichiha"), from_romaji("sen'en to WWW")
    ('きょうはがっこうへいった。', 'こんにちは', 'せんえん と WWW')
    >>> from_romaji("hon"), from_romaji("hon", finished=False), from_romaji("3.14.")
    ('ほん', 'ほn', '3.14。')
    """
    table = romaji_table()
    out = []
    at = 0
    while at < len(text):
        if text[at] in ",.-/:" and text[at - 1 : at].isdecimal() and text[at + 1 : at + 2].isdecimal():
            out.append(text[at])  # 3.14, 2026-11-19
            at += 1
            continue
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


def is_content(surface: str) -> bool:
    """Whether a text has kanji or katakana."""
    return any("一" <= c <= "鿿" or "ァ" <= c <= "ヺ" for c in surface)


def split_token(token: str) -> tuple[str, str]:
    """Surface and reading of a token.

    Examples
    --------
    >>> split_token("京都/きょうと"), split_token("は"), split_token("/")
    (('京都', 'きょうと'), ('は', 'は'), ('/', '/'))
    """
    surface, slash, reading = token.rpartition("/")
    return (surface, reading) if slash and surface and reading else (token, token)


def join_token(surface: str, reading: str) -> str:
    """The token of a word.

    Examples
    --------
    >>> join_token("京都", "きょうと"), join_token("は", "は")
    ('京都/きょうと', 'は')
    """
    return surface if surface == reading else f"{surface}/{reading}"


def plain_token(token: str) -> str:
    """Normalise a token: a word that is its own reading has no slash.

    Examples
    --------
    >>> plain_token("は/は"), plain_token("橋/はし")
    ('は', '橋/はし')
    """
    return join_token(*split_token(token))
