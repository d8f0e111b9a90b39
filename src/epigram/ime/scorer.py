"""Trigram tables for the search, with class-based back-off.

The arrays are those of epigram.lm.ngram.backoff in single precision, with the last word of each node and the node
of the words before it, and ``gain``, the most that a node can gain over backing off from it (``ime_gains`` of
``_core/ime_search.c``). :mod:`epigram.ime.word_classes` says how classes of words take part.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from epigram._core import bindings
from epigram.errors import InputError
from epigram.ime.word_classes import ClassNumbers, LexicalClasses, shift_lower
from epigram.lm.ngram.backoff import BackoffModel, Links
from epigram.lm.vocabulary import BOUNDARY
from epigram.protocols import Floats, Ints, Offsets

if TYPE_CHECKING:
    from epigram.lm.vocabulary import Vocabulary

Singles = npt.NDArray[np.float32]
ROUNDING = 1e-4
NOTHING = np.float32(-1e30)
"""The gain of a node that has nothing to win; finite, so that files hold no infinities."""


class Trie(NamedTuple):
    """Contexts and the words stored after them, as in a back-off model."""

    node_pair: Offsets
    pair_ptr: Offsets
    pair_word: Ints


class Tables(NamedTuple):
    """Forward trie, as in a back-off model."""

    pair_ptr: Offsets
    pair_word: Ints
    pair_logp: Singles
    pair_next: Ints
    node_parent: Ints
    node_bow: Singles


@dataclass(frozen=True)
class Scorer:
    """Word trigram model for the search; word ids are those of a lexicon.

    Examples
    --------
    >>> from epigram.lm.ngram.kneser_ney import KneserNeyLM
    >>> scorer = Scorer.of(KneserNeyLM(order=3, open_vocabulary=False).fit(["a b a", "b a"]).backoff_)
    >>> round(float(scorer.log_probabilities(np.array([1, 2, 0], np.int32)).sum()), 3)
    -3.877
    """

    tables: Tables = field(repr=False)
    node_pair: Offsets = field(repr=False)
    gain: Singles = field(repr=False)
    start: int
    word_class: ClassNumbers = field(repr=False)
    class_logp: Singles = field(repr=False)
    class_names: list[str] = field(repr=False)

    @cached_property
    def core(self) -> Any:
        """Tables as a C structure."""
        return bindings.Trigram(self.n_classes, *self.tables, self.word_class, self.class_logp)

    @cached_property
    def segmented(self) -> dict[str, frozenset[int]]:
        """Content words of closed sentences before the caret (:mod:`epigram.ime.left_context`)."""
        return {}

    @property
    def n_classes(self) -> int:
        """Number of classes with class 0; the first nodes stand for them."""
        return len(self.class_names)

    @property
    def fits(self) -> bool:
        """Whether the arrays are consistent, so that the search stays within their bounds."""
        n_nodes, n_pairs, tables = self.node_pair.size, self.tables.pair_word.size, self.tables
        return (
            0 <= self.start < n_nodes
            and tables.pair_ptr.size == n_nodes + 1 >= 2
            and tables.pair_logp.size == tables.pair_next.size == n_pairs
            and tables.node_parent.size == tables.node_bow.size == self.gain.size == n_nodes
            and self.word_class.size == self.tables.pair_ptr[1]
            and self.class_logp.shape == (self.n_classes, self.n_classes)
            and bool(bindings.ime_fits(self.core, self.node_pair))
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("core", "segmented")}

    @cached_property
    def node_word(self) -> Ints:
        """Last word of the context of each node."""
        n = self.n_classes
        return np.concatenate((np.full(n, -1, np.int32), self.tables.pair_word[self.node_pair[n:]]))

    @cached_property
    def node_prefix(self) -> Ints:
        """Node of the words before the last."""
        out = np.empty(self.node_pair.size, np.int32)
        bindings.ime_prefixes(self.n_classes, self.tables.pair_ptr, self.node_pair, out)
        return out

    @classmethod
    def of(cls, model: BackoffModel, classes: LexicalClasses | None = None) -> Scorer:
        """Make a scorer of a back-off model of order 3 or less and optional classes."""
        if model.order > 3:
            raise InputError(f"the search takes models up to order 3, not {model.order}")
        n_words = len(model.vocabulary_)
        if (model.pair_next[n_words:] == 0).any():
            raise InputError("a word is stored after a context but has no context node")
        classes = classes or LexicalClasses.none(n_words)
        ratio = classes.gains(model)
        logp = _moved(model.pair_logp, model, ratio, classes, 1.0).astype(np.float32)
        trie = Trie(model.node_pair, model.pair_ptr, model.pair_word)
        bow = model.node_bow.astype(np.float32)
        return cls.laid_out(trie, model.links, logp, bow, classes.of_word, ratio, classes.names)

    @classmethod
    def laid_out(
        cls,
        trie: Trie,
        links: Links,
        logp: Singles,
        bow: Singles,
        word_class: ClassNumbers,
        class_logp: Singles,
        class_names: list[str],
        gain: Singles | None = None,
    ) -> Scorer:
        """Make a scorer from arrays with class nodes before the contexts; computes missing gains."""
        more = len(class_names) - 1
        last = trie.pair_word[np.maximum(trie.node_pair, 0)]
        nowhere = np.zeros(1 + more, np.int32)
        tables = Tables(
            np.insert(trie.pair_ptr, 1, np.full(more, word_class.size)),
            trie.pair_word,
            logp,
            _numbered(links.pair_next, trie.pair_word, word_class, more),
            np.concatenate((nowhere, _numbered(links.node_parent, last, word_class, more)[1:])),
            np.insert(bow, 0, np.zeros(more, np.float32)),
        )
        node_pair = np.insert(trie.node_pair, 0, np.full(more, -1))
        start = int(tables.pair_next[BOUNDARY])
        if gain is not None:
            gain = np.insert(gain, 0, np.full(more, NOTHING))
            return cls(tables, node_pair, gain, start, word_class, class_logp, class_names)
        depth = np.insert(links.node_depth, 0, np.zeros(more, np.int32))
        gain = np.full(depth.size, NOTHING, np.float32)
        scorer = cls(tables, node_pair, gain, start, word_class, class_logp, class_names)
        bindings.ime_gains(scorer.core, depth, gain)
        np.maximum(gain + np.float32(ROUNDING), NOTHING, out=gain)
        return scorer

    @property
    def trie(self) -> Trie:
        """Nodes and pairs without the class nodes."""
        more, tables = self.n_classes - 1, self.tables
        return Trie(
            self.node_pair[more:], np.delete(tables.pair_ptr, np.arange(1, 1 + more)), tables.pair_word
        )

    def starting_at(self, node: int) -> Scorer:
        """View of this model that starts after a context."""
        self._check(node, 0)
        other = copy(self)
        other.__dict__.update(start=node, core=self.core)
        return other

    def backoff(self, vocabulary: Vocabulary) -> BackoffModel:
        """Convert to a back-off model in double precision over the words of a lexicon."""
        from epigram.lm.ngram.backoff import BackoffModel

        tables, more = self.tables, self.n_classes - 1
        model = BackoffModel(
            vocabulary,
            *self.trie,
            tables.pair_logp.astype(np.float64),
            tables.node_bow[more:].astype(np.float64),
        )
        model.pair_logp[:] = _moved(model.pair_logp, model, self.class_logp, self.classes, -1.0)
        return model

    @property
    def classes(self) -> LexicalClasses:
        """Classes of class-based back-off."""
        p = np.exp(self.tables.pair_logp[: self.n_words].astype(np.float64))
        share = np.bincount(self.word_class, p, minlength=self.n_classes)
        with np.errstate(divide="ignore"):
            transitions = self.class_logp.astype(np.float64) + np.log(share)
        return LexicalClasses(self.word_class, transitions, self.class_names)

    @property
    def n_words(self) -> int:
        """Number of words with the boundary."""
        return int(self.tables.pair_ptr[1])

    def log_probabilities(self, words: Ints) -> Floats:
        """Natural log-probability of each word of a sentence (0 is its end)."""
        if words.size:
            self._check(0, int(words.min()))
            self._check(0, int(words.max()))
        out = np.empty(words.size)
        bindings.ime_score_words(self.core, self.start, np.ascontiguousarray(words, np.int32), out)
        return out

    def step(self, node: int, word: int) -> tuple[float, int]:
        """Natural log-probability of a word after a node, and the node it leads to."""
        self._check(node, word)
        logp = np.empty(1)
        return_node = bindings.ime_step(self.core, node, word, logp)
        return float(logp[0]), int(return_node)

    def stores(self, node: int, word: int) -> bool:
        """Whether the model stores the word after this context."""
        first, last = self.tables.pair_ptr[node], self.tables.pair_ptr[node + 1]
        at = first + np.searchsorted(self.tables.pair_word[first:last], word)
        return bool(at < last and self.tables.pair_word[at] == word)

    def to_root(self, node: int) -> tuple[float, int]:
        """Log-weight of backing off from a node to a class, and that class."""
        total = 0.0
        while node >= self.n_classes:
            total += float(self.tables.node_bow[node])
            node = int(self.tables.node_parent[node])
        return total, node

    def special(self, node: int, to: int) -> float:
        """Log-weight of backing off from a node to an unknown word of class ``to``."""
        total, before = self.to_root(node)
        return total + float(self.class_logp[before, to])

    def _check(self, node: int, word: int) -> None:
        if not (0 <= node < self.node_pair.size and 0 <= word < self.n_words):
            raise ValueError(
                f"no node {node} or no word {word} in this model; take both from the model itself."
            )


def _numbered(nodes: Ints, words: Ints, word_class: ClassNumbers, more: int) -> Ints:
    """Renumber nodes for ``more`` class nodes after the root; the root becomes that of a class."""
    out: Ints = nodes + np.int32(more)
    root = np.flatnonzero(nodes == 0)
    out[root] = word_class[words[root]]
    return out


def _moved(logp: Floats, model: BackoffModel, ratio: Singles, classes: LexicalClasses, sign: float) -> Floats:
    """Log-probabilities of stored n-grams with (1) or without (-1) the effect of classes."""
    if len(classes.names) == 1:
        return logp
    before = model.pair_logp.copy()
    root = np.exp(before[: len(model.vocabulary_)])
    shift_lower(model, sign * root, np.expm1(ratio.astype(np.float64)), classes.of_word)
    after = model.pair_logp.copy()
    model.pair_logp[:] = before
    return after
