"""Sentences as the arc features see them: columns of cells, each cell a 64-bit hash."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram._core.native import family
from epigram.errors import InputError
from epigram.protocols import Offsets
from epigram.tagging.attributes import fingerprints
from epigram.tagging.formats import Column, Columns
from epigram.tagging.lexicon import Lexicon

core = family("arcs")
NO_SIBLING, THE_END = "<none>", "<end>"
NO_CLASS = "-"
OUTSIDE = ("<root>", "<before>", "<after>", NO_SIBLING, THE_END)


@dataclass(frozen=True)
class Words:
    """Encoded sentences: their columns, words in lower case in the first, and the atoms of all cells."""

    columns: Columns = field(repr=False)
    struct: Any = field(repr=False)

    @classmethod
    def of(cls, columns: Columns, n_columns: int) -> Words:
        """The first columns of a corpus, as many as a template looks at."""
        if columns.n_tokens and columns.n_columns < n_columns:
            raise InputError(f"the parser looks at {n_columns} columns, the input has {columns.n_columns}")
        chosen = columns.columns[:n_columns]
        if chosen:
            chosen = [_lower(chosen[0]), *chosen[1:]]
        used = Columns(columns.sentence_ptr, chosen, columns.path, columns.lines)
        atoms = np.empty((n_columns, used.n_tokens), dtype=np.uint64)
        for out, column in zip(atoms, chosen, strict=False):
            out[:] = fingerprints(column.strings)[column.ids] if len(column.strings) else 0
        outside = np.tile(fingerprints(OUTSIDE), n_columns)
        struct = core.ArcWords(
            used.n_sentences, used.n_tokens, n_columns, used.sentence_ptr, atoms.ravel(), outside
        )
        return cls(used, struct)

    @property
    def sentence_ptr(self) -> Offsets:
        """Where sentences begin and end."""
        return self.columns.sentence_ptr

    @cached_property
    def lengths(self) -> Offsets:
        """Words of each sentence."""
        return np.diff(self.columns.sentence_ptr)

    def cell(self, sentence: int, column: int, word: int, offset: int = 0) -> str:
        """The string of a cell; words are counted from 1, and 0 is the root."""
        first, last = self.sentence_ptr[sentence : sentence + 2].tolist()
        if word == 0:
            return OUTSIDE[int(offset != 0)]
        at = word + offset
        if not 1 <= at <= last - first:
            return OUTSIDE[1 if at < 1 else 2]
        own = self.columns.columns[column]
        return own.strings[int(own.ids[first + at - 1])]


def with_classes(columns: Columns, classes: Lexicon | None) -> Columns:
    """The columns and, last, the class of each word by a word list (``-`` where it has none).

    Examples
    --------
    >>> words = Columns.from_rows([[("the", "DET"), ("Dog", "NOUN")]])
    >>> list(with_classes(words, Lexicon("class:mine", {"dog": ("7",)})).rows())
    [[('the', 'DET', '-'), ('Dog', 'NOUN', '7')]]
    """
    if classes is None or not columns.n_tokens:
        return columns
    forms, index = columns.columns[0], dict[str, int]()
    ids = [index.setdefault(" ".join(classes(form)) or NO_CLASS, len(index)) for form in forms.strings]
    column = Column(np.array(ids, dtype=np.int32)[forms.ids], list(index))
    return Columns(columns.sentence_ptr, [*columns.columns, column], columns.path, columns.lines)


def sentences_of(X: Any) -> Columns:
    """What a parser takes: columns, or for each sentence rows of cells (word, coarse tag, fine tag)."""
    return X if isinstance(X, Columns) else Columns.from_rows(X)


def heads_of(
    heads: Iterable[Sequence[int]] | npt.NDArray[np.int32], columns: Columns
) -> npt.NDArray[np.int32]:
    """Heads of all words as one array; a list a sentence, or the array itself."""
    if isinstance(heads, np.ndarray):
        flat = heads.astype(np.int32)
        if flat.shape != (columns.n_tokens,):
            raise InputError(f"{len(flat)} heads for {columns.n_tokens} words")
        return flat
    lists = [list(own) for own in heads]
    lengths = np.diff(columns.sentence_ptr).tolist()
    if [len(own) for own in lists] != lengths:
        raise InputError(f"heads must be lists as long as the {len(lengths)} sentences")
    return np.array([head for own in lists for head in own], dtype=np.int32)


def _lower(column: Column) -> Column:
    """The same in lower case."""
    index: dict[str, int] = {}
    new = [index.setdefault(string.lower(), len(index)) for string in column.strings]
    return Column(np.array(new, dtype=np.int32)[column.ids], list(index))
