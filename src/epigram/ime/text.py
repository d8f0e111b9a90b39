"""Read sentences of ``surface/reading`` tokens, or raw Japanese through SudachiPy (extra ``japanese``)."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import Any

from epigram.errors import InputError
from epigram.ime.kana import is_hiragana, is_katakana, to_hiragana
from epigram.ime.lexicon import LONGEST_READING, join_token, plain_token, split_token
from epigram.text import read_lines

USUAL = {"日本": "にほん", "私": "わたし", "言う": "いう"}
"""Readings set by hand where the dictionary's first one is not the usual one."""


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
