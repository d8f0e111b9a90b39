"""The exchange algorithm: words into classes whose bigrams say most about each other.

Kneser and Ney 1993; Martin, Liermann and Ney 1998, section 3. The class bigram model
p(w | v) = p(c(w) | c(v)) p(w | c(w)) with maximum likelihood estimates has the log-likelihood

    sum over classes f(M[a, b])  -  2 sum over classes f(size[c])  +  sum over words f(n[w]),   f(x) = x log x,

so raising it raises the mutual information of neighbouring classes. Each word in turn, frequent ones first, goes to
the class that raises it most; a class never loses its last word. The boundary of sentences has a class by itself.

Differs from the papers: words are looked at in blocks of 128, all against the same counts, so that threads share a
block and their number changes nothing; then the moves that still gain are made one by one, so the objective never
falls. A pass over all classes notes the best few of each word; later passes try only those; when none of them is
worth a move any more, a pass over all classes begins again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from epigram._core import bindings
from epigram._core.arrays import offsets
from epigram.checkpoint import check_ids, demand, piece
from epigram.lm.corpus import Corpus
from epigram.lm.vocabulary import BOUNDARY, UNSEEN
from epigram.protocols import Ints, Offsets

BLOCK = 128
N_CANDIDATES = 24
DRY = 3e-4  # of the gain of the first pass
TABLE = 1 << 20


@dataclass(frozen=True, slots=True)
class ExchangePass:
    """State after a pass; ``perplexity`` is that of the class bigram model on its training text."""

    number: int
    log_likelihood: float
    perplexity: float
    moved: int
    everywhere: bool
    seconds: float
    class_of: Ints = field(repr=False)


PassCallback: TypeAlias = Callable[[ExchangePass], bool | None]
"""Called after each pass; returning True ends the search with the classes so far."""


class Bigrams(NamedTuple):
    """Counts of neighbouring words, by the first word (``succ``) and by the second (``pred``)."""

    succ_ptr: Offsets
    succ_word: Ints
    succ_count: Offsets
    pred_ptr: Offsets
    pred_word: Ints
    pred_count: Offsets

    @classmethod
    def of(cls, corpus: Corpus) -> Bigrams:
        """All bigrams of the text; a word outside the vocabulary is read as a boundary."""
        stream = corpus.stream().astype(np.int64)
        stream[stream == UNSEEN] = BOUNDARY
        first, second = stream[:-1], stream[1:]
        n_words = len(corpus.vocabulary)
        pairs, counts = np.unique(first * n_words + second, return_counts=True)
        first, second = np.divmod(pairs, n_words)
        by_second = np.argsort(second, kind="stable")
        return cls(
            *_rows(first, second, counts, n_words),
            *_rows(second[by_second], first[by_second], counts[by_second], n_words),
        )

    @property
    def word_count(self) -> Offsets:
        """Occurrences of each word, equal as first and as second word of a bigram."""
        totals = offsets(self.succ_count)
        return np.diff(totals[self.succ_ptr]).astype(np.int64)


def _rows(rows: Offsets, columns: Offsets, counts: Offsets, n_words: int) -> tuple[Offsets, Ints, Offsets]:
    """Sparse rows of how often each pair occurs."""
    ptr = np.searchsorted(rows, np.arange(n_words + 1))
    return ptr.astype(np.int64), columns.astype(np.int32), counts.astype(np.int64)


def first_classes(words: Ints, n_classes: int, seed: int) -> Ints:
    """Classes 1 .. n_classes - 1 dealt to words by falling count; a seed shuffles each round.

    Examples
    --------
    >>> first_classes(np.arange(1, 6, dtype=np.int32), 3, seed=0).tolist()
    [1, 2, 1, 2, 1]
    """
    n_open = n_classes - 1
    dealt = np.arange(words.size, dtype=np.int32) % n_open + 1
    if seed:
        chance = np.random.default_rng(seed)
        for lo in range(0, words.size, n_open):
            chance.shuffle(dealt[lo : lo + n_open])
    return dealt.astype(np.int32)


class Exchange:
    """Words in classes, the counts of class bigrams, and passes that improve them.

    ``words`` are those to place, by falling count; ``class_of`` is changed in place.
    """

    def __init__(self, bigrams: Bigrams, words: Ints, class_of: Ints, n_classes: int) -> None:
        self.words, self.class_of, self.n_classes = words, class_of, n_classes
        self._count = bigrams.word_count
        table = np.arange(min(TABLE, int(self._count.sum()) + 1), dtype=np.float64)
        table[1:] *= np.log(table[1:])
        M, MT = np.zeros((2, n_classes, n_classes), np.int64)
        F, FT = np.zeros((2, n_classes, n_classes))
        size, members = np.zeros((2, n_classes), np.int64)
        self._state = (M, MT, F, FT, size, members, table)
        arrays: tuple[Any, ...] = (*bigrams, self._count, class_of, *self._state)
        self._core = bindings.Classes(*arrays)
        self._recount()
        self._candidates = np.zeros((class_of.size, min(N_CANDIDATES, n_classes - 1)), np.int32)

    def _recount(self) -> None:
        """Counts of classes and of their bigrams, from the classes of the words."""
        *bigrams, size, members, _ = self._state
        for table in (*bigrams, size):
            table[:] = 0
        np.add.at(size, self.class_of, self._count)
        members[:] = np.bincount(self.class_of[np.append(self.words, BOUNDARY)], minlength=self.n_classes)
        bindings.exchange_count_classes(self._core)

    @property
    def log_likelihood(self) -> float:
        """Of the text under the class bigram model."""
        _, _, F, _, size, _, _ = self._state
        return float(F.sum() - 2 * _f(size).sum() + _f(self._count).sum())

    @property
    def perplexity(self) -> float:
        """Of the text under the class bigram model."""
        return float(np.exp(-self.log_likelihood / self._count.sum()))

    def best_moves(self, words: Ints, everywhere: bool) -> Ints:
        """The class each word would go to, all others staying."""
        best, n_kept = np.empty(words.size, np.int32), self._candidates.shape[1]
        sums, worths = np.zeros(4 * self.n_classes, np.int64), np.empty(n_kept)
        bindings.exchange_best_moves(self._core, words, everywhere, self._candidates, sums, worths, best)
        return best

    def make_moves(self, words: Ints, best: Ints) -> tuple[int, float]:
        """Make the moves that still gain, in order; how many, and the gain."""
        sums, gained = np.zeros(4 * self.n_classes, np.int64), np.empty(1)
        moved = bindings.exchange_make_moves(self._core, words, best, sums, gained)
        return moved, float(gained[0])

    def run_pass(self, everywhere: bool, pool: ThreadPoolExecutor | None, threads: int) -> tuple[int, float]:
        """One look at every word; how many moved, and the gain."""
        moved, gained = 0, 0.0
        for lo in range(0, self.words.size, BLOCK):
            block = self.words[lo : lo + BLOCK]
            best = np.empty_like(block)
            if pool is None:
                best[:] = self.best_moves(block, everywhere)
            else:
                parts = [slice(t, None, threads) for t in range(min(threads, block.size))]
                shares = [block[part].copy() for part in parts]
                found = pool.map(self.best_moves, shares, [everywhere] * len(shares))
                for part, moves in zip(parts, found, strict=True):
                    best[part] = moves
            some, gain = self.make_moves(block, best)
            moved, gained = moved + some, gained + gain
        return moved, gained

    def run(self, max_passes: int, threads: int = 1, callback: PassCallback | None = None) -> None:
        """Run passes until one over all classes gains next to nothing, or ``max_passes``."""
        with piece(f"{self.n_classes} classes of {self.words.size} words") as kept:
            if kept.result is not None:
                self._take(kept.result["class_of"])
                return
            pool = ThreadPoolExecutor(threads) if threads > 1 else None
            try:
                stopped = self._run(max_passes, threads, pool, callback)
                if stopped:  # a later run learns the classes from the start
                    kept.save({}, stop=True, always=True)
            finally:
                if pool is not None:
                    pool.shutdown()
            kept.finish({"class_of": self.class_of}, stopped)

    def _take(self, class_of: Ints) -> None:
        """Take over the classes of an earlier run."""
        check_ids(class_of, self.n_classes)
        demand(class_of.shape == self.class_of.shape)
        self.class_of[:] = class_of
        self._recount()

    def _run(
        self, max_passes: int, threads: int, pool: ThreadPoolExecutor | None, callback: PassCallback | None
    ) -> bool:
        """Run the passes; returns whether the callback ended them."""
        began, everywhere, first_gain = time.perf_counter(), True, 0.0
        for number in range(1, max_passes + 1):
            moved, gained = self.run_pass(everywhere, pool, threads)
            seconds = time.perf_counter() - began
            now = ExchangePass(
                number, self.log_likelihood, self.perplexity, moved, everywhere, seconds, self.class_of
            )
            if callback is not None and callback(now):
                return True
            first_gain = max(first_gain, gained)
            dry = gained <= DRY * first_gain
            if dry and everywhere:
                break
            everywhere = dry or number < 2
        return False


def _f(counts: Offsets) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """x log x, 0 at 0."""
    x = counts.astype(np.float64)
    x[x > 0] *= np.log(x[x > 0])
    return x
