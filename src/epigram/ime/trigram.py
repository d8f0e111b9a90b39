"""The word trigram model in the arrays that the search walks: those of epigram.lm.ngram.model, in single precision.

Beside them: the last word of each node and the node of the words before it, and ``gain``, the most that a node can
win over backing off from it (``kernels.gains``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from epigram.errors import InputError
from epigram.lm.ngram.model import BackoffModel
from epigram.lm.vocabulary import Vocabulary
from epigram.protocols import Floats, Ints, Offsets

Singles = npt.NDArray[np.float32]
ROUNDING = 1e-4
NOTHING = np.float32(-1e30)
"""The gain of a node that has nothing to win; finite, so that files hold no infinities."""


class Tables(NamedTuple):
    """What ``kernels.step`` takes."""

    pair_ptr: Offsets
    pair_word: Ints
    pair_logp: Singles
    pair_next: Ints
    node_parent: Ints
    node_bow: Singles


@dataclass(frozen=True)
class Scorer:
    """A word trigram model for the search; word ids are those of a lexicon.

    Examples
    --------
    >>> from epigram.lm.ngram.kneser_ney import KneserNeyLM
    >>> scorer = Scorer.of(KneserNeyLM(order=3).fit(["a b a", "b a"]).backoff_)
    >>> round(float(scorer.log_probabilities(np.array([1, 2, 0], np.int32)).sum()), 3)
    -3.877
    """

    tables: Tables = field(repr=False)
    node_pair: Offsets = field(repr=False)
    gain: Singles = field(repr=False)
    start: int

    @cached_property
    def node_word(self) -> Ints:
        """The last word of each node's context."""
        return np.concatenate((np.full(1, -1, np.int32), self.tables.pair_word[self.node_pair[1:]]))

    @cached_property
    def node_prefix(self) -> Ints:
        """The node of the words before the last."""
        owner = np.searchsorted(self.tables.pair_ptr, self.node_pair[1:], side="right") - 1
        return np.concatenate((np.full(1, -1, np.int32), owner.astype(np.int32)))

    @classmethod
    def of(cls, model: BackoffModel) -> Scorer:
        """From a back-off model of order 3 or less."""
        if model.order > 3:
            raise InputError(f"the search takes models up to order 3, not {model.order}")
        n_words = len(model.vocabulary_)
        if (model.pair_next[n_words:] == 0).any():
            raise InputError("a word is stored after a context but has no context node of its own")
        tables = Tables(
            model.pair_ptr,
            model.pair_word,
            model.pair_logp.astype(np.float32),
            model.pair_next,
            model.node_parent,
            model.node_bow.astype(np.float32),
        )
        from epigram.ime.kernels import gains

        gain = np.full(model.node_pair.size, NOTHING, np.float32)
        gains(model.node_depth, *tables, gain)
        return cls(tables, model.node_pair, np.maximum(gain + np.float32(ROUNDING), NOTHING), model.start())

    def backoff(self, vocabulary: Vocabulary) -> BackoffModel:
        """The model again, in double precision, over the words of a lexicon."""
        tables = self.tables
        return BackoffModel(
            vocabulary,
            self.node_pair,
            tables.pair_ptr,
            tables.pair_word,
            tables.pair_logp.astype(np.float64),
            tables.node_bow.astype(np.float64),
        )

    @property
    def n_words(self) -> int:
        """Words of the vocabulary, the boundary counted."""
        return int(self.tables.pair_ptr[1])

    def log_probabilities(self, words: Ints) -> Floats:
        """Natural log-probability of each word of a sentence (0 is its end)."""
        from epigram.ime.kernels import score_words

        out = np.empty(words.size)
        score_words(words, *self.tables, np.int32(self.start), out)
        return out
