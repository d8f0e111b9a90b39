"""The word trigram model in the arrays that the search walks: those of epigram.lm.ngram.model, in single precision.

Beside them: the last word of each node and the node of the words before it, and ``gain``, the most that a node can
win over backing off from it (``ime_gains`` of ``_core/ime_search.c``).
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from epigram._core.native import family
from epigram.errors import InputError
from epigram.protocols import Floats, Ints, Offsets

if TYPE_CHECKING:
    from epigram.lm.ngram.model import BackoffModel
    from epigram.lm.vocabulary import Vocabulary

core = family("ime")
Singles = npt.NDArray[np.float32]
ROUNDING = 1e-4
NOTHING = np.float32(-1e30)
"""The gain of a node that has nothing to win; finite, so that files hold no infinities."""


class Tables(NamedTuple):
    """The forward trie, as in :class:`epigram.lm.ngram.model.BackoffModel`."""

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
    def core(self) -> Any:
        """The tables as C takes them."""
        return core.Trigram(self.node_pair.size, self.tables.pair_word.size, self.start, *self.tables)

    @property
    def fits(self) -> bool:
        """Whether the arrays fit together: a model from a damaged file must not lead the search astray."""
        n_nodes, n_pairs, tables = self.node_pair.size, self.tables.pair_word.size, self.tables
        return (
            tables.pair_ptr.size == n_nodes + 1 >= 2
            and tables.pair_logp.size == tables.pair_next.size == n_pairs
            and tables.node_parent.size == tables.node_bow.size == self.gain.size == n_nodes
            and bool(core.fits(self.core, n_nodes, self.node_pair))
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "core"}

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
        n_nodes = model.node_pair.size
        gain = np.full(n_nodes, NOTHING, np.float32)
        scorer = cls(tables, model.node_pair, gain, model.start())
        core.gains(scorer.core, n_nodes, model.node_depth, gain)
        np.maximum(gain + np.float32(ROUNDING), NOTHING, out=gain)
        return scorer

    def starting_at(self, node: int) -> Scorer:
        """The same model for text that goes on after a context."""
        self._check(node, 0)
        other = copy(self)
        object.__setattr__(other, "start", node)
        return other

    def backoff(self, vocabulary: Vocabulary) -> BackoffModel:
        """The model again, in double precision, over the words of a lexicon."""
        from epigram.lm.ngram.model import BackoffModel

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
        if words.size:
            self._check(0, int(words.min()))
            self._check(0, int(words.max()))
        out = np.empty(words.size)
        core.score_words(self.core, words.size, np.ascontiguousarray(words, np.int32), out)
        return out

    def step(self, node: int, word: int) -> tuple[float, int]:
        """Natural log-probability of a word after a node, and the node it leads to."""
        self._check(node, word)
        logp = np.empty(1)
        return_node = core.step(self.core, node, word, logp)
        return float(logp[0]), int(return_node)

    def stores(self, node: int, word: int) -> bool:
        """Has the model seen the word right after this context?"""
        first, last = self.tables.pair_ptr[node], self.tables.pair_ptr[node + 1]
        at = first + np.searchsorted(self.tables.pair_word[first:last], word)
        return bool(at < last and self.tables.pair_word[at] == word)

    def to_root(self, node: int) -> float:
        """Log-weight of backing off from a node to the empty context."""
        total = 0.0
        while node:
            total += float(self.tables.node_bow[node])
            node = int(self.tables.node_parent[node])
        return total

    def _check(self, node: int, word: int) -> None:
        if not (0 <= node < self.node_pair.size and 0 <= word < self.n_words):
            raise ValueError(
                f"no node {node} or no word {word} in this model; take both from the model itself."
            )
