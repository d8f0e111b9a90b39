"""Reads word lists with costs and parts of speech.

A line is ``surface<TAB>reading``, and may go on with ``<TAB>cost<TAB>part of speech``: the cost of a dictionary of
MeCab's kind (the lower, the more frequent; ``-`` where there is none) and a part of speech whose pieces are joined by
``-``. A third column alone is ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from os import PathLike

import numpy as np

from epigram.errors import InputError
from epigram.files import read_lines
from epigram.ime.kana import is_hiragana
from epigram.ime.lexicon.dictionary_formats import has_kanji
from epigram.ime.lexicon.lexicon import checked_token
from epigram.protocols import Floats


@dataclass(frozen=True)
class WordList:
    """Tokens ``surface/reading``, costs (NaN: unknown) and parts of speech ("": unknown).

    Examples
    --------
    >>> words = WordList(["京都/きょうと", "橋/はし"], np.array([3000.0, np.nan]), ["名詞-地名", ""])
    >>> len(words), list(words)
    (2, ['京都/きょうと', '橋/はし'])
    """

    tokens: Sequence[str]
    costs: Floats = field(repr=False)
    parts: Sequence[str] = field(repr=False)

    @classmethod
    def of(cls, tokens: Iterable[str]) -> WordList:
        """Make a word list without costs and parts of speech."""
        known = list(tokens)
        return cls(known, np.full(len(known), np.nan), [""] * len(known))

    @classmethod
    def joined(cls, lists: Sequence[WordList]) -> WordList:
        """Concatenate lists."""
        return cls(
            [token for words in lists for token in words.tokens],
            np.concatenate([np.zeros(0), *(words.costs for words in lists)]),
            [part for words in lists for part in words.parts],
        )

    def __len__(self) -> int:
        return len(self.tokens)

    def __iter__(self) -> Iterator[str]:
        return iter(self.tokens)


def read_word_list(path: str | PathLike[str]) -> WordList:
    """Read a word list; skips blank lines.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "words.tsv"
    >>> _ = file.write_text("京都\\tきょうと\\t3000\\t名詞-固有名詞-地名\\n")
    >>> words = read_word_list(file)
    >>> words.tokens, words.costs.tolist(), words.parts
    (['京都/きょうと'], [3000.0], ['名詞-固有名詞-地名'])
    """
    tokens, costs, parts = [], [], []
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        fields = line.split("\t")
        if len(fields) < 2:
            raise InputError(
                f"expected surface<TAB>reading, found {line[:40]!r} without a tab", path=path, line=number
            )
        if fields[0] != fields[1] and has_kanji(fields[1]) and is_hiragana(fields[0]):
            raise InputError(
                f"the reading {fields[1][:20]!r} (second column) has kanji in it; are the columns swapped? A "
                "dictionary of another input method is taken by: epigram ime words", path=path, line=number,
            )  # fmt: skip
        tokens.append(checked_token(fields[0], fields[1], path, number))
        with_part = len(fields) > 3 and _is_cost(fields[2]) and not _is_cost(fields[3])
        costs.append(float(fields[2]) if with_part and fields[2] != "-" else np.nan)
        parts.append(fields[3] if with_part else "")
    if not tokens:
        raise InputError("holds no words; expected lines surface<TAB>reading", path=path)
    return WordList(tokens, np.array(costs), parts)


def _is_cost(text: str) -> bool:
    return text == "-" or text.lstrip("-").isdecimal()
