"""Vocabularies: the words that a language model predicts, and their ids.

Id 0 is the sentence boundary: as a target it is ``</s>``, as a context ``<s>``. One id serves both because ``<s>`` is
never predicted and nothing ever follows ``</s>``; so targets and context words are the same range ``0 ..
len(vocabulary) - 1``. ``<unk>`` is an ordinary word. Other words follow by falling count (ties by first occurrence), so
that frequent words lie together in memory. A word outside the vocabulary has the id -1 (:data:`UNSEEN`), also where the
vocabulary has ``<unk>``: so a text tells its unknown words from those that it calls ``<unk>`` itself. Models that have
``<unk>`` score both alike (:mod:`epigram.lm.base`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from epigram.errors import InputError
from epigram.files import check_text, read_lines
from epigram.protocols import Ints, Offsets

if TYPE_CHECKING:
    from epigram.lm.tokenizer import Tokenizer

END = "</s>"
START = "<s>"
UNKNOWN = "<unk>"
BOUNDARY = 0
UNSEEN = -1

_TOKEN = re.compile("[^ \t\n\v\f\r\0]+")


def tokens_of(sentence: str | Sequence[str]) -> Sequence[str]:
    """A string split at ASCII blanks, as files are; anything else is taken as tokens."""
    return _TOKEN.findall(sentence) if isinstance(sentence, str) else sentence


class Vocabulary:
    """The list of words a model can predict; ``words[0]`` is ``</s>``.

    ``tokenizer`` cuts strings into tokens, where that is not at blanks (:mod:`epigram.lm.tokenizer`).

    Examples
    --------
    >>> vocabulary = Vocabulary(["a", "rose", "is"])
    >>> len(vocabulary), vocabulary.id("rose"), vocabulary.id("tulip"), vocabulary.words[0]
    (4, 2, -1, '</s>')
    >>> "tulip" in vocabulary, vocabulary.ids(["a", "tulip"]).tolist()
    (False, [1, -1])
    """

    def __init__(self, words: Iterable[str], tokenizer: Tokenizer | None = None) -> None:
        distinct = dict.fromkeys(words)
        for reserved in (START, END):
            distinct.pop(reserved, None)
        check_text(distinct)
        self.words: list[str] = [END, *distinct]
        self._ids = {word: k for k, word in enumerate(self.words)} | {START: BOUNDARY}
        self.tokenizer = tokenizer
        self._opened: Vocabulary | None = None

    @classmethod
    def from_counts(
        cls, words: Sequence[str], counts: Offsets, min_count: int = 1, size: int | None = None
    ) -> Vocabulary:
        """Words seen at least ``min_count`` times, at most ``size`` of them (the most frequent).

        Where a limit drops a word, ``<unk>`` joins the vocabulary to stand for it in the training text; it
        is not counted in ``size``.
        """
        if min_count < 1:
            raise InputError(f"min_count must be at least 1, not {min_count}.")
        if size is not None and size < 1:
            raise InputError(f"the vocabulary needs room for at least 1 word, not {size}.")
        order = np.argsort(-counts, kind="stable")
        chosen = [words[k] for k in order[counts[order] >= min_count][:size].tolist()]
        return cls([*chosen, UNKNOWN] if len(chosen) < len(words) else chosen)

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Vocabulary:
        """One word a line; what follows the first blank on a line (a count, say) is ignored."""
        fields = (line.split(maxsplit=1) for line in read_lines(path))
        vocabulary = cls(parts[0] for parts in fields if parts)
        if len(vocabulary) == 1:
            raise InputError("an empty vocabulary; expected one word a line", path=path)
        return vocabulary

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._ids and word != START

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and (self.words, self.tokenizer) == (
            other.words,
            other.tokenizer,
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} words)"

    def opened(self) -> Vocabulary:
        """This vocabulary with ``<unk>`` as its last word; itself where it has ``<unk>``."""
        if UNKNOWN in self:
            return self
        if self._opened is None:
            self._opened = Vocabulary([*self.words, UNKNOWN], self.tokenizer)
        return self._opened

    def id(self, word: str) -> int:
        """Id of a word, -1 outside the vocabulary; ``<s>`` and ``</s>`` are both 0."""
        return self._ids.get(word, UNSEEN)

    def ids(self, words: Iterable[str]) -> Ints:
        """Ids of many words."""
        return np.fromiter(map(self._ids.get, words, repeat(UNSEEN)), dtype=np.int32)

    def tokens(self, text: str | Sequence[str]) -> Sequence[str]:
        """A string cut as the training text was; anything else is taken as tokens."""
        return (
            self.tokenizer.cut(text)
            if self.tokenizer is not None and isinstance(text, str)
            else tokens_of(text)
        )

    def join(self, tokens: Sequence[str]) -> str:
        """Tokens as a text, which :meth:`tokens` cuts into them again."""
        return " ".join(tokens) if self.tokenizer is None else self.tokenizer.join(tokens)
