"""The k best labellings of all sentences as arrays, and the chunks they consist of.

A labelling is a row of units: chunks if the labels are those of a chunk scheme (and each token outside of them), else
single tokens. Units that all labellings of a sentence share cannot change the ranking and are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from epigram._core.arrays import gather, offsets
from epigram.chain.chunks import are_chunk_labels, chunk_tables, chunks_of
from epigram.protocols import Floats, Ints, Offsets

OUTSIDE = "O"
HISTORY = 3
"""Units before a unit whose types it knows."""


@dataclass(frozen=True, slots=True)
class Labellings:
    """The candidates of all sentences end to end, best first: labels, and log p by the tagger.

    Candidates of sentence s are ``list_ptr[s]`` up to ``list_ptr[s + 1]``; a sentence without tokens has an empty one.
    """

    list_ptr: Offsets
    token_ptr: Offsets
    labels: Ints = field(repr=False)
    scores: Floats = field(repr=False)

    @classmethod
    def of(cls, found: Iterable[Sequence[tuple[Ints, float]]]) -> Labellings:
        """From the labellings of each sentence with their log p.

        Examples
        --------
        >>> Labellings.of([[(np.array([0, 1]), -0.1), (np.array([1, 1]), -2.0)], []]).list_ptr.tolist()
        [0, 2, 3]
        """
        none = [(np.empty(0, dtype=np.int32), 0.0)]
        lists = [candidates or none for candidates in found]
        flat = [candidate for candidates in lists for candidate in candidates]
        return cls(
            offsets([len(candidates) for candidates in lists]),
            offsets([len(labels) for labels, _ in flat]),
            np.concatenate([np.empty(0, dtype=np.int32), *(labels for labels, _ in flat)]),
            np.array([score for _, score in flat]),
        )

    @property
    def n_candidates(self) -> int:
        """Candidates of all sentences together."""
        return len(self.scores)

    @property
    def list_of(self) -> Ints:
        """The sentence of each candidate."""
        return np.repeat(np.arange(len(self.list_ptr) - 1, dtype=np.int32), np.diff(self.list_ptr))

    def labelling(self, candidate: int) -> Ints:
        """The labels of one candidate."""
        return self.labels[self.token_ptr[candidate] : self.token_ptr[candidate + 1]]

    def first(self, k: int) -> Labellings:
        """The first k candidates of each sentence."""
        kept = np.flatnonzero(np.arange(self.n_candidates) - self.list_ptr[self.list_of] < k)
        return Labellings(
            offsets(np.minimum(np.diff(self.list_ptr), k)),
            offsets(np.diff(self.token_ptr)[kept]),
            self.chosen(kept),
            self.scores[kept],
        )

    def best(self, scores: Floats) -> Offsets:
        """The candidate of each sentence with the highest score, the first of equals."""
        order = np.lexsort((np.arange(self.n_candidates), -scores, self.list_of))
        return order[self.list_ptr[:-1]]

    def chosen(self, candidates: Ints | Offsets) -> Ints:
        """Labels of some candidates, end to end."""
        _, tokens = gather(self.token_ptr, candidates)
        return self.labels[tokens]


class Units(NamedTuple):
    """Chunks or tokens of labellings: ``begin``, ``end`` and type, in text order.

    ``before`` has the types of the units before it, nearest first; -2 where the sentence begins, -1 is outside.
    """

    candidate: Offsets
    begin: Offsets
    end: Offsets
    type: Offsets
    before: npt.NDArray[np.int64]


class Scheme:
    """Reads labels as units: the type names, and the type of each label.

    Examples
    --------
    >>> scheme = Scheme(["B-NP", "I-NP", "O"])
    >>> units = scheme.units(np.array([0, 1, 2]), np.array([0, 3]))
    >>> units.begin.tolist(), units.end.tolist(), [scheme.name(k) for k in units.type.tolist()]
    ([0, 2], [2, 3], ['NP', 'O'])
    """

    def __init__(self, labels: Sequence[str]) -> None:
        self.chunked = are_chunk_labels(labels)
        self.types, self.type_of, self._goes_on = chunk_tables(labels, self.chunked)

    def name(self, kind: int) -> str:
        """The name of a type; -1 is outside, less is where a sentence begins."""
        return self.types[kind] if kind >= 0 else OUTSIDE if kind == -1 else "<s>"

    def units(self, labels: Ints, token_ptr: Offsets) -> Units:
        """The units of labellings that lie end to end."""
        kinds, ends = chunks_of(labels, self.type_of, self._goes_on, token_ptr)
        outside = self.type_of[labels] < 0
        places = np.flatnonzero((kinds >= 0) | outside)
        candidate = np.searchsorted(token_ptr, places, side="right") - 1
        end = np.where(outside[places], places + 1, ends[places])
        kind = kinds[places]
        before = np.full((HISTORY, len(places)), -2, dtype=np.int64)
        for d in range(1, HISTORY + 1):
            same = candidate[d:] == candidate[:-d]
            before[d - 1, d:][same] = kind[:-d][same]
        start = token_ptr[candidate]
        return Units(candidate, places - start, end - start, kind, before)

    def errors(self, found: Labellings, gold: Ints) -> Floats:
        """Return wrong plus missing chunks of each candidate, or wrong labels.

        Examples
        --------
        >>> both = Labellings.of([[(np.array([0, 2, 2]), -0.1), (np.array([0, 1, 2]), -0.5)]])
        >>> Scheme(["B-NP", "I-NP", "O"]).errors(both, np.array([0, 1, 2])).tolist()
        [2.0, 0.0]
        """
        n = found.n_candidates
        ptr = offsets(np.diff(found.token_ptr)[found.list_ptr[:-1]])
        answers, units = self.units(gold, ptr), self.units(found.labels, found.token_ptr)
        longest = int(np.diff(ptr).max(initial=0)) + 1
        n_types = len(self.types) + 1

        def keys(units: Units, owner: Offsets) -> Offsets:
            place = (owner[units.candidate] * longest + units.begin) * longest + units.end
            return (place * n_types + units.type)[units.type >= 0]

        inside = units.candidate[units.type >= 0]
        right = np.isin(keys(units, found.list_of.astype(np.int64)), keys(answers, np.arange(len(ptr) - 1)))
        n_gold = np.bincount(answers.candidate[answers.type >= 0], minlength=len(ptr) - 1)
        n_found = np.bincount(inside, minlength=n)
        n_right = np.bincount(inside, right, minlength=n)
        if not self.chunked:
            return (n_found - n_right).astype(np.float64)
        return n_found + n_gold[found.list_of] - 2.0 * n_right


class DistinguishingParts(NamedTuple):
    """Units that some but not all candidates of a sentence contain.

    Rows of ``what`` are the parts (sentence, begin, and what else the key had); ``owner`` and ``number`` say, once an
    occurrence, which candidate has which part.
    """

    what: npt.NDArray[np.int64]
    owner: Offsets
    number: Offsets


def distinguishing(found: Labellings, owner: Offsets, keys: npt.NDArray[np.int64]) -> DistinguishingParts:
    """Return the distinct rows of ``keys`` that not all candidates of a sentence have."""
    sizes = [int(size) for size in keys.max(axis=0, initial=0) + 3]  # types begin at -2
    if math.prod(sizes) < 1 << 62:  # one number a row sorts faster than a row
        _, first, number = np.unique(_folded(keys, sizes), return_index=True, return_inverse=True)
        what = keys[first]
    else:
        what, number = np.unique(keys, axis=0, return_inverse=True)
        number = number.reshape(-1)
    times = np.bincount(number, minlength=len(what))
    kept = times < np.diff(found.list_ptr)[what[:, 0]]
    new = np.cumsum(kept) - 1
    mine = kept[number]
    return DistinguishingParts(what[kept], owner[mine], new[number[mine]])


def _folded(keys: npt.NDArray[np.int64], sizes: Sequence[int]) -> Offsets:
    """A number for each row, different where rows are; no entry is below -2."""
    out = np.zeros(len(keys), dtype=np.int64)
    for column, size in zip(keys.T, sizes, strict=True):
        out = out * size + column + 2
    return out
