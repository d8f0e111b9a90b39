"""Writes the model file of levels of n-grams as a stream.

:mod:`~epigram.lm.ngram.storage` reads it. Each array goes through once, split into planes of bytes
(:mod:`epigram.storage.compress`); then all planes are compressed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, pairwise
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram.lm.ngram.estimate import Place, SmoothedLevel
from epigram.lm.ngram.sorting import Spool
from epigram.lm.ngram.storage import finer
from epigram.lm.storage import FAMILY, pack_words
from epigram.lm.vocabulary import Vocabulary
from epigram.protocols import Floats
from epigram.storage.compress import NAMES, compress_stream
from epigram.storage.file import stream_to_file
from epigram.storage.quantise import codebook_of

Blocks = Iterator[npt.NDArray[Any]]


def write_levels(
    path: str | PathLike[str],
    levels: Sequence[SmoothedLevel],
    vocabulary: Vocabulary,
    header: dict[str, Any],
    bits: int,
    place: Place,
) -> None:
    """Write a model file; without ``bits``, the levels must have been rounded (:class:`Place`)."""
    arrays = _Planes(place)
    for name, array in pack_words(vocabulary).items():
        arrays.add(name, iter((array,)), array.dtype)
    arrays.add("node_pair", _node_pairs(levels))
    arrays.add("pairs", _all(levels, "size"))
    arrays.add("targets", _targets(levels))
    for name, column in (("logp", "logp"), ("bow", "bow")):
        if bits:
            book = codebook_of(partial(_numbers, levels, column), 1 << bits)
            arrays.add(f"{name}.codes", _codes(_numbers(levels, column), book))
            arrays.add(f"{name}.codebook", iter((book,)), np.dtype("<f4"))
        else:
            arrays.add(f"{name}.weights", _numbers(levels, column), np.dtype("<f4"))
    if not bits:
        arrays.add("exact", _exact(levels))
        arrays.add("logp.fine", _fine(levels), np.dtype("<i2"))
        arrays.add("bow.fine", map(finer, _numbers(levels, "bow")), np.dtype("<i2"))
    stream_to_file(path, FAMILY, header, arrays.layout, arrays.compressed())
    arrays.remove()


class _Planes:
    """Arrays as planes of their bytes, the least significant first."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.layout: list[tuple[str, str, list[int]]] = []
        self.planes: list[Spool] = []

    def add(self, name: str, blocks: Blocks, dtype: np.dtype[Any] | None = None) -> None:
        """Append an array; without a type, integers below 2^32 in as few bytes as they need."""
        kind = np.dtype("<u4") if dtype is None else dtype.newbyteorder("<")
        planes = [self.place.spool(f"{name}.plane{k}", np.uint8) for k in range(kind.itemsize)]
        size = largest = 0
        for block in blocks:
            if dtype is None:
                largest = max(largest, int(block.max(initial=0)))
            rows = np.ascontiguousarray(block, kind).view(np.uint8).reshape(-1, kind.itemsize).T
            for spool, row in zip(planes, rows, strict=True):
                spool.append(row)
            size += block.size
        if dtype is None:
            kind = np.min_scalar_type(largest).newbyteorder("<")
            for spool in planes[kind.itemsize :]:
                spool.remove()
        self.planes += planes[: kind.itemsize]
        self.layout.append((name, NAMES[kind], [size]))

    def compressed(self) -> Callable[[], Blocks]:
        """Compress all arrays; the result gives the blocks of the frame."""
        total = sum(len(spool) for spool in self.planes)
        content = chain.from_iterable(spool.blocks(remove=True) for spool in self.planes)
        frame = self.place.spool("frame", np.uint8)
        for block in compress_stream(content, total):
            frame.append(np.frombuffer(block, np.uint8))
        self.planes = [frame]
        return frame.blocks

    def remove(self) -> None:
        """Drop everything."""
        for spool in self.planes:
            spool.remove()


def _all(levels: Sequence[SmoothedLevel], column: str) -> Blocks:
    return chain.from_iterable(getattr(level, column).blocks() for level in levels)


def _numbers(levels: Sequence[SmoothedLevel], column: str) -> Iterator[Floats]:
    """Logarithms of one column; the root backs off to nothing and has the weight 1."""
    blocks = _all(levels, column)
    if column == "bow":
        next(blocks)
        yield np.zeros(1)
    yield from blocks


def _node_pairs(levels: Sequence[SmoothedLevel]) -> Blocks:
    """Differences of the pairs that contexts continue, the root apart."""
    before = last = 0
    for shorter, level in pairwise(levels):
        for block in level.context.blocks():
            pairs = block + before
            yield np.diff(pairs, prepend=last)
            last = int(pairs[-1]) if pairs.size else last
        before += len(shorter.word)


def _targets(levels: Sequence[SmoothedLevel]) -> Blocks:
    """Differences of the words of each context."""
    for level in levels:
        for word, size in zip(level.word.blocks(), level.size.blocks(), strict=True):
            steps = np.diff(word, prepend=0)
            first = np.cumsum(size) - size
            steps[first] = word[first]
            yield steps


def _codes(blocks: Iterator[Floats], book: Floats) -> Blocks:
    borders = (book[1:] + book[:-1]) / 2
    for block in blocks:
        yield np.searchsorted(borders, block)


def _exact(levels: Sequence[SmoothedLevel]) -> Blocks:
    """Differences of the contexts whose probabilities are stored to 2^-34."""
    before = last = 0
    for block in _all(levels, "exact"):
        nodes = np.flatnonzero(block) + before
        yield np.diff(nodes, prepend=last)
        last = int(nodes[-1]) if nodes.size else last
        before += block.size


def _fine(levels: Sequence[SmoothedLevel]) -> Blocks:
    """The last bits of those probabilities."""
    for level in levels:
        columns = (level.logp, level.size, level.exact)
        for logp, size, exact in zip(*(column.blocks() for column in columns), strict=True):
            yield finer(logp[np.repeat(exact, size) > 0])
