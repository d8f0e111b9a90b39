"""Japanese text: sentences of ``surface/reading`` tokens, kana, and romaji as people type it.

Raw text is read through SudachiPy (extra ``japanese``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from os import PathLike
from typing import Any

from epigram.errors import InputError
from epigram.text import read_lines

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


def read_sentences(path: str | PathLike[str]) -> list[list[str]]:
    """Tokenised sentences of a file, one a line; blank lines are skipped.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "a.txt"
    >>> _ = file.write_text("橋/はし を 渡る/わたる\\n\\n")
    >>> read_sentences(file)
    [['橋/はし', 'を', '渡る/わたる']]
    """
    sentences = []
    for number, line in enumerate(read_lines(path), 1):
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
    return sentences


def analyse(lines: Iterable[str]) -> list[list[str]]:
    """Raw Japanese text as tokens with readings, one sentence a line; lines with an unread word are dropped."""
    tokenizer = sudachi().tokenizer("A")
    out = []
    for line in lines:
        tokens = [_token(morpheme) for morpheme in tokenizer.tokenize(line.strip())]
        if tokens and all(token is not None for token in tokens):
            out.append([token for token in tokens if token])
    return out


def sudachi() -> Any:
    """SudachiPy's dictionary, or how to get it."""
    try:
        from sudachipy import Dictionary
    except ImportError:
        raise InputError("raw Japanese text needs SudachiPy: pip install 'epigram[japanese]'") from None
    return Dictionary()


def token_of(surface: str, reading: str) -> str | None:
    """``surface/reading``; kana and signs are their own reading, kanji without a reading in kana give None.

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
    """The token of a word; blanks have none ("")."""
    surface = str(morpheme.surface())
    return token_of(surface, str(morpheme.reading_form())) if surface.strip() else ""


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


def is_content(surface: str) -> bool:
    """Whether a kanji or katakana is in it."""
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
    """Return a token as the lexicon writes it: a word that is its own reading has no slash.

    Examples
    --------
    >>> plain_token("は/は"), plain_token("橋/はし")
    ('は', '橋/はし')
    """
    return join_token(*split_token(token))
