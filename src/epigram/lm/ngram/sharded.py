"""All n-grams of a text in shards: each shard counts those that begin with a range of words.

N-grams are numbered in the order of their words (:func:`epigram.lm.ngram.kneser_ney.count_ngrams`), so those of a range
of first words are a run of every level, and the levels of the shards follow each other: the arrays are those of one
machine. A shard reads the whole stream (:mod:`epigram.lm.sharding`), 4 bytes a token; what it counts it writes to the
folder. Suffixes begin with the second word, which is another shard's, so they are looked up when all levels are there.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from epigram.lm.ngram.kneser_ney import KneserNeyLM, Level
from epigram.lm.sharding import read_vocabulary
from epigram.protocols import Ints, Offsets, at_least
from epigram.scale.engine import Engine, Here, Told, in_turn, untold
from epigram.scale.folder import Manifest, Record, map_array, map_arrays, write_arrays

BLOCK = 1 << 22  # positions of the stream looked at in one go
SHARD_TOKENS = 1 << 21


@dataclass(frozen=True, slots=True)
class Range:
    """N-grams up to an order that begin with a word of ``low .. high``."""

    folder: str
    stream: Record
    k: int
    low: int
    high: int
    order: int
    n_words: int

    def level(self, n: int) -> Path:
        """Where the n-grams go."""
        return Path(self.folder) / "parts" / f"{n}-grams" / f"{self.k:05d}"


def count_range(mine: Range, _: None) -> list[int]:
    """On a worker: count the n-grams of a range; returns how many there are of 2 words, 3 words, ..."""
    stream = map_arrays(Path(mine.folder) / "common", mine.stream)["stream"]
    starts = _starts(stream, mine.low, mine.high)
    ids, sizes = stream[starts].astype(np.int64), []
    for n in range(2, mine.order + 1):
        # A boundary may be the first or the last of an n-gram, and nowhere else.
        inside = starts + n - 1 < stream.size
        if n > 2:
            inside &= stream[starts + n - 2] != 0
        starts, ids = starts[inside], ids[inside]
        keys = ids * mine.n_words + stream[starts + n - 1]
        found, ids, count = np.unique(keys, return_inverse=True, return_counts=True)
        prefix, word = np.divmod(found, mine.n_words)
        arrays = {"prefix": prefix, "word": word, "count": count}
        write_arrays(mine.level(n), {name: array.astype(np.int32) for name, array in arrays.items()})
        sizes.append(found.size)
    return sizes


def _starts(stream: Ints, low: int, high: int) -> Offsets:
    """Positions of the words of a range; the last symbol begins nothing."""
    found = [np.empty(0, np.int64)]
    for first in range(0, stream.size - 1, BLOCK):
        block = stream[first : min(first + BLOCK, stream.size - 1)]
        found.append(np.flatnonzero((block >= low) & (block < high)) + first)
    return np.concatenate(found)


def ranges(manifest: Manifest, order: int, n_shards: int | None = None) -> list[Range]:
    """Ranges of first words that begin about as many n-grams each."""
    (counts,) = manifest.shared("counts")
    wanted = n_shards or max(1, -(-int(counts.sum()) // SHARD_TOKENS))
    total = np.cumsum(counts)
    inner = np.searchsorted(total, total[-1] * np.arange(1, wanted) / wanted) + 1
    cuts = np.unique(np.concatenate([[0], inner, [counts.size]])).tolist()
    folder, stream = str(manifest.folder.resolve()), {"stream": manifest.common["stream"]}
    return [
        Range(folder, stream, k, low, high, order, counts.size)
        for k, (low, high) in enumerate(pairwise(cuts))
    ]


def count_stream(
    manifest: Manifest,
    order: int,
    engine: Engine | None = None,
    n_shards: int | None = None,
    told: Told = untold,
) -> list[Level]:
    """The levels of :func:`~epigram.lm.ngram.kneser_ney.count_ngrams` of a folder of text, array for array.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from epigram.lm.sharding import write_stream
    >>> home = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (home / "text").write_text("a b a b")
    >>> levels = count_stream(write_stream([home / "text"], home / "words"), 3, n_shards=2)
    >>> [level.word.size for level in levels], levels[1].count.tolist()
    ([3, 4, 4], [1, 2, 1, 1])
    """
    at_least(1, order, "order")
    shards = ranges(manifest, order, n_shards)
    sizes = np.array(in_turn(engine or Here(), count_range, shards, "counting n-grams", told))
    (counts,) = manifest.shared("counts")
    zeros = np.zeros(counts.size, np.int32)
    words = np.arange(counts.size, dtype=np.int32)
    levels = [Level(zeros, words, zeros, counts.astype(np.int32))]
    for n in range(2, order + 1):
        if not sizes[:, n - 2].any():
            break
        before = sizes[:, n - 3] if n > 2 else np.zeros(len(shards), np.int64)
        levels.append(_joined(shards, n, np.cumsum(before) - before, levels[-1]))
    shutil.rmtree(manifest.folder / "parts", ignore_errors=True)
    return levels


def _joined(shards: list[Range], n: int, first: Offsets, shorter: Level) -> Level:
    """The n-grams of all shards end to end; ``first`` is the number of each shard's first prefix."""
    parts = {
        name: [map_array(mine.level(n) / f"{name}.npy") for mine in shards]
        for name in ("prefix", "word", "count")
    }
    shifted = [part + np.int32(shift) for part, shift in zip(parts["prefix"], first.tolist(), strict=True)]
    prefix, word, count = (np.concatenate(some) for some in (shifted, parts["word"], parts["count"]))
    if n == 2:
        return Level(prefix, word, word.copy(), count)
    # The suffix of (prefix, word) is (suffix of prefix, word), one level down.
    n_words = shards[0].n_words
    known = shorter.prefix.astype(np.int64) * n_words + shorter.word
    suffix = np.searchsorted(known, shorter.suffix[prefix].astype(np.int64) * n_words + word)
    return Level(prefix, word, suffix.astype(np.int32), count)


def fit_stream(
    model: KneserNeyLM,
    manifest: Manifest,
    engine: Engine | None = None,
    n_shards: int | None = None,
    told: Told = untold,
) -> KneserNeyLM:
    """Train a Kneser-Ney model on a folder of text: the model of one machine, bit for bit."""
    return model.fit_counts(
        read_vocabulary(manifest), count_stream(manifest, model.order, engine, n_shards, told)
    )
