"""Hashes the columns of sentences for arc features: each cell becomes a 64-bit number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from epigram._core import bindings
from epigram._core.arrays import offsets
from epigram.errors import InputError
from epigram.features.attributes import fingerprints
from epigram.features.columns import Column, Columns
from epigram.features.lexicon import WordTable
from epigram.protocols import Offsets

NO_SIBLING, THE_END = "<none>", "<end>"
NO_CLASS = "-"
OUTSIDE = ("<root>", "<before>", "<after>", NO_SIBLING, THE_END)


@dataclass(frozen=True)
class Words:
    """Encoded sentences: columns, the first one in lower case, and the hashes of all cells."""

    columns: Columns = field(repr=False)
    struct: Any = field(repr=False)

    @classmethod
    def of(cls, columns: Columns, n_columns: int) -> Words:
        """Encode the first columns of a corpus, as many as a template reads."""
        if columns.n_tokens and columns.n_columns < n_columns:
            raise InputError(
                f"the input has {columns.n_columns} columns, but the parser reads {n_columns}; "
                "give the columns that it was trained on"
            )
        chosen = columns.columns[:n_columns]
        if chosen:
            chosen = [map_cells(chosen[0], str.lower), *chosen[1:]]
        used = Columns(columns.sentence_ptr, chosen, columns.path, columns.lines)
        atoms = np.empty((n_columns, used.n_tokens), dtype=np.uint64)
        for out, column in zip(atoms, chosen, strict=False):
            out[:] = fingerprints(column.strings)[column.ids] if len(column.strings) else 0
        outside = np.tile(fingerprints(OUTSIDE), n_columns)
        struct = bindings.ArcWords(used.n_tokens, n_columns, used.sentence_ptr, atoms.ravel(), outside)
        return cls(used, struct)

    @property
    def sentence_ptr(self) -> Offsets:
        """Offsets of the sentences."""
        return self.columns.sentence_ptr

    @cached_property
    def lengths(self) -> Offsets:
        """Number of words of each sentence."""
        return np.diff(self.columns.sentence_ptr)

    @cached_property
    def first_arc(self) -> Offsets:
        """Offsets of the arcs of the sentences: n words have n (n + 1)."""
        return offsets(self.lengths * (self.lengths + 1))

    def cell(self, sentence: int, column: int, word: int, offset: int = 0) -> str:
        """Return the string of a cell; words are counted from 1, and 0 is the root."""
        first, last = self.sentence_ptr[sentence : sentence + 2].tolist()
        if word == 0:
            return OUTSIDE[int(offset != 0)]
        at = word + offset
        if not 1 <= at <= last - first:
            return OUTSIDE[1 if at < 1 else 2]
        own = self.columns.columns[column]
        return own.strings[int(own.ids[first + at - 1])]


def append_classes(columns: Columns, classes: WordTable | None) -> Columns:
    """Append a column with the class of each word in a word list (``-`` for words without one).

    Examples
    --------
    >>> words = Columns.from_rows([[("the", "DET"), ("Dog", "NOUN")]])
    >>> list(append_classes(words, WordTable("class:mine", {"dog": ("7",)})).rows())
    [[('the', 'DET', '-'), ('Dog', 'NOUN', '7')]]
    """
    if classes is None or not columns.n_tokens:
        return columns
    column = map_cells(columns.columns[0], lambda form: " ".join(classes(form)) or NO_CLASS)
    return Columns(columns.sentence_ptr, [*columns.columns, column], columns.path, columns.lines)


def map_cells(column: Column, function: Callable[[str], str]) -> Column:
    """Apply a function to the distinct strings of a column."""
    index: dict[str, int] = {}
    ids = [index.setdefault(function(string), len(index)) for string in column.strings]
    return Column(np.array(ids, dtype=np.int32)[column.ids], list(index))
