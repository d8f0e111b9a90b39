"""Sentences as columns of strings: each distinct string once, and an integer id per token."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram._core import bindings
from epigram._core.arrays import gather
from epigram.errors import InputError, each
from epigram.files import counting_dict
from epigram.protocols import Ints, Offsets


@dataclass(frozen=True, slots=True)
class Column:
    """One column: ``strings[ids[t]]`` is the cell of token ``t``.

    What :meth:`Columns.split` returns knows its sentences too: it has a length, and gives a list of cells a sentence.
    """

    ids: Ints
    strings: list[str] = field(repr=False)
    sentence_ptr: Offsets | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self._ptr()) - 1

    def __iter__(self) -> Iterator[list[str]]:
        return (self[s] for s in range(len(self)))

    def __getitem__(self, sentence: int) -> list[str]:
        s, ptr = range(len(self))[sentence], self._ptr()
        return [self.strings[k] for k in self.ids[ptr[s] : ptr[s + 1]].tolist()]

    def _ptr(self) -> Offsets:
        if self.sentence_ptr is None:
            raise TypeError("this column does not know its sentences; take it from Columns.split")
        return self.sentence_ptr

    def string(self, token: int) -> str:
        """The cell of a token."""
        return self.strings[int(self.ids[token])]


@dataclass(frozen=True, slots=True)
class Lines:
    """The bytes a corpus was read from, and the end of each token's line, for writers."""

    raw: bytes = field(repr=False)
    ends: Offsets
    is_conllu: bool = False


@dataclass(frozen=True, slots=True)
class Columns:
    """Sentences of tokens with one cell per column.

    Attributes
    ----------
    sentence_ptr
        Sentence ``s`` has the tokens ``sentence_ptr[s]`` up to, not including, ``sentence_ptr[s + 1]``.
    columns
        The columns from left to right.
    path, lines
        Where the corpus was read from, if it was.

    Examples
    --------
    >>> corpus = Columns.from_rows([[("The", "DT"), ("cat", "NN")], [("The", "DT")]])
    >>> corpus.n_sentences, corpus.n_tokens, corpus.n_columns
    (2, 3, 2)
    >>> corpus.columns[0].ids, corpus.columns[0].strings
    (array([0, 1, 0], dtype=int32), ['The', 'cat'])
    >>> len(corpus), corpus[1], [len(sentence) for sentence in corpus]
    (2, [('The', 'DT')], [2, 1])
    >>> words, tags = corpus.split(-1)
    >>> words[0], tags[0]
    ([('The',), ('cat',)], ['DT', 'NN'])
    """

    sentence_ptr: Offsets
    columns: list[Column]
    path: str | None = None
    lines: Lines | None = None

    @classmethod
    def from_rows(cls, sentences: Iterable[Iterable[str | Sequence[str]]]) -> Columns:
        """Make columns from sentences of rows; a row is a sequence of strings, or one string."""
        sentence_ptr = array("q", [0])
        numbering: list[defaultdict[str, int]] = []
        ids: list[array[int]] = []
        n_tokens = 0
        for s, sentence in enumerate(each(sentences, "X", "sentences")):
            rows = (
                sentence
                if isinstance(sentence, list | tuple)
                else list(each(sentence, f"sentence {s}", "tokens"))
            )
            if len(numbering) == 1 and set(map(type, rows)) == {str}:  # the others' way, at once
                ids[0].extend(map(numbering[0].__getitem__, rows))
                n_tokens += len(rows)
                rows = ()
            for row in rows:
                cells = (row,) if isinstance(row, str) else tuple(row)
                if len(cells) != len(numbering):
                    if n_tokens:
                        raise InputError(
                            f"sentence {s}, token {n_tokens - sentence_ptr[-1]}: "
                            f"expected {len(numbering)} columns, found {len(cells)}"
                        )
                    numbering = [counting_dict() for _ in cells]
                    ids = [array("i") for _ in cells]
                for cell, numbers, out in zip(cells, numbering, ids, strict=True):
                    if not isinstance(cell, str):
                        raise InputError(
                            f"sentence {s}, token {n_tokens - sentence_ptr[-1]}: a cell is a string, "
                            f"not {cell!r} ({type(cell).__name__})"
                        )
                    out.append(numbers[cell])
                n_tokens += 1
            sentence_ptr.append(n_tokens)
        return cls(
            np.array(sentence_ptr, dtype=np.int64),
            [
                Column(np.array(out, dtype=np.int32), list(numbers))
                for out, numbers in zip(ids, numbering, strict=True)
            ],
        )

    @classmethod
    def from_cells(
        cls,
        raw: bytes,
        starts: npt.NDArray[np.int64],
        ends: npt.NDArray[np.int64],
        sentence_ptr: Offsets,
        path: str | None = None,
        lines: Lines | None = None,
    ) -> Columns:
        """Columns of byte slices ``raw[starts[c, t]:ends[c, t]]``."""
        return cls(
            sentence_ptr,
            [_factorise(raw, start, end) for start, end in zip(starts, ends, strict=True)],
            path,
            lines,
        )

    @property
    def n_sentences(self) -> int:
        """Number of sentences."""
        return len(self.sentence_ptr) - 1

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return int(self.sentence_ptr[-1])

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.columns)

    def sentence_of(self, token: int) -> tuple[int, int]:
        """First token of the sentence that holds ``token``, and first token after it."""
        s = int(np.searchsorted(self.sentence_ptr, token, side="right"))
        return int(self.sentence_ptr[s - 1]), int(self.sentence_ptr[s])

    def split(self, column: int) -> tuple[Columns, Column]:
        """The corpus without one column, and that column: observations and labels."""
        if not -self.n_columns <= column < self.n_columns:
            raise InputError(
                f"there is no column {column}: {self.path or 'the input'} has {self.n_columns}, "
                "counted from 0 or, with a minus, from the right"
            )
        column %= self.n_columns
        rest = self.columns[:column] + self.columns[column + 1 :]
        labels = replace(self.columns[column], sentence_ptr=self.sentence_ptr)
        return Columns(self.sentence_ptr, rest, self.path, self.lines), labels

    def take(self, sentences: npt.ArrayLike) -> Columns:
        """The named sentences, in the order given."""
        sentence_ptr, tokens = gather(self.sentence_ptr, np.asarray(sentences, dtype=np.int64))
        return Columns(
            sentence_ptr, [Column(column.ids[tokens], column.strings) for column in self.columns], self.path
        )

    def __len__(self) -> int:
        return self.n_sentences

    def __iter__(self) -> Iterator[list[tuple[str, ...]]]:
        return self.rows()

    def __getitem__(self, sentence: int) -> list[tuple[str, ...]]:
        s = range(len(self))[sentence]
        return next(self.take([s]).rows())

    def rows(self) -> Iterator[list[tuple[str, ...]]]:
        """Sentences as lists of tuples of strings."""
        cells = [[column.strings[i] for i in column.ids.tolist()] for column in self.columns]
        tokens = list(zip(*cells, strict=True))
        for begin, end in zip(self.sentence_ptr[:-1].tolist(), self.sentence_ptr[1:].tolist(), strict=True):
            yield tokens[begin:end]


def as_columns(X: Any) -> Columns:
    """Return sentences as columns: columns themselves, or rows of cells."""
    return X if isinstance(X, Columns) else Columns.from_rows(X)


def _factorise(raw: bytes, starts: Offsets, ends: Offsets) -> Column:
    n = len(starts)
    ids, begins, lengths = np.empty(n, np.int32), np.empty(n, np.int64), np.empty(n, np.int32)
    found = bindings.columns_factorise(np.frombuffer(raw, np.uint8), starts, ends, ids, begins, lengths)
    if found < 0:
        raise MemoryError(f"no memory for the distinct strings of {n} cells")
    strings = [
        raw[begin : begin + length].decode()
        for begin, length in zip(begins[:found].tolist(), lengths[:found].tolist(), strict=True)
    ]
    return Column(ids, strings)
