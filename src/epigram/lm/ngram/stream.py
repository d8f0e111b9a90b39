"""Writes model files of levels of n-grams as streams, compressed or for memory mapping.

:mod:`~epigram.lm.ngram.storage` reads it. To be compressed, each array goes through once, split into planes of bytes
(:mod:`epigram.storage.compress`); then all planes are compressed. To be mapped, arrays are filled and linked in files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, pairwise
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram._core import bindings
from epigram.lm.ngram.backoff import Trie
from epigram.lm.ngram.estimate import Place, SmoothedLevel
from epigram.lm.ngram.sorting import Spool
from epigram.lm.ngram.storage import ARRAYS_IN_PLACE, finer
from epigram.lm.storage import FAMILY, IN_PLACE, pack_words
from epigram.lm.vocabulary import BOUNDARY, Vocabulary
from epigram.protocols import Floats
from epigram.storage.compress import CHUNK, NAMES, compress_stream
from epigram.storage.file import CODE, stream_to_file
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
    arrays.add("node_pair", _steps(_context_pairs(levels)))
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
        arrays.add("exact", _steps(_exact(levels)))
        arrays.add("logp.fine", _fine(levels), np.dtype("<i2"))
        arrays.add("bow.fine", map(finer, _numbers(levels, "bow")), np.dtype("<i2"))
    frame = arrays.compressed()
    stream_to_file(path, FAMILY, {**header, CODE: arrays.layout}, {CODE: ("U8", len(frame))}, frame.blocks)
    frame.remove()


def write_in_place(
    path: str | PathLike[str],
    levels: Sequence[SmoothedLevel],
    vocabulary: Vocabulary,
    header: dict[str, Any],
    place: Place,
) -> None:
    """Write a model file for memory mapping, with the arrays of ``arrays_in_place``."""
    trie = trie_of(levels, place)
    node_of, parent, depth, following = (
        place.array(name, np.int32, size)
        for name, size in (
            ("pair_node_of", trie[2].size), ("node_parent", trie[0].size), ("node_depth", trie[0].size),
            ("pair_next", trie[2].size),
        )
    )  # fmt: skip
    bindings.ngram_nodes_of_pairs(len(vocabulary), *trie[:3], node_of)
    bindings.ngram_link(*trie[1:3], node_of, BOUNDARY, parent, depth, following)
    names = [f"{IN_PLACE}{name}" for name in ARRAYS_IN_PLACE]
    arrays: dict[str, Any] = dict(zip(names, (*trie, node_of, parent, depth, following), strict=True))
    # Wide numbers first, so that all are aligned.
    arrays = dict(sorted((arrays | pack_words(vocabulary)).items(), key=lambda item: -item[1].itemsize))
    places = {name: (NAMES[array.dtype.newbyteorder("<")], array.size) for name, array in arrays.items()}

    def blocks() -> Blocks:
        for array in arrays.values():
            for first in range(0, array.size, CHUNK):
                yield array[first : first + CHUNK]

    stream_to_file(path, FAMILY, header, places, blocks)


def trie_of(levels: Sequence[SmoothedLevel], place: Place) -> Trie:
    """The arrays of a back-off model; levels in memory are emptied."""
    n_nodes, n_pairs = (sum(len(getattr(level, name)) for level in levels) for name in ("context", "word"))
    node_pair = place.array("node_pair", np.int64, n_nodes)
    pair_ptr = place.array("pair_ptr", np.int64, n_nodes + 1)
    pair_word = place.array("pair_word", np.int32, n_pairs)
    pair_logp = place.array("pair_logp", np.float64, n_pairs)
    node_bow = place.array("node_bow", np.float64, n_nodes)
    _fill(node_pair, chain((np.array([-1]),), _context_pairs(levels)))
    _fill(pair_ptr[1:], _ends(_all(levels, "size")))
    pair_ptr[0] = 0
    for out, column in ((pair_word, "word"), (pair_logp, "logp"), (node_bow, "bow")):
        _fill(out, _all(levels, column, remove=place.folder is None))  # a stopped run needs files again
    node_bow[0] = 0.0
    return node_pair, pair_ptr, pair_word, pair_logp, node_bow


def _fill(out: npt.NDArray[Any], blocks: Blocks) -> None:
    at = 0
    for block in blocks:
        out[at : at + block.size] = block
        at += block.size


def _ends(blocks: Blocks) -> Blocks:
    end = 0
    for block in blocks:
        ends = np.cumsum(block, dtype=np.int64) + end
        yield ends
        end = int(ends[-1]) if ends.size else end


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

    def compressed(self) -> Spool:
        """Compress all arrays to the bytes of one frame."""
        total = sum(len(spool) for spool in self.planes)
        content = chain.from_iterable(spool.blocks(remove=True) for spool in self.planes)
        frame = self.place.spool("frame", np.uint8)
        for block in compress_stream(content, total):
            frame.append(np.frombuffer(block, np.uint8))
        return frame


def _all(levels: Sequence[SmoothedLevel], column: str, remove: bool = False) -> Blocks:
    return chain.from_iterable(getattr(level, column).blocks(remove) for level in levels)


def _numbers(levels: Sequence[SmoothedLevel], column: str) -> Iterator[Floats]:
    """Logarithms of one column; the root backs off to nothing and has the weight 1."""
    blocks = _all(levels, column)
    if column == "bow":
        next(blocks)
        yield np.zeros(1)
    yield from blocks


def _context_pairs(levels: Sequence[SmoothedLevel]) -> Blocks:
    """The pairs that contexts continue, the root apart."""
    before = 0
    for shorter, level in pairwise(levels):
        for block in level.context.blocks():
            yield block + before
        before += len(shorter.word)


def _steps(blocks: Blocks) -> Blocks:
    """Differences of rising numbers."""
    last = 0
    for block in blocks:
        yield np.diff(block, prepend=last)
        last = int(block[-1]) if block.size else last


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
    """The contexts whose probabilities are stored to 2^-34."""
    before = 0
    for block in _all(levels, "exact"):
        yield np.flatnonzero(block) + before
        before += block.size


def _fine(levels: Sequence[SmoothedLevel]) -> Blocks:
    """The last bits of those probabilities."""
    for level in levels:
        columns = (level.logp, level.size, level.exact)
        for logp, size, exact in zip(*(column.blocks() for column in columns), strict=True):
            yield finer(logp[np.repeat(exact, size) > 0])
