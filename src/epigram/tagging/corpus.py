"""A corpus as integers, as models take it: sentences of attributes, their labels, and what was seen with what.

:class:`Sequences` is what encoding makes of columns: a token is a run of attribute ids (with values where they
are not all one), and a transition into a token may have attributes of its own (``B`` templates that look at the
observation). :class:`SeenPairs` are the combinations of attributes and labels that get a weight.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from epigram._core.native import family, gather, offsets
from epigram.errors import InputError
from epigram.protocols import Floats, Ints, Offsets, at_least, each
from epigram.tagging.formats import Column
from epigram.text import check_text

if TYPE_CHECKING:
    from epigram.tagging.layout import ChainWeights

core = family("chain_layout")
Labels: TypeAlias = Sequence[Sequence[str]] | Column
"""The labels of sentences: a list per sentence, or the column of a file."""
Sets: TypeAlias = Mapping[tuple[int, ...], int]
"""Numbers of sets of label ids, in rising order; the empty one stands for all labels."""


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


class SegmentRows(NamedTuple):
    """Rows beside those of tokens, for segments of several tokens: see ``_core/segment_inline.h``.

    In each sentence the first ``n_words[s]`` rows are its tokens; row ``r`` of the others is the segment of
    ``length[r]`` tokens that begins at token ``begin[r]`` of the sentence.
    """

    n_words: Ints
    begin: Ints
    length: Ints


def is_open(label: Any) -> bool:
    """Whether a label is known in part: a set or list of labels, or None (:mod:`epigram.tagging.partial_labels`)."""
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


class LabelIndex(dict[Any, int]):
    """Numbers of labels by name, and of the sets of labels that tokens may have."""

    def __init__(self, names: Collection[Any] = (), sets: Sets | None = None) -> None:
        super().__init__((name, k) for k, name in enumerate(names))
        self.sets: dict[tuple[int, ...], int] = dict(sets or {})

    def number(self, names: Sequence[str]) -> int:
        """The label of one name, or the set of several, or of none: any label."""
        ids = sorted({self[name] for name in names})
        return ids[0] if len(ids) == 1 else -1 - self.sets.setdefault(tuple(ids), len(self.sets))


def read_labels(y: Any, sequences: Sequences, index: LabelIndex, known: Collection[str] = ()) -> Ints:
    """The label of every token by the numbers of ``index``, which grows; ``known`` are labels besides.

    A label is a name; or, for tokens known in part, a set or list of names, or None.
    """
    if not isinstance(y, Column) and y is not None:
        y = [list(each(own, f"y[{s}]", "labels")) for s, own in enumerate(each(y, "y", "lists of labels"))]
        if any(is_open(label) for sentence in y for label in sentence):
            from epigram.tagging.partial_labels import in_part

            return in_part(y, sequences, index, known)
    found, ids = encode_labels(y, sequences)
    for name in (*found.tolist(), *known):
        index.setdefault(name, len(index))
    return np.array([index[name] for name in found.tolist()], dtype=np.int32)[ids]


@dataclass(slots=True)
class SeenPairs:
    """The combinations of an attribute and a label, of labels, and of both, that get a weight."""

    n_labels: int
    bits: npt.NDArray[np.int64] = field(repr=False)
    transitions: npt.NDArray[np.bool_] = field(repr=False)
    edges: Offsets = field(repr=False)  # attribute * L * width + before * width + after, sorted
    triples: Ints = field(default_factory=lambda: np.zeros((0, 3), dtype=np.int32), repr=False)

    @classmethod
    def of(cls, sequences: Sequences, labels: Ints, n_labels: int, n_attributes: int) -> SeenPairs:
        """Those of a labelled corpus."""
        bits = np.zeros((n_attributes, (n_labels + 63) // 64), dtype=np.int64)
        attributes = sequences.attributes
        core.mark_pairs(
            len(labels), sequences.attribute_ptr, len(attributes), attributes, labels, *bits.shape, bits
        )
        before = sequences.tokens_before()
        after = np.flatnonzero(before >= 0)
        if sequences.segments is not None:  # no steps into rows of segments
            after = np.intersect1d(after, sequences.word_rows)
        after = after[(labels[after] >= 0) & (labels[before[after]] >= 0)]
        transitions = np.zeros((n_labels, n_labels), dtype=bool)
        transitions[labels[before[after]], labels[after]] = True
        keys = np.empty(len(sequences.edge_attributes), dtype=np.int64)
        core.mark_edges(
            len(labels),
            sequences.edge_ptr,
            len(keys),
            sequences.edge_attributes,
            before,
            labels,
            n_labels,
            padded(n_labels),
            keys,
        )
        if len(keys):
            known = np.zeros(len(labels), dtype=bool)
            known[after] = True
            keys = keys[np.repeat(known, np.diff(sequences.edge_ptr))]
        third = after[before[before[after]] >= 0]
        third = third[labels[before[before[third]]] >= 0]
        second = before[third]
        triples = np.stack([labels[before[second]], labels[second], labels[third]], axis=1)
        return cls(n_labels, bits, transitions, np.unique(keys), unique_triples(triples, n_labels))

    @classmethod
    def of_weights(cls, n_labels: int, n_attributes: int, weights: ChainWeights) -> SeenPairs:
        """Those of a trained model's nonzero weights."""
        bits = np.zeros((n_attributes, (n_labels + 63) // 64), dtype=np.int64)
        bit = np.left_shift(np.int64(1), (weights.labels & 63).astype(np.int64))
        np.bitwise_or.at(bits, (weights.attributes, weights.labels >> 6), bit)
        width = padded(n_labels)
        keys = weights.edge_attributes.astype(np.int64) * n_labels * width
        keys += weights.before * width + weights.after
        triples = unique_triples(weights.triples, n_labels)
        return cls(n_labels, bits, weights.transitions != 0, np.unique(keys), triples)

    def union(self, other: SeenPairs) -> SeenPairs:
        """What either has; the larger number of attributes and labels counts."""
        L = max(self.n_labels, other.n_labels)
        shape = (max(len(self.bits), len(other.bits)), (L + 63) // 64)
        bits = np.zeros(shape, dtype=np.int64)
        transitions = np.zeros((L, L), dtype=bool)
        keys = []
        for one in (self, other):
            bits[: one.bits.shape[0], : one.bits.shape[1]] |= one.bits
            transitions[: one.n_labels, : one.n_labels] |= one.transitions
            size = one.n_labels * padded(one.n_labels)
            before, after = np.divmod(one.edges % size, padded(one.n_labels))
            keys.append((one.edges // size) * L * padded(L) + before * padded(L) + after)
        triples = unique_triples(np.concatenate([self.triples, other.triples]), L)
        return SeenPairs(L, bits, transitions, np.unique(np.concatenate(keys)), triples)


def padded(n_labels: int) -> int:
    """The length of a row of labels in kernels."""
    return -(-n_labels // 8) * 8


def triple_keys(triples: Ints, n_labels: int) -> Offsets:
    """A number for each label triple, which sorts them as C takes them: by the last label, the first, the second."""
    first, second, third = triples.T.astype(np.int64)
    keys: Offsets = (third * n_labels + first) * n_labels + second
    return keys


def unique_triples(triples: Ints, n_labels: int) -> Ints:
    """The distinct ones in the order of :func:`triple_keys`."""
    _, first = np.unique(triple_keys(triples, n_labels), return_index=True)
    return np.ascontiguousarray(triples[first], dtype=np.int32)
