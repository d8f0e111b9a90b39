"""Sentences in memory: as columns of strings, as they are read, and as integers, as models take them.

:class:`Columns` holds each distinct string of a column once, and an int32 id per token: from the bytes of a file no
Python object is made per token. :class:`Sequences` is what encoding makes of them: a token is a run of attribute ids
(with values where they are not all one), and a transition into a token may have attributes of its own (``B`` templates
that look at the observation).
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from epigram._core.native import family, offsets, ranges
from epigram.errors import InputError
from epigram.protocols import Floats, Ints, Offsets, at_least, each
from epigram.text import check_text, counting_dict

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
        for s, sentence in enumerate(each(sentences, "X", "sentences")):
            rows = sentence if isinstance(sentence, list | tuple) else list(sentence)
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


def is_open(label: Any) -> bool:
    """Whether a label is known in part: a set or list of labels, or None (:mod:`epigram.tagging.labels`)."""
    return label is None or isinstance(label, set | frozenset | list | tuple)


def encode_labels(y: Labels, sequences: Sequences) -> tuple[npt.NDArray[Any], Ints]:
    """Sorted label names and one id per token; counts must match."""
    if y is None:
        raise InputError(
            "requires y to be passed, but the target y is None: give a list of labels per sentence"
        )
    if isinstance(y, Column):
        flat, ids = np.array(y.strings, dtype=object), y.ids
        n_words = int(sequences.word_lengths.sum())
        if len(ids) != n_words:
            raise InputError(f"{len(ids)} labels for {n_words} tokens")
    else:
        sentences = [list(sentence) for sentence in y]
        lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
        wanted = sequences.word_lengths
        if len(lengths) != sequences.n_sentences:
            raise InputError(f"{len(lengths)} lists of labels for {sequences.n_sentences} sentences")
        wrong = np.flatnonzero(lengths != wanted)
        if len(wrong):
            s = int(wrong[0])
            raise InputError(f"sentence {s} has {wanted[s]} tokens, but {lengths[s]} labels")
        for s, sentence in enumerate(sentences):
            if any(map(is_open, sentence)):
                raise InputError(
                    f"sentence {s} has labels that are known in part, which only the training of a CRFTagger takes"
                )
        index: dict[str, int] = {}
        ids = np.array(
            [index.setdefault(str(label), len(index)) for sentence in sentences for label in sentence],
            dtype=np.int32,
        )
        check_text(index)
        flat = np.array(list(index), dtype=object)
    used = np.unique(ids)
    order = used[np.argsort(flat[used].astype(str), kind="stable")]
    new = np.empty(len(flat), dtype=np.int32)
    new[order] = np.arange(len(order), dtype=np.int32)
    return flat[order], new[ids]


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


@dataclass(frozen=True, slots=True)
class Sequences:
    """Encoded sentences as offset arrays.

    Attributes
    ----------
    sentence_ptr
        Sentence ``s`` has the tokens ``sentence_ptr[s]`` up to, not including, ``sentence_ptr[s + 1]``.
    attribute_ptr
        Token ``t`` has the occurrences ``attribute_ptr[t]`` to ``attribute_ptr[t + 1]``.
    attributes
        Attribute id of each occurrence.
    values
        Value of each occurrence; of length 1, holding 1.0, where every value is one.
    edge_ptr
        The transition into token ``t`` has the occurrences ``edge_ptr[t]`` to ``edge_ptr[t + 1]``. The first
        token of a sentence has none.
    edge_attributes
        Attribute id of each occurrence on a transition, numbered together with ``attributes``.
    parents
        Empty for chains. For trees, which token of its sentence each token hangs on, counted from 0; -1 for a root.
        Transitions are then those from parents.
    segments
        Which rows are segments; None where all are tokens.

    Examples
    --------
    >>> s = Sequences.of(sentence_ptr=[0, 2, 3], attribute_ptr=[0, 1, 3, 4], attributes=[7, 7, 8, 9])
    >>> s.n_sentences, s.n_tokens, s.unit_values
    (2, 3, True)
    >>> s.take([1]).attributes
    array([9], dtype=int32)
    """

    sentence_ptr: Offsets
    attribute_ptr: Offsets
    attributes: Ints
    values: Floats
    edge_ptr: Offsets
    edge_attributes: Ints
    parents: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    segments: SegmentRows | None = None

    @classmethod
    def of(
        cls,
        sentence_ptr: npt.ArrayLike,
        attribute_ptr: npt.ArrayLike,
        attributes: npt.ArrayLike,
        values: npt.ArrayLike | None = None,
        edge_ptr: npt.ArrayLike | None = None,
        edge_attributes: npt.ArrayLike | None = None,
    ) -> Sequences:
        """Sequences of any array-likes; values default to one, transitions to no attributes."""
        token_ptr = np.asarray(attribute_ptr, dtype=np.int64)
        return cls(
            sentence_ptr=np.asarray(sentence_ptr, dtype=np.int64),
            attribute_ptr=token_ptr,
            attributes=np.asarray(attributes, dtype=np.int32),
            values=np.ones(1) if values is None else np.asarray(values, dtype=np.float64),
            edge_ptr=np.zeros_like(token_ptr) if edge_ptr is None else np.asarray(edge_ptr, dtype=np.int64),
            edge_attributes=np.asarray([] if edge_attributes is None else edge_attributes, dtype=np.int32),
        )

    @property
    def n_sentences(self) -> int:
        """Number of sentences."""
        return len(self.sentence_ptr) - 1

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return len(self.attribute_ptr) - 1

    @property
    def lengths(self) -> Offsets:
        """Tokens of each sentence."""
        return np.diff(self.sentence_ptr)

    @property
    def word_lengths(self) -> Offsets:
        """Tokens of each sentence, where some rows are segments too."""
        return self.lengths if self.segments is None else self.segments.n_words.astype(np.int64)

    @property
    def word_ptr(self) -> Offsets:
        """Where each sentence begins among all tokens, those rows left out that are segments."""
        if self.segments is None:
            return self.sentence_ptr
        return offsets(self.word_lengths)

    @property
    def word_rows(self) -> Offsets:
        """The rows that are tokens."""
        if self.segments is None:
            return np.arange(self.n_tokens)
        inside = np.arange(self.n_tokens) - np.repeat(self.sentence_ptr[:-1], self.lengths)
        return np.flatnonzero(inside < np.repeat(self.segments.n_words, self.lengths))

    @property
    def unit_values(self) -> bool:
        """True where every value is one."""
        return len(self.values) != len(self.attributes) or bool(np.all(self.values == 1.0))

    def take(self, sentences: npt.ArrayLike) -> Sequences:
        """The named sentences, in the order given; a sentence may be named twice."""
        chosen = np.asarray(sentences, dtype=np.int64)
        sentence_ptr, tokens = gather(self.sentence_ptr, chosen)
        attribute_ptr, occurrences = gather(self.attribute_ptr, tokens)
        edge_ptr, edges = gather(self.edge_ptr, tokens)
        whole = len(self.values) == len(self.attributes)
        return Sequences(
            sentence_ptr=sentence_ptr,
            attribute_ptr=attribute_ptr,
            attributes=self.attributes[occurrences],
            values=self.values[occurrences] if whole else self.values,
            edge_ptr=edge_ptr,
            edge_attributes=self.edge_attributes[edges],
            parents=self.parents[tokens] if len(self.parents) else self.parents,
            segments=None
            if self.segments is None
            else SegmentRows(
                self.segments.n_words[chosen], self.segments.begin[tokens], self.segments.length[tokens]
            ),
        )

    def shards(self, threads: int) -> list[Ints]:
        """Numbers of sentences in runs, one a thread, with about as many tokens each.

        Examples
        --------
        >>> Sequences.of([0, 2, 3, 4], [0, 0, 0, 0, 0], []).shards(2)
        [array([0], dtype=int32), array([1, 2], dtype=int32)]
        """
        if at_least(1, threads, "threads") == 1:
            return [np.arange(self.n_sentences, dtype=np.int32)]
        bounds = np.searchsorted(self.sentence_ptr, np.linspace(0, self.n_tokens, threads + 1)[1:-1])
        runs = np.split(np.arange(self.n_sentences, dtype=np.int32), bounds)
        return [run for run in runs if len(run)] or [np.empty(0, dtype=np.int32)]

    @classmethod
    def joined(cls, parts: list[Sequences]) -> Sequences:
        """The sentences of all parts, one after the other.

        Examples
        --------
        >>> s = Sequences.of(sentence_ptr=[0, 1], attribute_ptr=[0, 2], attributes=[7, 8])
        >>> Sequences.joined([s, s.take([0, 0])]).sentence_ptr
        array([0, 1, 2, 3])
        """
        unit = all(part.unit_values for part in parts)
        return cls(
            sentence_ptr=_joined_ptr([part.sentence_ptr for part in parts]),
            attribute_ptr=_joined_ptr([part.attribute_ptr for part in parts]),
            attributes=np.concatenate([part.attributes for part in parts]),
            values=np.ones(1) if unit else np.concatenate([part.all_values() for part in parts]),
            edge_ptr=_joined_ptr([part.edge_ptr for part in parts]),
            edge_attributes=np.concatenate([part.edge_attributes for part in parts]),
            parents=np.concatenate([part.parents for part in parts]),
        )

    def tokens_before(self) -> Offsets:
        """The token that the transition into each token comes from, -1 where it has none.

        Examples
        --------
        >>> Sequences.of([0, 2, 3], [0, 0, 0, 0], []).tokens_before()
        array([-1,  0, -1])
        """
        firsts = np.repeat(self.sentence_ptr[:-1], self.lengths)
        if len(self.parents):
            return np.where(self.parents >= 0, self.parents + firsts, -1)
        before = np.arange(self.n_tokens) - 1
        return np.where(before >= firsts, before, -1)

    def all_values(self) -> Floats:
        """The value of each occurrence, ones spelt out."""
        return self.values if len(self.values) == len(self.attributes) else np.ones(len(self.attributes))

    def renumber(self, new_ids: Ints) -> Sequences:
        """Attribute ``i`` becomes ``new_ids[i]``; occurrences of attributes with a negative one are dropped.

        Examples
        --------
        >>> s = Sequences.of(sentence_ptr=[0, 2], attribute_ptr=[0, 1, 3], attributes=[0, 1, 2])
        >>> r = s.renumber(np.array([1, -1, 0], dtype=np.int32))
        >>> r.attribute_ptr, r.attributes
        (array([0, 1, 2]), array([1, 0], dtype=int32))
        """
        attributes, edges = new_ids[self.attributes], new_ids[self.edge_attributes]
        if new_ids.min(initial=0) >= 0:
            return replace(self, attributes=attributes, edge_attributes=edges)
        whole = len(self.values) == len(self.attributes)
        return Sequences(
            sentence_ptr=self.sentence_ptr,
            attribute_ptr=_kept_ptr(self.attribute_ptr, attributes),
            attributes=attributes[attributes >= 0],
            values=self.values[attributes >= 0] if whole else self.values,
            edge_ptr=_kept_ptr(self.edge_ptr, edges),
            edge_attributes=edges[edges >= 0],
            parents=self.parents,
            segments=self.segments,
        )


def _joined_ptr(parts: list[Offsets]) -> Offsets:
    """Offsets of runs laid end to end."""
    lengths = np.concatenate([np.diff(ptr) for ptr in parts])
    return offsets(lengths)


def _kept_ptr(ptr: Offsets, ids: Ints) -> Offsets:
    """Offsets after the negative ids are gone."""
    return offsets(ids >= 0)[ptr]


def gather(ptr: Offsets, rows: Offsets) -> tuple[Offsets, Offsets]:
    """Offsets of the chosen rows laid end to end, and the index of each of their entries in the original.

    Examples
    --------
    >>> gather(np.array([0, 2, 3]), np.array([1, 0]))
    (array([0, 1, 3]), array([2, 0, 1]))
    """
    starts, ends = ptr[rows], ptr[rows + 1]
    return offsets(ends - starts), ranges(starts, ends)


class SegmentRows(NamedTuple):
    """Rows beside those of tokens, for segments of several tokens: see ``_core/segment_inline.h``.

    In each sentence the first ``n_words[s]`` rows are its tokens; row ``r`` of the others is the segment of
    ``length[r]`` tokens that begins at token ``begin[r]`` of the sentence.
    """

    n_words: Ints
    begin: Ints
    length: Ints
