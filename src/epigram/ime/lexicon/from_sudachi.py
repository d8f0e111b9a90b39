"""Builds a converter from the costs of SudachiDict alone.

A dictionary in the style of MeCab gives a text the sum of cost(w) + connection(word before, w) over its words and its
two edges; SCALE of that is one nat. The search uses P(w) = exp(-cost / SCALE) / Z for a unigram and exp(-connection /
SCALE) Z for the transition between classes (epigram.ime.word_classes), so that the best text has the least cost. With
Z the unigrams sum to one (about a thousand words with costs below 0 get cost 0, or they would take most of the mass);
the transitions are no probabilities.

A word may have several entries (で is a particle and an auxiliary). Its cost is that of its cheapest entry; its type
is the ids of all entries with their extra costs. The connection of two types is the least over the entries of both.
There are ten thousand types. The classes are representative types, each the farthest from those chosen before by
connection costs; words of other types belong to the nearest.

SudachiDict costs are tuned for segmentation, not spelling (シゴト is as cheap as 仕事), so spelling and part of
speech add estimated costs (``prices``).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from epigram.ime.build import Background
from epigram.ime.decoder import Decoder
from epigram.ime.kana import is_hiragana, is_katakana, split_token, to_hiragana
from epigram.ime.lexicon.dictionary_formats import has_kanji
from epigram.ime.lexicon.lexicon import Lexicon
from epigram.ime.lexicon.sudachi import SudachiDictionary
from epigram.ime.lexicon.unknown_words import UnknownWords, spelling
from epigram.ime.numbers import FORMS, NumberForms
from epigram.ime.scorer import Scorer, Singles
from epigram.ime.word_classes import LexicalClasses
from epigram.lm.ngram.backoff import BackoffModel
from epigram.lm.vocabulary import BOUNDARY
from epigram.protocols import Floats, Ints, Offsets

SCALE = 700.0
"""So much of a price is one nat."""
CONNECTION = 0.8
"""The share of connection costs that counts: what divides text into words best counts less for writing it."""
MOST_TYPES = 1000
"""Of so many types is each a class."""
FARTHEST, STEP = 3000, 500
"""Entries of a word that cost so much more than its cheapest are left out; what others cost more is rounded so."""
PROBES, DIRECTIONS, HIGHEST = 400, 32, 8000
"""Types are compared by connections with so many ids, on so many directions; dearer ones count as this."""
NUMBER, UNKNOWN = 1000.0, 8000.0
"""Prices of a number, before its digits, and of a word that the dictionary lacks, before its kana."""
WORD = -960.0
BY_PART = {
    "動詞": -620, "助詞": -490, "副詞": -360, "非自立可能": -190, "助動詞": -180, "地名": -110, "形容詞": -90,
    "人名": 130, "補助記号": 160, "固有名詞-一般": 180, "接尾辞": 310, "感動詞": 360, "数詞": 820,
}  # fmt: skip
"""Prices of parts of speech: of the first piece, or of a finer one anywhere."""
BY_LENGTH = {1: 500, 2: -150, 3: -330}
"""Of the kana of a reading."""
KATAKANA, TWIN, SHORT = 2760.0, 1690.0, 530.0
"""Of katakana; more where kanji have the same reading and part of speech; else more up to three kana."""
VARIANT = 440.0
"""Where the normal form is written otherwise: 遣う for 使う, ラレル for られる."""
HIRAGANA_VERB = -510.0


def prices(dictionary: SudachiDictionary) -> Floats:
    """Cost of each entry with a cost of its spelling, estimated on text with readings.

    Examples
    --------
    >>> ids = np.ones(2, np.int32)
    >>> two = SudachiDictionary(["仕事/しごと", "シゴト/しごと"], ["名詞", "名詞"], ids, ids, 4000 * ids,
    ...     ["仕事", "仕事"], np.zeros((2, 2), np.int16))
    >>> prices(two).tolist()
    [2710.0, 7160.0]
    """
    of_part = {part: WORD + _price_of_part(part) for part in dict.fromkeys(dictionary.parts)}
    pairs = [split_token(token) for token in dictionary.tokens]
    with_kanji = {
        (reading, part)
        for (surface, reading), part in zip(pairs, dictionary.parts, strict=True)
        if has_kanji(surface)
    }
    out = dictionary.costs.astype(np.float64)
    for k, ((surface, reading), part, normal) in enumerate(
        zip(pairs, dictionary.parts, dictionary.normal, strict=True)
    ):
        price = of_part[part] + BY_LENGTH.get(len(reading), 0)
        if is_katakana(surface):
            twin = (reading, part) in with_kanji
            price += KATAKANA + (TWIN if twin else SHORT if len(reading) <= 3 else 0)
            price += 0 if twin or is_katakana(normal) else VARIANT
        elif is_hiragana(surface):
            price += HIRAGANA_VERB if part.startswith(("動詞", "形容詞")) else 0
        elif has_kanji(surface):
            price += VARIANT if normal[:1] != surface[0] else 0
        out[k] += price
    return out


def _price_of_part(part: str) -> float:
    first = part.partition("-")[0]
    return sum(
        price for name, price in BY_PART.items() if name == first or (name in part and name not in _FIRST)
    )


_FIRST = {"動詞", "助詞", "副詞", "助動詞", "形容詞", "補助記号", "接尾辞", "感動詞"}


@dataclass(frozen=True)
class Types:
    """Types of words: entries ptr[t] .. ptr[t + 1] of type t, with costs above the cheapest."""

    of_word: Offsets
    ptr: Offsets
    left: Offsets
    right: Offsets
    more: Floats

    @classmethod
    def of(cls, word: Ints, left: Ints, right: Ints, price: Floats, least: Floats) -> Types:
        """Group entries by type; word 0, the edge of the text, is of type 0."""
        more = price - least[word]
        kept = np.flatnonzero(more < FARTHEST)
        steps = np.rint(more[kept] / STEP).astype(np.int64)
        key = (left[kept].astype(np.int64) << 32) | (right[kept].astype(np.int64) << 16) | steps
        order = np.lexsort((key, word[kept]))
        keys, ends = key[order].tolist(), np.searchsorted(word[kept][order], np.arange(1, least.size + 1))
        known: dict[tuple[int, ...], int] = {(0,): 0}
        of_word = [0] + [
            known.setdefault(tuple(dict.fromkeys(keys[first:last])), len(known))
            for first, last in pairwise(ends.tolist())
        ]
        flat = np.array([key for entries in known for key in entries], np.int64)
        ptr = np.cumsum([0, *(len(entries) for entries in known)])
        return cls(
            np.array(of_word), ptr, flat >> 32, (flat >> 16) & 0xFFFF, STEP * (flat & 0xFFFF).astype(float)
        )

    def chosen(self, connections: Singles, most: int) -> tuple[Offsets, Offsets]:
        """Cluster types: representative types with type 0, and the nearest of them for each type."""
        points = self._points(connections)
        weight = np.log2(1 + np.bincount(self.of_word, minlength=len(points)))
        chosen, nearest = [0], np.zeros(len(points), np.int64)
        far = ((points - points[0]) ** 2).sum(axis=1)
        while len(chosen) < most and far.max() > 0:
            best = int((weight * far).argmax())
            distance = ((points - points[best]) ** 2).sum(axis=1)
            nearest[distance < far] = len(chosen)
            far = np.minimum(far, distance)
            far[best] = 0.0
            nearest[best] = len(chosen)
            chosen.append(best)
        return np.array(chosen), nearest

    def _points(self, connections: Singles) -> Singles:
        """Connection costs of each type with words before and after, projected to few dimensions."""
        rng = np.random.default_rng(0)
        halves = []
        for costs, ids in ((connections, self.left), (connections.T, self.right)):
            some = rng.permutation(costs.shape[1])[:PROBES]
            met = np.clip(costs[:, some], -HIGHEST, HIGHEST)[ids] + self.more[:, None]
            profile = np.minimum.reduceat(met, self.ptr[:-1], axis=0) / SCALE
            halves.append(profile @ rng.normal(size=(some.size, DIRECTIONS)) / np.sqrt(DIRECTIONS))
        return np.concatenate(halves, axis=1).astype(np.float32)

    def between(self, connections: Singles, chosen: Offsets) -> Singles:
        """Least connection cost between representative types; rows are the word before."""
        entries = [slice(self.ptr[t], self.ptr[t + 1]) for t in chosen.tolist()]
        leaving = np.stack([(connections[:, self.right[e]] + self.more[e]).min(axis=1) for e in entries])
        entering = [(leaving[:, self.left[e]] + self.more[e]).min(axis=1) for e in entries]
        return np.stack(entering, axis=1).astype(np.float32)


def build_from_dictionary(dictionary: SudachiDictionary) -> Background:
    """Build a decoder and its model of unigrams and classes from the costs of a dictionary."""
    lexicon = Lexicon.of(dictionary.tokens)
    vocabulary = lexicon.vocabulary()
    word, price = vocabulary.ids(dictionary.tokens), np.maximum(prices(dictionary), 0.0)
    least = np.full(len(lexicon), np.inf)
    np.minimum.at(least, word, price)
    least[BOUNDARY] = 0.0
    mass = float(np.logaddexp.reduce(-least / SCALE))
    types = Types.of(word, dictionary.left, dictionary.right, price, least)
    classes = _classes(dictionary, types, least, mass, lexicon)
    model = BackoffModel(
        vocabulary, np.array([-1]), np.array([0, least.size]), np.arange(least.size, dtype=np.int32),
        -least / SCALE - mass, np.zeros(1),
    )  # fmt: skip
    surfaces = lexicon.surfaces()
    unknown = UnknownWords(
        np.full(
            6, mass - UNKNOWN / SCALE
        ),  # what follows has no class before it, which would have given it mass
        spelling(surface for surface in surfaces if is_hiragana(surface)),
        spelling(to_hiragana(surface) for surface in surfaces if is_katakana(surface)),
    )
    ten = lexicon.find("十", "じゅう")
    numbers = NumberForms() if ten < 0 else NumberForms(
        min(-NUMBER / SCALE - mass, 0.0), classes=dict.fromkeys(FORMS, int(classes.of_word[ten]))
    )  # fmt: skip
    return Background(Decoder(lexicon, Scorer.of(model, classes), unknown, numbers), model, 0, 0)


def _classes(
    dictionary: SudachiDictionary, types: Types, least: Floats, mass: float, lexicon: Lexicon
) -> LexicalClasses:
    """Make word classes: 0 any word, 1 the edge of the text, the others representative types."""
    connections = dictionary.connections * np.float32(CONNECTION)
    chosen, nearest = types.chosen(connections, MOST_TYPES)
    of_word = (1 + nearest[types.of_word]).astype(np.uint16)
    share = np.bincount(of_word, np.exp(-least / SCALE - mass), minlength=chosen.size + 1)
    links = np.zeros((share.size, share.size))
    links[1:, 1:] = mass - types.between(connections, chosen) / SCALE
    first = np.unique(types.of_word, return_index=True)[1][chosen]
    names = ["any", "edge", *(f"as {lexicon.token(word)}" for word in first[1:].tolist())]
    with np.errstate(divide="ignore"):
        return LexicalClasses(of_word, links + np.log(share), names)
