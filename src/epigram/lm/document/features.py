"""Features from the words before a sentence, for the classes and words in it.

The words of the text before a sentence are counted with decay, at several horizons: a word t words back counts
exp(-t / horizon). The features of the candidates of a choice are

    of a class c           log of its share among these words, over its share in the training text
    of a word w of a class log(1 + N(w) / (prior p(w | class))) at each horizon, and 1 if it is among them at all

N(w) being its decayed count; a prior count keeps shares away from 0. The features of a word that was not seen are 0, so
there are few. ``_core/document.h`` has the formulas.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from epigram._core import bindings
from epigram.errors import InputError
from epigram.lm.factored.classes import WordClasses
from epigram.lm.factored.loss import Factor
from epigram.lm.vocabulary import BOUNDARY
from epigram.protocols import Floats, Ints, Offsets

LONGEST = 100_000


@dataclass(frozen=True)
class FeatureEntries:
    """Features of candidates: entries ``row_ptr[r] .. row_ptr[r + 1]`` are of row r.

    ``own[e]``: whose weights it has beside the shared ones, the class of the candidate. A row of ``phi`` for each.
    """

    row_ptr: Offsets = field(repr=False)
    candidate: Ints = field(repr=False)
    own: Ints = field(repr=False)
    phi: Floats = field(repr=False)


@dataclass(frozen=True)
class Windows:
    """The words before each sentence of a text: ``ids[first[s] .. last[s]]``."""

    ids: Ints = field(repr=False)
    first: Offsets = field(repr=False)
    last: Offsets = field(repr=False)

    @classmethod
    def of_stream(cls, stream: Ints, size: int, document_ptr: Offsets | None = None) -> tuple[Windows, Ints]:
        """The windows of the sentences of a stream, and the sentence of each position.

        ``document_ptr`` has the first sentence of each document: the words before it are not looked at.

        Examples
        --------
        >>> windows, sentence = Windows.of_stream(np.array([1, 2, 0, 3, 0], np.int32), 9)
        >>> windows.last.tolist(), sentence.tolist()
        ([0, 2, 3], [0, 0, 0, 1, 1])
        """
        is_end = stream == BOUNDARY
        sentence = (np.cumsum(is_end) - is_end).astype(np.int32)
        last = np.concatenate(([0], np.cumsum(~is_end)[is_end])).astype(np.int64)
        starts = np.zeros(1, np.int64) if document_ptr is None else document_ptr
        own = starts[np.searchsorted(starts, np.arange(last.size), side="right") - 1]
        ids = np.ascontiguousarray(stream[~is_end], np.int32)
        return cls(ids, np.maximum(last - size, last[own]), last), sentence


@dataclass(frozen=True)
class DocumentFeatures:
    """Counts the words before a sentence, and compares them with those of the training text.

    Parameters
    ----------
    classes : the classes of the model
    counts : how often each word was seen in the training text
    horizons : after how many words a word counts 1 / e, at each horizon
    window : how many words back are looked at
    prior : the counts that shares of the training text stand for
    """

    classes: WordClasses
    counts: Offsets = field(repr=False)
    horizons: tuple[float, ...] = (50.0, 500.0)
    window: int = 2000
    prior: float = 4.0

    def __post_init__(self) -> None:
        if not self.horizons or not all(1 <= horizon <= LONGEST for horizon in self.horizons):
            raise InputError(f"horizons are 1 to {LONGEST:,} words, one or more, not {self.horizons}.")
        if not 1 <= self.window <= LONGEST:
            raise InputError(f"a window is 1 to {LONGEST:,} words, not {self.window:,}.")
        if not (np.isfinite(self.prior) and self.prior > 0):
            raise InputError(f"the prior count must be above 0, not {self.prior:g}.")
        if self.counts.shape != self.classes.class_of.shape:
            raise InputError(f"{self.counts.size} counts of {self.classes.class_of.size} words.")

    def n_features(self, part: str) -> int:
        """Numbers of an entry of a part."""
        return len(self.horizons) + (part == "word")

    def shares(self, part: str) -> Floats:
        """Of each class among all words, or of each word in its class; no word has a share of 0."""
        seen = np.maximum(self.counts, 1).astype(np.float64)
        seen[BOUNDARY] = 0.0
        of_class = np.bincount(self.classes.class_of, seen, self.classes.n_classes)
        if part == "class":
            found: Floats = of_class / max(of_class.sum(), 1.0)
            return found
        shares: Floats = seen / np.maximum(of_class, 1.0)[self.classes.class_of]
        return shares

    def of_classes(self, windows: Windows) -> FeatureEntries:
        """A row for each sentence, with an entry for each class."""
        n, n_classes, n_horizons = windows.first.size, self.classes.n_classes, len(self.horizons)
        phi = np.empty((n * n_classes, n_horizons))
        class_of, shares = self.classes.class_of, self.shares("class")
        bindings.document_classes(
            windows.first,
            windows.last,
            windows.ids,
            class_of,
            shares,
            self._decay,
            self.prior,
            np.empty(n_classes * n_horizons),
            phi.ravel(),
        )
        own = np.tile(np.arange(n_classes, dtype=np.int32), n)
        return FeatureEntries(np.arange(n + 1, dtype=np.int64) * n_classes, own, own, phi)

    def of_words(self, windows: Windows, sentence: Ints, of_class: Ints, rank: Ints) -> FeatureEntries:
        """A row for each sentence (rising) and class, with an entry for each word seen before."""
        n_words, n_horizons, n_rows = self.counts.size, len(self.horizons), sentence.size
        row_ptr, counts = np.empty(n_rows + 1, np.int64), np.zeros(n_words * n_horizons)
        shares = self.shares("word")

        def fill(candidate: Ints, phi: Floats) -> int:
            return int(
                bindings.document_words(
                    sentence,
                    of_class,
                    windows.first,
                    windows.last,
                    windows.ids,
                    self.classes.class_of,
                    rank,
                    shares,
                    self._decay,
                    self.prior,
                    counts,
                    np.empty(n_words, np.int32),
                    row_ptr,
                    candidate,
                    phi,
                )
            )

        n = fill(np.empty(0, np.int32), np.empty(0))
        candidate, phi = np.empty(n, np.int32), np.empty(n * n_horizons)
        if n:
            fill(candidate, phi)
        own = np.repeat(of_class, np.diff(row_ptr))
        return FeatureEntries(
            row_ptr, candidate, own, np.column_stack((phi.reshape(n, n_horizons), np.ones(n)))
        )

    def entries(
        self, part: str, factor: Factor, windows: Windows, sentence: Ints, target: Ints
    ) -> tuple[FeatureEntries, Ints]:
        """The features of the choices of one part at some positions, and the row of each position."""
        if part == "class":
            return self.of_classes(windows), sentence
        of_class = self.classes.class_of[target]
        keys, row = np.unique(
            sentence.astype(np.int64) * self.classes.n_classes + of_class, return_inverse=True
        )
        which, owner = np.divmod(keys, self.classes.n_classes)
        entries = self.of_words(windows, which.astype(np.int32), owner.astype(np.int32), factor.rank)
        return entries, row.astype(np.int32)

    @property
    def _decay(self) -> Floats:
        return np.exp(-1.0 / np.array(self.horizons))
