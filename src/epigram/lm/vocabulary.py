"""Words and their ids, shared by every model of the family.

Id 0 is the sentence boundary: as a target it is ``</s>``, as a context ``<s>``. One id serves both because
``<s>`` is never predicted and nothing ever follows ``</s>``; so targets and context words are the same
range ``0 .. len(vocabulary) - 1``. ``<unk>`` is an ordinary word. Other words follow by falling count
(ties by first occurrence), so that frequent words lie together in memory. A word outside the vocabulary
has the id -1 (:data:`UNSEEN`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from os import PathLike

import numpy as np

from epigram.errors import InputError
from epigram.protocols import Ints, Offsets
from epigram.text import read_lines

END = "</s>"
START = "<s>"
UNKNOWN = "<unk>"
BOUNDARY = 0
UNSEEN = -1


class Vocabulary:
    """The list of words a model can predict; ``words[0]`` is ``</s>``.

    Examples
    --------
    >>> vocabulary = Vocabulary(["a", "rose", "is"])
    >>> len(vocabulary), vocabulary.id("rose"), vocabulary.id("tulip"), vocabulary.words[0]
    (4, 2, -1, '</s>')
    >>> "tulip" in vocabulary, vocabulary.ids(["a", "tulip"]).tolist()
    (False, [1, -1])
    """

    def __init__(self, words: Iterable[str]) -> None:
        kept = dict.fromkeys(words)
        for reserved in (START, END):
            kept.pop(reserved, None)
        self.words: list[str] = [END, *kept]
        self._ids = dict(zip(self.words, range(len(self.words)), strict=True))
        self._ids[START] = BOUNDARY

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
        kept = np.argsort(-counts, kind="stable")
        kept = kept[counts[kept] >= min_count][:size]
        chosen = [words[k] for k in kept.tolist()]
        if len(chosen) < len(words):
            chosen.append(UNKNOWN)
        return cls(chosen)

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
        return isinstance(other, Vocabulary) and self.words == other.words

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} words)"

    def id(self, word: str) -> int:
        """Id of a word, -1 outside the vocabulary; ``<s>`` and ``</s>`` are both 0."""
        return self._ids.get(word, UNSEEN)

    def ids(self, words: Iterable[str]) -> Ints:
        """Ids of many words."""
        return np.fromiter(map(self._ids.get, words, repeat(UNSEEN)), dtype=np.int32)
