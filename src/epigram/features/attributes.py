"""Maps feature strings to integer ids by 64-bit hash; names are recovered on demand.

Strings are not kept. An attribute's name is recovered from its first occurrence in the corpus that taught it,
or from the feature string itself where the corpus was given as strings.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Protocol

import numpy as np
import numpy.typing as npt

from epigram._core import bindings
from epigram._core.arrays import offsets
from epigram.errors import InputError
from epigram.protocols import Ints, Offsets

Fingerprints = npt.NDArray[np.uint64]
SMALLEST = 1024


class Source(Protocol):
    """Recovers the names of attributes from the occurrences that were interned."""

    def names(self, occurrences: Offsets) -> list[str]:
        """The expanded strings of some occurrences."""
        ...


class Strings:
    """A source that holds the names themselves."""

    def __init__(self, strings: list[str]) -> None:
        self.strings = strings

    def names(self, occurrences: Offsets) -> list[str]:
        """The strings with these numbers."""
        return [self.strings[k] for k in occurrences.tolist()]


class PackedNames:
    """A source of names end to end in UTF-8, which are decoded when they are asked for."""

    def __init__(self, content: npt.NDArray[np.uint8], ptr: Offsets) -> None:
        self.content, self.ptr = content, ptr

    def names(self, occurrences: Offsets) -> list[str]:
        """The strings with these numbers."""
        content, ptr = self.content.tobytes(), self.ptr
        spans = zip(ptr[occurrences].tolist(), ptr[occurrences + 1].tolist(), strict=True)
        return [content[a:b].decode() for a, b in spans]

    def fingerprints(self) -> Fingerprints:
        """The fingerprints of all names."""
        hashes, powers = np.empty((2, len(self.ptr) - 1), dtype=np.uint64)
        bindings.encoding_hash_strings(self.ptr, self.content, hashes, powers)
        bindings.encoding_mix_all(hashes)
        return hashes


class SpeltNames:
    """A source of names spelt as they are first met, in blocks of UTF-8 bytes."""

    def __init__(self) -> None:
        self._blocks: list[tuple[Offsets, bytes, Offsets]] = []

    def add(self, occurrences: Offsets, content: bytes, ptr: Offsets) -> None:
        """Return the names of occurrences, in rising order, concatenated, with their offsets."""
        self._blocks.append((occurrences, content, ptr))

    def add_strings(self, occurrences: Offsets, strings: list[str]) -> None:
        """The same from strings."""
        content, ptr = utf8(strings)
        self.add(occurrences, content.tobytes(), ptr)

    def names(self, occurrences: Offsets) -> list[str]:
        """The strings of some occurrences."""
        known = np.concatenate([np.empty(0, dtype=np.int64), *(at for at, _, _ in self._blocks)])
        texts = [content[a:b].decode() for _, content, ptr in self._blocks for a, b in pairwise(ptr.tolist())]
        return [texts[k] for k in np.searchsorted(known, occurrences).tolist()]


class AttributeTable:
    """Numbers attributes: the id of each, how often it was met in training, and its name.

    Parameters
    ----------
    fingerprints
        Of the attributes 0, 1, 2, ... of a stored model.
    names
        Their names, where they were stored too.

    Examples
    --------
    >>> table = AttributeTable()
    >>> table.intern(fingerprints(["a", "b", "a"]), Strings(["a", "b", "a"]))
    array([0, 1, 0], dtype=int32)
    >>> table.look_up(fingerprints(["b", "c"])), table.counts, table.names([1])
    (array([ 1, -1], dtype=int32), array([2, 1]), ['b'])
    """

    def __init__(
        self, fingerprints: Fingerprints | None = None, names: Sequence[str] | PackedNames | None = None
    ) -> None:
        known = np.empty(0, dtype=np.uint64) if fingerprints is None else fingerprints
        self._n = len(known)
        self._sources: list[tuple[int, Source]] = []
        self._n_occurrences = 0
        self._slots: Fingerprints | None = None
        self._origins = np.full(self._n, -1, dtype=np.int64)
        if names is not None:
            self._origins = np.arange(self._n, dtype=np.int64)
            self._sources.append((0, names if isinstance(names, PackedNames) else Strings(list(names))))
            self._n_occurrences = self._n
        self._fingerprints = np.asarray(known, dtype=np.uint64)
        self._counts = np.zeros(self._n, dtype=np.int64)
        self._resize()

    @classmethod
    def of_origins(
        cls, fingerprints: Fingerprints, sources: list[tuple[int, Source]], origins: Offsets
    ) -> AttributeTable:
        """A table whose attribute k is named by occurrence ``origins[k]`` of its sources."""
        table = cls(fingerprints)
        table._sources = list(sources)
        table._origins[: table._n] = origins
        return table

    def __len__(self) -> int:
        return self._n

    @property
    def fingerprints(self) -> Fingerprints:
        """Fingerprint of each attribute, by id: all that lookups need."""
        return self._fingerprints[: self._n]

    @property
    def counts(self) -> Offsets:
        """Occurrences of each attribute while the table grew."""
        return self._counts[: self._n]

    @property
    def n_occurrences(self) -> int:
        """Number of interned keys; the next one has this number."""
        return self._n_occurrences

    @property
    def first_met(self) -> Offsets:
        """Number of the key that first was this attribute, by id."""
        return self._origins[: self._n]

    @property
    def slots(self) -> Fingerprints:
        """Pairs of a fingerprint, 0 for a free slot, and an id; filled at the first use."""
        if self._slots is None:
            slots = np.zeros((2 * len(self._fingerprints), 2), dtype=np.uint64)
            bindings.encoding_fill_slots(self.fingerprints, slots)
            self._slots = slots
        return self._slots

    def look_up(self, keys: Fingerprints) -> Ints:
        """Ids of fingerprints, -1 for unknown ones. Changes nothing: safe to share between threads."""
        ids = np.empty(len(keys), dtype=np.int32)
        bindings.encoding_look_up_keys(keys, self.slots, ids)
        return ids

    def intern(self, keys: Fingerprints, source: Source, counts: Offsets | None = None) -> Ints:
        """Ids of fingerprints, new ones where they are new.

        ``source`` names occurrence 0, 1, 2, ... of them; ``counts`` is how often each was met, once if None.
        """
        self.add_source(source)
        ids = self.intern_more(keys)
        if counts is not None:
            np.add.at(self._counts, ids, counts - 1)
        return ids

    def add_source(self, source: Source) -> None:
        """The following :meth:`intern_more` calls hold the occurrences 0, 1, 2, ... of ``source``."""
        self._sources.append((self._n_occurrences, source))

    def intern_more(self, keys: Fingerprints) -> Ints:
        """Ids of the next keys of the current source."""
        ids = np.empty(len(keys), dtype=np.int32)
        n = np.array([self._n], dtype=np.int64)
        done = 0
        while True:
            done = bindings.encoding_intern_keys(
                keys,
                done,
                self._n_occurrences,
                self.slots,
                self._fingerprints,
                self._counts,
                self._origins,
                n,
                ids,
            )
            self._n = int(n[0])
            if done == len(keys):
                break
            self._resize()
        self._n_occurrences += len(keys)
        return ids

    def renumber(self, new_ids: Ints) -> None:
        """Attribute ``i`` becomes ``new_ids[i]``, or leaves the table where that is negative.

        The new ids are 0, 1, 2, ... in any order; see :func:`renumbering`, and
        :meth:`epigram.features.sequences.Sequences.renumber` for the corpus.
        """
        kept = np.flatnonzero(new_ids >= 0)
        order = np.empty(len(kept), dtype=np.int64)
        order[new_ids[kept]] = kept
        self._fingerprints = self._fingerprints[order]
        self._counts = self._counts[order]
        self._origins = self._origins[order]
        self._n = len(order)
        self._resize(spare=0)

    def names(self, ids: Iterable[int]) -> list[str]:
        """Return the strings of attributes; ``?`` and the fingerprint if the name is unknown."""
        chosen = np.fromiter(ids, dtype=np.int64)
        origins = self._origins[: self._n][chosen]
        starts = np.array([start for start, _ in self._sources], dtype=np.int64)
        home = np.where(origins >= 0, np.searchsorted(starts, origins, side="right") - 1, -1)
        names = [f"?{key:016x}" for key in self._fingerprints[chosen].tolist()]
        for k, (start, source) in enumerate(self._sources):
            mine = np.flatnonzero(home == k)
            for at, name in zip(mine.tolist(), source.names(origins[mine] - start), strict=True):
                names[at] = name
        return names

    def settle(self) -> None:
        """Recover all names now and let go of the corpora they came from."""
        names = self.names(range(self._n))
        self._sources = [(0, Strings(names))]
        self._origins = np.arange(self._n, dtype=np.int64)
        self._n_occurrences = self._n
        self._resize()

    def _resize(self, spare: int = 1) -> None:
        """Allocate twice as many slots as attributes; with ``spare``, at least twice the present."""
        room = max(SMALLEST, 1 << ((1 + spare) * self._n).bit_length())
        for name in ("_fingerprints", "_counts", "_origins"):
            old = getattr(self, name)[: self._n]
            new = np.zeros(room, dtype=old.dtype)
            new[: self._n] = old
            setattr(self, name, new)
        self._slots = None

    def __getstate__(self) -> tuple[Fingerprints, Offsets, list[str]]:
        return self.fingerprints.copy(), self.counts.copy(), self.names(range(self._n))

    def __setstate__(self, state: tuple[Fingerprints, Offsets, list[str]]) -> None:
        known, counts, names = state
        AttributeTable.__init__(self, known, names)
        self._counts[: self._n] = counts


def renumbering(counts: Offsets, min_count: int = 1) -> Ints:
    """Return new ids by falling count, ties by old id; -1 if rarer than ``min_count``.

    Frequent attributes then share cache lines.

    Examples
    --------
    >>> renumbering(np.array([1, 5, 3]), min_count=2)
    array([-1,  0,  1], dtype=int32)
    """
    order = np.argsort(-counts, kind="stable")
    return compacting(order[counts[order] >= min_count], len(counts))


def compacting(kept: Offsets, n: int) -> Ints:
    """Number the kept ones of n ids from 0 in the order given; the others become -1.

    Examples
    --------
    >>> compacting(np.array([2, 0]), 3)
    array([ 1, -1,  0], dtype=int32)
    """
    new_ids = np.full(n, -1, dtype=np.int32)
    new_ids[kept] = np.arange(len(kept), dtype=np.int32)
    return new_ids


def fingerprints(strings: Sequence[str]) -> Fingerprints:
    """Fingerprints of whole strings."""
    hashes, _ = hash_parts(strings)
    bindings.encoding_mix_all(hashes)
    return hashes


def hash_parts(strings: Sequence[str]) -> tuple[Fingerprints, Fingerprints]:
    """H and B^length of each string: parts from which fingerprints of concatenations are made."""
    content, ptr = utf8(strings)
    hashes = np.empty(len(strings), dtype=np.uint64)
    powers = np.empty(len(strings), dtype=np.uint64)
    bindings.encoding_hash_strings(ptr, content, hashes, powers)
    return hashes, powers


def utf8(strings: Sequence[str]) -> tuple[npt.NDArray[np.uint8], Offsets]:
    """The bytes of the strings end to end, and where each begins."""
    joined = "".join(strings)
    if joined.isascii():
        content, lengths = joined.encode(), list(map(len, strings))
    else:
        try:
            content = joined.encode()
        except UnicodeEncodeError:
            wrong = next(s for s in strings if not s.isascii() and s != s.encode("utf-8", "ignore").decode())
            raise InputError(f"{wrong!r} is not Unicode text: surrogates not allowed") from None
        lengths = [len(s) if s.isascii() else len(s.encode()) for s in strings]
    return np.frombuffer(content, dtype=np.uint8), offsets(lengths)
