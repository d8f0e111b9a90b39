"""Encoded sentences as offset arrays: the attribute ids of every token and transition."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from epigram._core.arrays import gather, offsets
from epigram.errors import at_least
from epigram.protocols import Floats, Ints, Offsets


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
        Empty for chains. For trees, the parent of each token in its sentence, counted from 0; -1 for a root.
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
        """Offsets of the sentences among all tokens, without the rows of segments."""
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
        """Replace attribute ``i`` by ``new_ids[i]``; drop occurrences with a negative new id.

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


class SegmentRows(NamedTuple):
    """Rows for segments beside those of tokens; see ``_core/segment_inline.h``.

    In each sentence the first ``n_words[s]`` rows are its tokens; row ``r`` of the others is the segment of
    ``length[r]`` tokens that begins at token ``begin[r]`` of the sentence.
    """

    n_words: Ints
    begin: Ints
    length: Ints
