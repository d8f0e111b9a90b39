"""Read sentences of ``surface/reading`` tokens, or raw Japanese through SudachiPy (extra ``japanese``)."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import Any

import numpy as np

from epigram.errors import InputError
from epigram.ime.kana import is_hiragana, is_katakana, to_hiragana
from epigram.ime.lexicon import LONGEST_READING, join_token, plain_token, split_token
from epigram.ime.wordlist import WordList
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


def dictionary_words() -> WordList:
    """All words of the installed SudachiDict that have kana for a reading, with their parts of speech.

    Latin, numeric and symbol entries are left out: their readings are not what people type.
    """
    tokens: dict[str, str] = {}
    for morpheme in sudachi().entries():
        surface = morpheme.surface()
        if surface and surface.split() == [surface] and len(surface) <= LONGEST_READING:
            token = _token(morpheme)
            if token and len(token) <= LONGEST_READING and (token != surface or is_hiragana(surface)):
                part = "-".join(piece for piece in morpheme.part_of_speech() if piece != "*")
                tokens.setdefault(token, part)
    return WordList(list(tokens), np.full(len(tokens), np.nan), list(tokens.values()))


def _token(morpheme: Any) -> str | None:
    """``surface/reading``; kana and signs are their own reading, what has none is None."""
    surface = morpheme.surface()
    if not surface.strip():
        return ""
    if is_katakana(surface):
        return join_token(surface, to_hiragana(surface))
    if not any("一" <= c <= "鿿" or c in "々〆ヶ" for c in surface):
        return str(surface)
    reading = USUAL.get(surface) or to_hiragana(morpheme.reading_form())
    return join_token(surface, reading) if is_hiragana(reading) else None
