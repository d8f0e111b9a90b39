"""Word classes by part of speech: class-based back-off of the trigram model.

Backing off from a context v ends in single words, P(w). With classes it ends in

    P(w | class of v) = P(c | class of v) P(w | c) = P(w) P(c | class of v) / P(c),    c the class of w,

where P(c) is the sum of P(w) over the class, so that the probabilities still sum to one. P(c | c') is estimated from
the distinct pairs of words that the model stores, as Kneser-Ney does for single words. Kneser-Ney interpolates,
so every stored n-gram gets what its lower order gained (:func:`shift_lower`). Class 0 holds words of unknown class:
it neither predicts nor is predicted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from epigram.ime.lexicon.unknown_words import class_of
from epigram.lm.ngram.backoff import BackoffModel
from epigram.lm.vocabulary import BOUNDARY
from epigram.protocols import Floats

if TYPE_CHECKING:
    pass

ClassNumbers = npt.NDArray[np.uint16]
ANY = 0
MOST_CLASSES = 255
OWN_CLASSES = 100
"""Number of most frequent words (particles, endings, punctuation) that are a class each."""
FEWEST = 300
"""Fewest distinct pairs with a part of speech as second word for which it is a class."""
SMOOTHING = 20.0
SMALLEST_SHARE = 1e-3
"""Share of its probability that every n-gram keeps, whatever the rounding."""


@dataclass(frozen=True)
class LexicalClasses:
    """Class of each word, log P(next class | class), and names of the classes.

    Examples
    --------
    >>> classes = LexicalClasses.none(3)
    >>> classes.of_word.tolist(), classes.names
    ([0, 0, 0], ['any'])
    """

    of_word: ClassNumbers = field(repr=False)
    transitions: Floats = field(repr=False)
    names: list[str]

    @classmethod
    def none(cls, n_words: int) -> LexicalClasses:
        """One class for all words, which changes no probability."""
        return cls(np.zeros(n_words, np.uint16), np.zeros((1, 1)), ["any"])

    @classmethod
    def learn(cls, model: BackoffModel, surfaces: Sequence[str], parts: Sequence[str]) -> LexicalClasses:
        """Estimate from the pairs of a model and parts of speech such as 動詞-一般-連用形 ("": unknown)."""
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
        """Return log P(c | c') / P(c) for all pairs of classes; 0 to and from class 0."""
        share = shares(self.of_word, model, len(self.names))
        with np.errstate(divide="ignore", invalid="ignore"):
            out = np.where(share > 0, self.transitions - np.log(share), 0.0)
        out[ANY], out[:, ANY] = 0.0, 0.0
        return out.astype(np.float32)

    def widened(self, new_id: npt.NDArray[np.integer], n_words: int) -> LexicalClasses:
        """Extend to more words: old word k becomes ``new_id[k]``, the others are of class 0."""
        of_word = np.zeros(n_words, np.uint16)
        of_word[new_id] = self.of_word
        return LexicalClasses(of_word, self.transitions, self.names)


def shares(of_word: ClassNumbers, model: BackoffModel, size: int) -> Floats:
    """P(c), the probability of each class by the unigrams of the model."""
    p = np.exp(model.pair_logp[: of_word.size])
    return np.asarray(np.bincount(of_word, p, minlength=size))


def class_names(counts: npt.NDArray[np.integer], surfaces: Sequence[str], parts: Sequence[str]) -> list[str]:
    """Class of each word: itself if very frequent, else its part of speech, shortened if rare.

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
    """Part of speech, then without the row of a verb, first and last component, and first alone."""
    pieces = part.split("-")
    plain = [piece for piece in pieces if not piece.endswith("行")]
    return list(dict.fromkeys([part, "-".join(plain), f"{pieces[0]}-{pieces[-1]}", pieces[0]]))


def shift_lower(model: BackoffModel, change: Floats, gains: Floats | None, of_word: ClassNumbers) -> None:
    """Add to every stored n-gram its share of the change of unigrams, in place.

    A unigram changes by ``change``; ``gains`` by classes are further factors minus one. An n-gram (x, w) changes by the
    product of both and of the weight of backing off from x to unigrams.

    Examples
    --------
    >>> from epigram.lm.ngram.kneser_ney import KneserNeyLM
    >>> model = KneserNeyLM(order=3, open_vocabulary=False).fit(["a b a", "b b a", "a a"]).backoff_
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
