"""Kneser-Ney by sorting: count, adjust, smooth and join streams of records.

1. The windows of the text (the last ``order`` words at each position, last word first) are sorted and counted.
2. In that order all n-grams that end alike lie together: one pass finds how many distinct words precede each n-gram,
   of all orders at once, and numbers them (the *rank* of an n-gram; that of its suffix stands beside it).
3. The n-grams of an order are sorted by their first word, then the second: contexts lie together, and one pass finds
   their totals and back-off weights. This is the order of the forward trie.
4. Probabilities of the order below, in the order of ranks, are joined by rank, as many at a time as memory holds.

Results do not depend on the memory: counts are integers, and sums run over a context in the order of the trie.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram._core import bindings
from epigram.errors import InputError
from epigram.lm.ngram.sorting import BLOCK, Records, Spool, sort_records
from epigram.outofcore.dataset import create_array, map_array
from epigram.outofcore.engine import Engine, Told, in_turn, untold
from epigram.protocols import Floats, Ints, Offsets

MOST_NGRAMS = 1 << 31
"""N-grams of one order beyond which they cannot be numbered."""
N_RANGES = 16
"""Ranges of words that workers count; more are no use, as the most frequent word is one."""
LEAST_JOINED = 1 << 16
"""Probabilities of the order below that are held in memory at least."""


@dataclass(frozen=True)
class Place:
    """Memory for sorting, and the folder of what does not fit.

    Without a folder everything is kept in memory. With ``rounds``, logarithms are those of a file with
    weights in full.
    """

    memory: int = 1 << 62
    folder: Path | None = None
    rounds: bool = False

    def spool(self, name: str, dtype: Any) -> Spool:
        """Return an empty spool."""
        return Spool(dtype, None if self.folder is None else self.folder / name)

    def array(self, name: str, dtype: Any, size: int) -> npt.NDArray[Any]:
        """Return an array to be filled, in memory or in a file that is mapped."""
        if self.folder is None or not size:
            return np.empty(size, dtype)
        return create_array(self.folder / f"{name}.npy", dtype, size).view(np.ndarray)


@dataclass(frozen=True)
class RecordShape:
    """Widths of the records of a text: ``bits`` of a word, a rank and a count."""

    order: int
    bits: int
    rank_bits: int
    count_bits: int

    @classmethod
    def of(cls, order: int, n_words: int, n_positions: int) -> RecordShape:
        """Return the widths for a vocabulary and a number of positions."""
        if n_positions >= MOST_NGRAMS:
            raise InputError(
                f"a text of {n_positions:,} words and ends of sentences: more than {MOST_NGRAMS:,} are not supported; "
                "train on parts of it and mix the models."
            )
        wide = n_positions.bit_length()
        return cls(order, n_words.bit_length(), max(wide, n_words.bit_length()), wide)

    @property
    def window_width(self) -> int:
        """Words of 64 bits of a window."""
        return -(-(self.order * self.bits + self.count_bits) // 64)

    def gram_width(self, n: int) -> int:
        """Words of 64 bits of an n-gram's record."""
        ranks = self.rank_bits * (2 if n < self.order else 1)
        return -(-(n * self.bits + ranks + self.count_bits + 1) // 64)

    def windows(self) -> Any:
        """Return the description of windows for C."""
        return bindings.GramRecords(
            self.order, self.window_width, self.bits, self.rank_bits, self.count_bits, 0
        )

    def grams(self, n: int) -> Any:
        """Return the description of n-grams for C."""
        return bindings.GramRecords(
            n, self.gram_width(n), self.bits, self.rank_bits, self.count_bits, int(n < self.order)
        )


@dataclass
class Counted:
    """Adjusted counts: of words an array, of longer n-grams spools of records.

    Records come in the order of their suffixes.
    ``tally[n - 1]`` has how many n-grams of order n have the adjusted counts 0, 1, .., 5 and more. Ranks are below
    ``rank_end``, 0 where they have no gaps.
    """

    shape: RecordShape
    unigrams: Offsets
    tally: Offsets
    spools: list[Spool]
    rank_end: int = 0


@dataclass(frozen=True)
class WordRange:
    """The windows that end in a range of words, and the first rank of their n-grams."""

    stream: str
    n_words: int
    shape: RecordShape
    thresholds: list[int]
    memory: int
    folder: str
    low: int
    high: int
    first_rank: int
    n_windows: int


@dataclass
class SmoothedLevel:
    """The n-grams of one order in the order of the trie, and their contexts.

    Of each n-gram its word and log p(w | h); of each context which (n-1)-gram it is, how many n-grams it has, its
    back-off weight and whether its probabilities are stored to 2^-34. The next order needs records (``grams``), ranks
    and probabilities, whose sign says how they are stored (``kneser_ney_round``).
    """

    word: Spool
    logp: Spool
    context: Spool
    size: Spool
    bow: Spool
    exact: Spool
    grams: Spool
    rank: Spool
    p: Spool
    n_ranks: int = 0
    COLUMNS = (
        ("word", "i4"), ("logp", "f8"), ("context", "i8"), ("size", "i4"), ("bow", "f8"), ("exact", "u1"),
        ("grams", "u8"), ("rank", "u4"), ("p", "f8"),
    )  # fmt: skip

    @classmethod
    def at(cls, place: Place, n: int) -> SmoothedLevel:
        """Return an empty level."""
        return cls.of(lambda name, kind: place.spool(f"{name}{n}", kind))

    @classmethod
    def of(cls, spool: Callable[[str, str], Spool], n_ranks: int = 0) -> SmoothedLevel:
        """Return a level whose columns ``spool`` makes of their names and types."""
        spools: dict[str, Any] = {name: spool(name, kind) for name, kind in cls.COLUMNS}
        return cls(**spools, n_ranks=n_ranks)

    @property
    def spools(self) -> list[Spool]:
        """All its columns."""
        return [getattr(self, name) for name, _ in self.COLUMNS]

    def release(self) -> None:
        """Drop what only the next order needs."""
        for spool in (self.grams, self.rank, self.p):
            spool.remove()

    def add(self, own: Floats, lower: Floats, size: Ints, gamma: Floats, rounds: bool) -> None:
        """Append probabilities and back-off weights of whole contexts."""
        p = np.empty(own.size)
        bindings.kneser_ney_interpolate(size, gamma, own, lower, p)
        logp, bow, exact = np.log(p), np.log(gamma), np.zeros(size.size, np.uint8)
        if rounds:
            bindings.kneser_ney_round(size, lower, p, logp, bow, exact)
        for spool, block in ((self.p, p), (self.logp, logp), (self.bow, bow), (self.exact, exact)):
            spool.append(block)


def count(
    stream: Ints, n_words: int, order: int, thresholds: list[int], place: Place, told: Told = untold
) -> Counted:
    """Count the n-grams of a text (:meth:`~epigram.lm.corpus.Corpus.stream`)."""
    shape = RecordShape.of(order, n_words, stream.size)
    made = _windows(stream, shape, 0, n_words, told)
    return _count_windows(made, stream.size, n_words, shape, thresholds, place, told)


def count_on(
    engine: Engine,
    stream: Path,
    counts: Offsets,
    order: int,
    thresholds: list[int],
    place: Place,
    told: Told = untold,
) -> Counted:
    """Count on the workers of an engine, who see the same files.

    ``counts`` are those of the words in the stream. A worker counts the windows that end in a range of words: no n-gram
    is in two ranges, and ranges follow each other as sorted windows do. There are as many ranges on any number of
    workers.
    """
    assert place.folder is not None
    n_words, ends = counts.size, np.cumsum(counts)
    shape = RecordShape.of(order, n_words, int(ends[-1]) + 1)
    cuts = np.unique(np.searchsorted(ends, np.linspace(0, ends[-1], N_RANGES + 1)[1:-1]) + 1)
    cuts = np.unique(np.concatenate(([0], cuts, [n_words]))).tolist()
    ranges = []
    for low, high in pairwise(cuts):
        folder, first = place.folder.resolve() / f"range{low}", int(ends[low - 1]) if low else 0
        common = str(stream), n_words, shape, thresholds, place.memory, str(folder)
        ranges.append(WordRange(*common, low, high, first, int(ends[high - 1]) - first))
    found = in_turn(engine, _count_range, ranges, "counting n-grams", told)
    spools = []
    for n in range(2, order + 1):
        spools.append(place.spool(f"counted{n}", np.uint64))
        for part, (_, _, sizes) in zip(ranges, found, strict=True):
            own = Spool(np.uint64, Path(part.folder) / f"counted{n}", sizes[n - 2])
            for block in own.blocks(remove=True):
                spools[-1].append(block)
        spools[-1].close()
    for part in ranges:
        Path(part.folder).rmdir()
    unigrams, tally = (np.sum([parts[k] for parts in found], axis=0) for k in (0, 1))
    tally[0, 0] -= n_words * (len(ranges) - 1)
    return Counted(shape, unigrams, tally, spools, int(ends[-1]) + 1)


def _count_range(part: WordRange, _: Any) -> tuple[Offsets, Offsets, list[list[int]]]:
    """Counts of words, tally, and sizes of the blocks of the files that it writes."""
    folder = Path(part.folder)
    folder.mkdir(exist_ok=True)
    made = _windows(map_array(Path(part.stream)), part.shape, part.low, part.high, untold)
    place = Place(part.memory, folder)
    counted = _count_windows(
        made, part.n_windows, part.n_words, part.shape, part.thresholds, place, untold, part.first_rank
    )
    return counted.unigrams, counted.tally, [spool.sizes for spool in counted.spools]


def _count_windows(
    made: Iterator[Records],
    n_windows: int,
    n_words: int,
    shape: RecordShape,
    thresholds: list[int],
    place: Place,
    told: Told,
    first_rank: int = 0,
) -> Counted:
    """Sort windows and count their n-grams, whose ranks begin with ``first_rank``."""
    windows, width, order = shape.windows(), shape.window_width, shape.order
    unigrams = np.zeros(n_words, np.int64)
    widths = np.array([0, 0, *(shape.gram_width(n) for n in range(2, order + 1))], np.int64)
    longest = np.array([0, *thresholds[:order]], np.int64)
    ranks, raw, distinct = (np.zeros(order + 1, np.int64) for _ in range(3))
    following = np.full(order + 1, first_rank, np.int64)
    tally = np.zeros(6 * (order + 1), np.int64)
    before = np.zeros(order + 1, np.uint64)
    grams = bindings.OpenGrams(0, 0, before, ranks, following, raw, distinct, longest, tally)
    spools = [place.spool(f"counted{n}", np.uint64) for n in range(2, order + 1)]
    room = (BLOCK + 1) * widths
    begins = np.concatenate(([0], np.cumsum(room)[:-1]))
    out, found = np.empty(int(room.sum()), np.uint64), np.zeros(order + 1, np.int64)

    def take(block: Records, last: bool) -> None:
        bindings.kneser_ney_adjust(
            windows, grams, block.size // width, block, last, widths, begins, found, unigrams, out
        )
        for n, spool in enumerate(spools, 2):
            spool.append(out[begins[n] : begins[n] + widths[n] * found[n]])

    def combine(n: int, records: Records) -> int:
        return int(bindings.kneser_ney_combine(windows, n, records))

    ordered = sort_records(made, n_windows, width, order * shape.bits, place.memory, place.folder, combine)
    n_read = 0
    for block in ordered:
        take(block, False)
        n_read += block.size // width
        told("counting n-grams", n_read, n_windows)
    take(np.empty(0, np.uint64), True)
    for spool in spools:
        spool.close()
    tallies = tally.reshape(-1, 6)[1:]
    tallies[0, 0] += n_words - tallies[0].sum()
    return Counted(shape, unigrams, tallies, spools)


def _windows(stream: Ints, shape: RecordShape, low: int, high: int, told: Told) -> Iterator[Records]:
    """The windows of all positions whose words are ``low`` to ``high``, some at a time."""
    windows, width = shape.windows(), shape.window_width
    room = np.empty(BLOCK * width, np.uint64)
    for first in range(0, stream.size, BLOCK):
        last = min(first + BLOCK, stream.size)
        told("sorting windows", first, stream.size)
        begin = max(first - shape.order, 0)
        part = np.ascontiguousarray(stream[begin:last])
        made = bindings.kneser_ney_windows(windows, part, first - begin, low, high, BLOCK, room)
        yield room[: made * width]


def words_level(counts: Offsets, discounts: Floats, place: Place) -> SmoothedLevel:
    """The 1-grams, interpolated with the uniform distribution."""
    level, n_words = SmoothedLevel.at(place, 1), counts.size
    total = float(counts.sum())
    taken = discounts[np.minimum(counts, 3)]
    gamma = float(np.cumsum(taken)[-1]) / total
    size = np.array([n_words], np.int32)
    level.add(
        (counts - taken) / total, np.full(n_words, 1.0 / n_words), size, np.array([gamma]), place.rounds
    )
    level.word.append(np.arange(n_words))
    level.context.append(np.array([-1]))
    level.size.append(size)
    level.rank.append(np.arange(n_words))
    level.n_ranks = n_words
    return level


def next_level(
    counted: Counted, n: int, below: SmoothedLevel, discounts: Floats, place: Place, told: Told = untold
) -> SmoothedLevel | None:
    """Smooth the n-grams of order n, which extend those of ``below``; None where there are none."""
    shape, spool = counted.shape, counted.spools[n - 2]
    width = shape.gram_width(n)
    n_ranks = len(spool) // width
    if not n_ranks:
        return None
    level = SmoothedLevel.at(place, n)
    level.n_ranks = counted.rank_end or n_ranks
    suffix, own = place.spool(f"suffix{n}", np.uint32), place.spool(f"own{n}", np.float64)
    gamma = place.spool(f"gamma{n}", np.float64)
    in_memory = place.folder is None  # else a stopped run needs them to begin again here
    records = spool.blocks(remove=in_memory)
    ordered = sort_records(records, n_ranks, width, (n - 1) * shape.bits, place.memory, place.folder)
    joined = _Contexts(shape, n, below, discounts)
    n_read = 0
    for block in ordered:
        n_read += block.size // width
        told(f"smoothing {n}-grams", n_read, n_ranks)
        _keep(level, suffix, own, gamma, joined.take(block, n_read == n_ranks), n < shape.order)
    if in_memory:
        below.grams.remove()
    lower = _joined(below, suffix, place, n, told)
    columns = (own, lower, level.size, gamma)
    blocks = zip(*(column.blocks(remove=column is not level.size) for column in columns), strict=True)
    for own_p, lower_p, size, gammas in blocks:
        level.add(own_p, lower_p, size, gammas, place.rounds)
    return level


def _keep(
    level: SmoothedLevel, suffix: Spool, own: Spool, gamma: Spool, found: tuple[Any, ...], has_longer: bool
) -> None:
    """Append what was found in a block, if anything."""
    words, suffixes, ranks, shares, contexts, sizes, gammas, grams = found
    if not words.size:
        return
    for spool, block in (
        (level.word, words), (suffix, suffixes), (own, shares), (level.context, contexts), (level.size, sizes),
        (gamma, gammas),
    ):  # fmt: skip
        spool.append(block)
    if has_longer:
        level.rank.append(ranks)
        level.grams.append(grams)


class _Contexts:
    """Finds the contexts of sorted n-grams among the shorter ones, which are read along."""

    def __init__(self, shape: RecordShape, n: int, below: SmoothedLevel, discounts: Floats) -> None:
        self.n, self.layout, self.discounts = n, shape.grams(n), discounts
        self.width, self.shorter_width = shape.gram_width(n), shape.gram_width(n - 1) if n > 2 else 1
        self.shorter_blocks = below.grams.blocks() if n > 2 else iter(())
        self.shorter: Records = np.empty(0, np.uint64)
        self.before = 0  # shorter n-grams in blocks before this one
        self.at, self.found = np.zeros(1, np.int64), np.zeros(2, np.int64)
        self.no_more = n == 2
        self.rest: Records = np.empty(0, np.uint64)

    def take(self, block: Records, last: bool) -> tuple[Any, ...]:
        """The columns of whole contexts of what was left and a block."""
        block = np.concatenate((self.rest, block)) if self.rest.size else block
        found = []
        while True:
            n = block.size // self.width
            columns: list[Any] = [np.empty(n, kind) for kind in ("i4", "u4", "u4", "f8", "i8", "i4", "f8")]
            read = bindings.kneser_ney_contexts(
                self.layout, block, last, self.shorter_width, self.shorter.size // self.shorter_width,
                self.shorter, self.no_more, self.at, self.discounts, *columns, self.found,  # type: ignore[call-arg]
            )  # fmt: skip
            kept, n_contexts = self.found.tolist()
            columns = [column[: kept if k < 4 else n_contexts] for k, column in enumerate(columns)]
            columns[4] = columns[4] + (self.before if self.n > 2 else 0)
            found.append((*columns, block[: kept * self.width].copy()))
            block = block[read * self.width :]
            waits = self.n > 2 and not self.no_more and self.at[0] * self.shorter_width == self.shorter.size
            if not block.size or not waits:
                break
            self._read_on()
        self.rest = block.copy()
        return tuple(np.concatenate(parts) for parts in zip(*found, strict=True))

    def _read_on(self) -> None:
        self.before += self.shorter.size // self.shorter_width
        self.at[0] = 0
        following = next(self.shorter_blocks, None)
        self.no_more = following is None
        self.shorter = np.empty(0, np.uint64) if following is None else following


def _joined(below: SmoothedLevel, suffix: Spool, place: Place, n: int, told: Told) -> Spool:
    """The probability of the suffix of each n-gram, from ranges of ranks that fit into memory."""
    lower: Spool | None = None
    most = below.n_ranks if place.folder is None else max(place.memory // 16, LEAST_JOINED)
    for turn, first in enumerate(range(0, below.n_ranks, most)):
        held = np.empty(min(most, below.n_ranks - first))
        for rank, p in zip(below.rank.blocks(), below.p.blocks(), strict=True):
            bindings.kneser_ney_scatter(rank, p, first, held)
        joined = place.spool(f"lower{n}" if turn % 2 == 0 else f"joined{n}", np.float64)
        old = iter(()) if lower is None else lower.blocks(remove=True)
        for block in suffix.blocks():
            own = np.zeros(block.size) if lower is None else next(old)
            bindings.kneser_ney_gather(block, first, held, own)
            joined.append(own)
        for _ in old:
            pass
        joined.close()
        lower = joined
        told(f"joining {n}-grams", min(first + most, below.n_ranks), below.n_ranks)
    suffix.remove()
    assert lower is not None
    return lower
