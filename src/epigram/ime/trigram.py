"""The word trigram model in the arrays that the search walks: those of epigram.lm.ngram.model, in single precision.

Beside them: the last word of each node and the node of the words before it, and ``gain``, the most that a node can
win over backing off from it (``ime_gains`` of ``_core/ime_search.c``).

Classes of words say which words may follow where no n-gram does: what a word is, by its part of speech. Backing off
from a context v ends in single words, P(w). With classes it ends in

    P(w | class of v) = P(c | class of v) P(w | c) = P(w) P(c | class of v) / P(c),    c the class of w,

where P(c) is the sum of P(w) over the class, so that the probabilities still sum to one. P(c | c') is learnt from the
distinct pairs of words that the model stores, as Kneser-Ney does for single words: such pairs are what backing off
has to foretell. Every stored n-gram gets what its lower order gained (:func:`shift_lower`), since Kneser-Ney
interpolates. Class 0 is any word: nothing is known of what stands before or behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from epigram._core.native import family
from epigram.errors import InputError
from epigram.ime.lexicon import class_of
from epigram.lm.corpus import BOUNDARY
from epigram.lm.ngram.model import BackoffModel, Links
from epigram.protocols import Floats, Ints, Offsets

if TYPE_CHECKING:
    from epigram.lm.corpus import Vocabulary

core = family("ime")
Singles = npt.NDArray[np.float32]
ROUNDING = 1e-4
NOTHING = np.float32(-1e30)
"""The gain of a node that has nothing to win; finite, so that files hold no infinities."""
ClassNumbers = npt.NDArray[np.uint16]
ANY = 0
MOST_CLASSES = 255
OWN_CLASSES = 100
"""So many of the most frequent words (particles, endings, punctuation) are a class each."""
FEWEST = 300
"""Distinct pairs that a part of speech must be the second word of, to be a class of its own."""
SMOOTHING = 20.0
SMALLEST_SHARE = 1e-3
"""Rounding must not leave an n-gram without probability."""


class Trie(NamedTuple):
    """Contexts and the words stored after them, as in :class:`epigram.lm.ngram.model.BackoffModel`."""

    node_pair: Offsets
    pair_ptr: Offsets
    pair_word: Ints


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
    word_class: ClassNumbers = field(repr=False)
    class_logp: Singles = field(repr=False)
    class_names: list[str] = field(repr=False)

    @cached_property
    def core(self) -> Any:
        """The tables as C takes them."""
        return core.Trigram(
            self.node_pair.size, self.tables.pair_word.size, self.word_class.size, self.n_classes, self.start,
            *self.tables, self.word_class, self.class_logp,
        )  # fmt: skip

    @property
    def n_classes(self) -> int:
        """Classes of words, the one of any word counted; the first nodes stand for them."""
        return len(self.class_names)

    @property
    def fits(self) -> bool:
        """Whether the arrays fit together: a model from a damaged file must not lead the search astray."""
        n_nodes, n_pairs, tables = self.node_pair.size, self.tables.pair_word.size, self.tables
        return (
            tables.pair_ptr.size == n_nodes + 1 >= 2
            and tables.pair_logp.size == tables.pair_next.size == n_pairs
            and tables.node_parent.size == tables.node_bow.size == self.gain.size == n_nodes
            and self.word_class.size == self.tables.pair_ptr[1]
            and self.class_logp.shape == (self.n_classes, self.n_classes)
            and bool(core.fits(self.core, n_nodes, self.node_pair))
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "core"}

    @cached_property
    def node_word(self) -> Ints:
        """The last word of each node's context."""
        n = self.n_classes
        return np.concatenate((np.full(n, -1, np.int32), self.tables.pair_word[self.node_pair[n:]]))

    @cached_property
    def node_prefix(self) -> Ints:
        """The node of the words before the last."""
        out = np.empty(self.node_pair.size, np.int32)
        core.prefixes(out.size, self.n_classes, self.tables.pair_ptr, self.node_pair, out)
        return out

    @classmethod
    def of(cls, model: BackoffModel, classes: WordClasses | None = None) -> Scorer:
        """From a back-off model of order 3 or less; with classes, backing off ends in them."""
        if model.order > 3:
            raise InputError(f"the search takes models up to order 3, not {model.order}")
        n_words = len(model.vocabulary_)
        if (model.pair_next[n_words:] == 0).any():
            raise InputError("a word is stored after a context but has no context node of its own")
        classes = classes or WordClasses.none(n_words)
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
        """The arrays of a back-off model with nodes of classes before its contexts; gains are found if not given."""
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
        core.gains(scorer.core, depth.size, depth, gain)
        np.maximum(gain + np.float32(ROUNDING), NOTHING, out=gain)
        return scorer

    @property
    def trie(self) -> Trie:
        """The nodes and pairs without the nodes of classes."""
        more, tables = self.n_classes - 1, self.tables
        return Trie(
            self.node_pair[more:], np.delete(tables.pair_ptr, np.arange(1, 1 + more)), tables.pair_word
        )

    def starting_at(self, node: int) -> Scorer:
        """The same model for text that goes on after a context."""
        self._check(node, 0)
        other = copy(self)
        object.__setattr__(other, "start", node)
        return other

    def backoff(self, vocabulary: Vocabulary) -> BackoffModel:
        """The model again, in double precision, over the words of a lexicon."""
        from epigram.lm.ngram.model import BackoffModel

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
    def classes(self) -> WordClasses:
        """The classes that backing off ends in."""
        p = np.exp(self.tables.pair_logp[: self.n_words].astype(np.float64))
        share = np.bincount(self.word_class, p, minlength=self.n_classes)
        with np.errstate(divide="ignore"):
            transitions = self.class_logp.astype(np.float64) + np.log(share)
        return WordClasses(self.word_class, transitions, self.class_names)

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

    def to_root(self, node: int) -> tuple[float, int]:
        """Log-weight of backing off from a node to a class, and that class."""
        total = 0.0
        while node >= self.n_classes:
            total += float(self.tables.node_bow[node])
            node = int(self.tables.node_parent[node])
        return total, node

    def special(self, node: int, to: int) -> float:
        """Log-weight of a word outside the model, of class ``to``, after a node; its own probability comes on top."""
        total, before = self.to_root(node)
        return total + float(self.class_logp[before, to])

    def _check(self, node: int, word: int) -> None:
        if not (0 <= node < self.node_pair.size and 0 <= word < self.n_words):
            raise ValueError(
                f"no node {node} or no word {word} in this model; take both from the model itself."
            )


def _numbered(nodes: Ints, words: Ints, word_class: ClassNumbers, more: int) -> Ints:
    """Nodes of a model once ``more`` nodes of classes stand behind the root; the root becomes that of a class."""
    out: Ints = nodes + np.int32(more)
    root = np.flatnonzero(nodes == 0)
    out[root] = word_class[words[root]]
    return out


def _moved(logp: Floats, model: BackoffModel, ratio: Singles, classes: WordClasses, sign: float) -> Floats:
    """Log-probabilities of stored n-grams with what classes add to the lower orders, or (-1) without it."""
    if len(classes.names) == 1:
        return logp
    before = model.pair_logp.copy()
    root = np.exp(before[: len(model.vocabulary_)])
    shift_lower(model, sign * root, np.expm1(ratio.astype(np.float64)), classes.of_word)
    after = model.pair_logp.copy()
    model.pair_logp[:] = before
    return after


@dataclass(frozen=True)
class WordClasses:
    """The class of each word, log P(next class | class), and names of the classes.

    Examples
    --------
    >>> classes = WordClasses.none(3)
    >>> classes.of_word.tolist(), classes.names
    ([0, 0, 0], ['any'])
    """

    of_word: ClassNumbers = field(repr=False)
    transitions: Floats = field(repr=False)
    names: list[str]

    @classmethod
    def none(cls, n_words: int) -> WordClasses:
        """One class: no word says anything of its neighbours beyond the n-grams."""
        return cls(np.zeros(n_words, np.uint16), np.zeros((1, 1)), ["any"])

    @classmethod
    def learn(cls, model: BackoffModel, surfaces: Sequence[str], parts: Sequence[str]) -> WordClasses:
        """From the pairs a model stores; ``parts`` are parts of speech ("" where not known) as 動詞-一般-連用形."""
        n_words = len(model.vocabulary_)
        bigrams = slice(n_words, int(model.pair_ptr[np.flatnonzero(model.node_depth == 1)[-1] + 1]))
        second = model.pair_word[bigrams]
        first = model.pair_word[model.node_pair[model.pair_node[bigrams]]]
        names = class_names(np.bincount(second, minlength=n_words), surfaces, parts)
        table = {name: number for number, name in enumerate(dict.fromkeys(["any", *names]))}
        of_word = np.array([table[name] for name in names], np.uint16)
        size = len(table)
        counts = np.bincount(of_word[first].astype(np.int64) * size + of_word[second], minlength=size * size)
        share = shares(of_word, model, size)
        seen = counts.reshape(size, size) + SMOOTHING * share
        with np.errstate(divide="ignore"):
            return cls(of_word, np.log(seen / seen.sum(axis=1, keepdims=True)), list(table))

    def gains(self, model: BackoffModel) -> npt.NDArray[np.float32]:
        """Return log P(c | c') / P(c): what a class before says of the next; nothing to or from class 0."""
        share = shares(self.of_word, model, len(self.names))
        with np.errstate(divide="ignore", invalid="ignore"):
            out = np.where(share > 0, self.transitions - np.log(share), 0.0)
        out[ANY], out[:, ANY] = 0.0, 0.0
        return out.astype(np.float32)

    def widened(self, new_id: npt.NDArray[np.integer], n_words: int) -> WordClasses:
        """The same classes over more words: old word k is ``new_id[k]``, the others are of class 0."""
        of_word = np.zeros(n_words, np.uint16)
        of_word[new_id] = self.of_word
        return WordClasses(of_word, self.transitions, self.names)


def shares(of_word: ClassNumbers, model: BackoffModel, size: int) -> Floats:
    """P(c), the probability of each class by the model's single words."""
    p = np.exp(model.pair_logp[: of_word.size])
    return np.asarray(np.bincount(of_word, p, minlength=size))


def class_names(counts: npt.NDArray[np.integer], surfaces: Sequence[str], parts: Sequence[str]) -> list[str]:
    """The class of each word: itself if it is very frequent, else its part of speech, shortened while it is rare.

    Examples
    --------
    >>> class_names(np.array([9, 900, 0, 1]), ["", "の", "京", "ペン"], ["", "助詞", "名詞-固有名詞", ""])[1:]
    ['の 助詞', '名詞', '? katakana']
    """
    frequent = np.argsort(-counts, kind="stable")[:OWN_CLASSES]
    own = set(frequent[counts[frequent] >= FEWEST].tolist())
    mass: dict[str, int] = {}
    known = dict.fromkeys(parts)
    ladders = {part: _ladder(part) for part in known}
    per_part: dict[str, int] = dict.fromkeys(known, 0)
    for part, count in zip(parts, counts.tolist(), strict=True):
        per_part[part] += count
    for part, count in per_part.items():
        for name in ladders[part]:
            mass[name] = mass.get(name, 0) + count
    short = {
        part: next((name for name in ladder if mass[name] >= FEWEST), ladder[-1])
        for part, ladder in ladders.items()
    }
    room = MOST_CLASSES - len(own) - 8
    by_mass = sorted(set(short.values()), key=lambda name: -mass[name])
    kept = set(by_mass[:room])
    out = []
    for word, (surface, part) in enumerate(zip(surfaces, parts, strict=True)):
        if word == BOUNDARY:
            out.append("edge")
        elif word in own:
            out.append(f"{surface} {part}")
        elif not part:
            out.append(f"? {class_of(surface)}")
        else:
            out.append(short[part] if short[part] in kept else "? rare")
    return out


def _ladder(part: str) -> list[str]:
    """A part of speech and shorter forms of it: without the row of a verb, the first and last piece, the first."""
    pieces = part.split("-")
    plain = [piece for piece in pieces if not piece.endswith("行")]
    return list(dict.fromkeys([part, "-".join(plain), f"{pieces[0]}-{pieces[-1]}", pieces[0]]))


def shift_lower(model: BackoffModel, change: Floats, gains: Floats | None, of_word: ClassNumbers) -> None:
    """Give every stored n-gram its share of what single words gained, in place.

    A word gains ``change`` where nothing stands before it; ``gains`` by classes are ratios less one on top. What an
    n-gram (x, w) gets is that, times the weight of backing off from x to single words.

    Examples
    --------
    >>> from epigram.lm.ngram.kneser_ney import KneserNeyLM
    >>> model = KneserNeyLM(order=3).fit(["a b a", "b b a", "a a"]).backoff_
    >>> root = np.exp(model.pair_logp[:3])
    >>> change = np.array([0.0, 0.1, -0.1])
    >>> shift_lower(model, change, None, np.zeros(3, np.uint16))
    >>> model.pair_logp[:3] = np.log(root + change)
    >>> bool(np.isclose(model.distribution("a b").sum(), 1)), bool(np.isclose(model.distribution("b").sum(), 1))
    (True, True)
    """
    n_words = len(model.vocabulary_)
    to_root = model.node_bow.copy()
    for depth in range(2, int(model.node_depth.max()) + 1):
        nodes = model.node_depth == depth
        to_root[nodes] += to_root[model.node_parent[nodes]]
    node, word = model.pair_node[n_words:], model.pair_word[n_words:]
    moved = change[word]
    if gains is not None:
        last = of_word[model.pair_word[np.maximum(model.node_pair, 0)]]
        moved = moved * gains[last[node], of_word[word]]
    p = np.exp(model.pair_logp[n_words:])
    floor = SMALLEST_SHARE * p
    model.pair_logp[n_words:] = np.log(np.maximum(p + np.exp(to_root[node]) * moved, floor))
