"""Labels of sentences: their numbers, what they were seen with, and labels that are known in part.

Where a token may have any label of a set, or any label at all, its sentence is learnt from by the likelihood of all
labellings that keep to what is known, log p = log Z' - log Z, where Z' sums over these labellings
(``_core/chain_partial.h``). In arrays a label of -1 - m stands for set m of a :class:`LabelIndex`.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from epigram._core.native import family
from epigram.errors import InputError
from epigram.protocols import Floats, Ints, Offsets, each
from epigram.tagging.corpus import Column, Labels, Sequences, encode_labels, is_open
from epigram.text import check_text

if TYPE_CHECKING:
    from epigram.tagging.layout import ChainWeights

core = family("chain_layout")
Sets = Mapping[tuple[int, ...], int]
"""Numbers of sets of label ids, in rising order; the empty one stands for all labels."""
MOST_TRIPLES = 1 << 27  # of pairs="all"


class LabelIndex(dict[Any, int]):
    """Numbers of labels by name, and of the sets of labels that tokens may have."""

    def __init__(self, names: Collection[Any] = (), sets: Sets | None = None) -> None:
        super().__init__((name, k) for k, name in enumerate(names))
        self.sets: dict[tuple[int, ...], int] = dict(sets or {})

    def number(self, names: Sequence[str]) -> int:
        """The label of one name, or the set of several, or of none: any label."""
        ids = sorted({self[name] for name in names})
        return ids[0] if len(ids) == 1 else -1 - self.sets.setdefault(tuple(ids), len(self.sets))


def alternatives(labels: Column, sentence_ptr: Offsets, separator: str | None) -> Labels:
    """The labels of a file in which, if ``|`` is the separator, ``A|B`` is either of two labels and ``|`` alone any.

    Examples
    --------
    >>> column = Column(np.array([0, 1, 2], dtype=np.int32), ["DT", "NN|VB", "|"])
    >>> alternatives(column, np.array([0, 2, 3]), "|")
    [['DT', ['NN', 'VB']], [None]]
    """
    if separator is None:
        return labels
    if len(separator) != 1 or separator.isspace():
        raise InputError(f"alternatives are separated by one character, not {separator!r}")
    read: list[str | list[str] | None] = []
    for cell in labels.strings:
        names = cell.split(separator)
        if cell != separator and "" in names:
            raise InputError(
                f"label {cell!r} has an empty alternative; {separator!r} alone stands for any label"
            )
        read.append(None if cell == separator else names if len(names) > 1 else cell)
    flat = [read[k] for k in labels.ids.tolist()]
    return [flat[a:b] for a, b in itertools.pairwise(sentence_ptr.tolist())]


def read_labels(y: Any, sequences: Sequences, index: LabelIndex, known: Collection[str] = ()) -> Ints:
    """The label of every token by the numbers of ``index``, which grows; ``known`` are labels besides.

    A label is a name; or, for tokens known in part, a set or list of names, or None.
    """
    if not isinstance(y, Column) and y is not None:
        y = [list(each(own, f"y[{s}]", "labels")) for s, own in enumerate(each(y, "y", "lists of labels"))]
        if any(is_open(label) for sentence in y for label in sentence):
            return _in_part(y, sequences, index, known)
    found, ids = encode_labels(y, sequences)
    for name in (*found.tolist(), *known):
        index.setdefault(name, len(index))
    return np.array([index[name] for name in found.tolist()], dtype=np.int32)[ids]


def _in_part(y: list[list[Any]], sequences: Sequences, index: LabelIndex, known: Collection[str]) -> Ints:
    flat = [_names(label) for sentence in y for label in sentence]
    everyone = sorted({name for names in flat for name in names})
    spare = everyone[:1] or ["?"]  # for what encode_labels checks: numbers of tokens, and text
    ptr = np.cumsum([0, *(len(sentence) for sentence in y)]).tolist()
    encode_labels([[(one or spare)[0] for one in flat[a:b]] for a, b in itertools.pairwise(ptr)], sequences)
    check_text(everyone)
    for name in (*everyone, *known):
        index.setdefault(name, len(index))
    if not index:
        raise InputError("no token has a label; at least one must be known")
    numbers = {names: index.number(names) for names in set(flat)}
    return np.array([numbers[names] for names in flat], dtype=np.int32)


def _names(label: Any) -> tuple[str, ...]:
    """The names that a label may be; none for any."""
    if label is None:
        return ()
    names = tuple(sorted({str(name) for name in label})) if is_open(label) else (str(label),)
    if not names:
        raise InputError("a token has an empty set of labels; None stands for any label")
    return names


def seen_in_part(
    sequences: Sequences, labels: Ints, sets: Sets, n_labels: int, n_attributes: int
) -> SeenPairs:
    """The pairs that get a weight: those of every label that a set names.

    A token of any label makes no pair of attribute and label, but may stand beside every label.
    """
    if not sets or labels.min(initial=0) >= 0:
        return SeenPairs.of(sequences, labels, n_labels, n_attributes)
    members = {-1 - m: ids for ids, m in sets.items()}
    longest = max(map(len, members.values()))
    table = np.full((len(sets), max(longest, 1)), -1, dtype=np.int32)
    for code, ids in members.items():
        table[-1 - code, : len(ids)] = ids
    seen = SeenPairs.of(sequences, labels, n_labels, n_attributes)
    in_part = labels < 0
    for r in range(longest):
        some = np.full(len(labels), -1, dtype=np.int32)
        some[in_part] = table[-1 - labels[in_part], r]
        seen = seen.union(SeenPairs.of(sequences, some, n_labels, n_attributes))
    before = sequences.tokens_before()
    after = np.flatnonzero(before >= 0)
    for pair in np.unique(np.stack([labels[before[after]], labels[after]], axis=1), axis=0).tolist():
        one, other = ((code,) if code >= 0 else members[code] or range(n_labels) for code in pair)
        seen.transitions[np.ix_(list(one), list(other))] = True
    return seen


def set_rows(sets: Sets, n_labels: int) -> Floats:
    """A row of ones and zeros for each set, as C takes it."""
    rows = np.zeros((len(sets), padded(n_labels)))
    for ids, m in sets.items():
        rows[m, list(ids) if ids else slice(n_labels)] = 1.0
    return rows


def with_rows(sequences: Sequences, row_of: Ints, edge_row_ptr: Offsets) -> Sequences:
    """The sentences without the attributes that no label was seen with, which have no weights."""
    has = (row_of >= 0) | (np.diff(edge_row_ptr) > 0)
    return sequences.renumber(np.where(has, np.arange(len(row_of)), -1).astype(np.int32))


def check_possible(
    sequences: Sequences,
    labels: Ints,
    sets: Sets,
    allowed: npt.NDArray[np.bool_],
    ends: npt.NDArray[np.bool_] | None,
) -> None:
    """Every sentence known in part must have a labelling that constraints permit, else its likelihood is zero."""
    rows = set_rows(sets, len(allowed))[:, : len(allowed)] > 0
    ptr = sequences.sentence_ptr.tolist()
    for s, (a, b) in enumerate(itertools.pairwise(ptr)):
        mine = labels[a:b]
        if not (mine < 0).any():
            continue
        possible = np.ones(len(allowed), dtype=bool) if ends is None else ends[0].copy()
        for t, label in enumerate(mine.tolist()):
            here = rows[-1 - label] if label < 0 else np.arange(len(allowed)) == label
            possible = here & (possible if t == 0 else possible @ allowed)
        if not (possible if ends is None else possible & ends[1]).any():
            raise InputError(
                f"sentence {s}: no labelling that its labels leave open is permitted by constrain; mend the data or "
                "leave constrain out"
            )


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


def all_triples(n_labels: int, allowed: npt.NDArray[np.bool_] | None) -> Ints:
    """All whose pairs are permitted."""
    if n_labels**3 > MOST_TRIPLES:
        raise ValueError(
            f"{n_labels:,} labels have {n_labels**3:,} triples; use pairs='seen' to have weights for those met."
        )
    permitted = np.ones((n_labels, n_labels), dtype=bool) if allowed is None else allowed
    every = np.argwhere(permitted[:, :, None] & permitted[None])
    return unique_triples(every.astype(np.int32), n_labels)
