"""A corpus as factorised columns: each distinct string of a column once, and an int32 id per token.

From the bytes of a file no Python object is made per token; rows given as Python objects are streamed.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from epigram._core.native import family
from epigram.errors import InputError
from epigram.protocols import Ints, Offsets
from epigram.tagging.sequences import Sequences, gather

core = family("columns")


@dataclass(frozen=True, slots=True)
class Column:
    """One column: ``strings[ids[t]]`` is the cell of token ``t``."""

    ids: Ints
    strings: list[str] = field(repr=False)

    def string(self, token: int) -> str:
        """The cell of a token."""
        return self.strings[int(self.ids[token])]


Labels: TypeAlias = Sequence[Sequence[str]] | Column
"""The labels of sentences: a list per sentence, or the column of a file."""


@dataclass(frozen=True, slots=True)
class Lines:
    """The bytes a corpus was read from, and where the line of each token ends: what a writer needs."""

    raw: bytes = field(repr=False)
    ends: Offsets


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
    >>> list(corpus.rows())[1]
    [('The', 'DT')]
    """

    sentence_ptr: Offsets
    columns: list[Column]
    path: str | None = None
    lines: Lines | None = None

    @classmethod
    def from_rows(cls, sentences: Iterable[Iterable[str | Sequence[str]]]) -> Columns:
        """Sentences as lists of rows; a row is a tuple or list of strings, or one string for one column."""
        sentence_ptr = array("q", [0])
        numbering: list[defaultdict[str, int]] = []
        ids: list[array[int]] = []
        n_tokens = 0
        for s, sentence in enumerate(sentences):
            for row in sentence:
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
        return Columns(self.sentence_ptr, rest, self.path, self.lines), self.columns[column]

    def take(self, sentences: npt.ArrayLike) -> Columns:
        """The named sentences, in the order given."""
        sentence_ptr, tokens = gather(self.sentence_ptr, np.asarray(sentences, dtype=np.int64))
        return Columns(
            sentence_ptr, [Column(column.ids[tokens], column.strings) for column in self.columns], self.path
        )

    def rows(self) -> Iterator[list[tuple[str, ...]]]:
        """Sentences as lists of tuples of strings."""
        cells = [[column.strings[i] for i in column.ids.tolist()] for column in self.columns]
        tokens = list(zip(*cells, strict=True))
        for begin, end in zip(self.sentence_ptr[:-1].tolist(), self.sentence_ptr[1:].tolist(), strict=True):
            yield tokens[begin:end]


def encode_labels(y: Labels, sequences: Sequences) -> tuple[npt.NDArray[Any], Ints]:
    """Sorted label names and one id per token; counts must match."""
    if y is None:
        raise InputError(
            "requires y to be passed, but the target y is None: give a list of labels per sentence"
        )
    if isinstance(y, Column):
        flat, ids = np.array(y.strings, dtype=object), y.ids
        if len(ids) != sequences.n_tokens:
            raise InputError(f"{len(ids)} labels for {sequences.n_tokens} tokens")
    else:
        sentences = [list(sentence) for sentence in y]
        lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
        if len(lengths) != sequences.n_sentences:
            raise InputError(f"{len(lengths)} lists of labels for {sequences.n_sentences} sentences")
        wrong = np.flatnonzero(lengths != sequences.lengths)
        if len(wrong):
            s = int(wrong[0])
            raise InputError(f"sentence {s} has {sequences.lengths[s]} tokens, but {lengths[s]} labels")
        index: dict[str, int] = {}
        ids = np.array(
            [index.setdefault(str(label), len(index)) for sentence in sentences for label in sentence],
            dtype=np.int32,
        )
        flat = np.array(list(index), dtype=object)
    used = np.unique(ids)
    order = used[np.argsort(flat[used].astype(str), kind="stable")]
    new = np.empty(len(flat), dtype=np.int32)
    new[order] = np.arange(len(order), dtype=np.int32)
    return flat[order], new[ids]


def counting_dict() -> defaultdict[str, int]:
    """A dict that numbers its keys in order of first use."""
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    return numbers


def _factorise(raw: bytes, starts: Offsets, ends: Offsets) -> Column:
    n = len(starts)
    ids, begins, lengths = np.empty(n, np.int32), np.empty(n, np.int64), np.empty(n, np.int32)
    found = core.factorise(len(raw), np.frombuffer(raw, np.uint8), n, starts, ends, ids, begins, lengths)
    if found < 0:
        raise MemoryError(f"no memory for the distinct strings of {n} cells")
    strings = [
        raw[begin : begin + length].decode()
        for begin, length in zip(begins[:found].tolist(), lengths[:found].tolist(), strict=True)
    ]
    return Column(ids, strings)
