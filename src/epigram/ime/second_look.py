"""A second look at the best conversions: by the characters, and by the words that stand together, beside the trigrams.

    score = log P(words) + CHARACTERS log P(characters) + PAIRS (sum over pairs of words)

The model of characters is a Kneser-Ney model of what the text writes. It sees across words: how a word goes on that the
text never had beside its neighbours. N-grams that the text has seldom are left out, the more the longer the text.

Pairs see farther than any n-gram: two words of one sentence that the text has near each other more often than by chance
(火山 and 火口, where 火山 の 大きな 加工 is as good a trigram) speak for each other, :class:`WordPairs`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram._core.native import family, gather, offsets
from epigram.ime.context import ENDS, REMEMBERED
from epigram.ime.text import is_content, split_token
from epigram.lm.corpus import BOUNDARY, UNSEEN, Corpus, Vocabulary
from epigram.lm.ngram.kneser_ney import KneserNeyLM
from epigram.lm.ngram.model import BackoffModel
from epigram.protocols import Floats, Ints, Offsets
from epigram.storage.arrays import (
    CODES,
    PACKED,
    Array,
    Schema,
    coded,
    decoded,
    differences,
    narrow,
    pack_integers,
    strings,
)
from epigram.storage.file import pack_strings, unpack_strings

core = family("ime")
ORDER = 6
CHARACTERS, PAIRS = 0.5, 0.1
"""Weights, chosen on held-out text of ten kinds."""
STRAY = -15.0
"""Log-probability of a character that the text never has."""
CHARACTERS_PER_COUNT = (18_000_000, 12_000_000, 9_000_000, 6_000_000)
"""N-grams of three, four, five and six characters are left out that so much text has only once."""
WINDOW = 8
"""Words with kanji or katakana that a pair is apart at most."""
DOUBT = 0.1
"""Added to how often a pair was seen, and to how often it would be by chance."""
FEWEST = 5
"""So often must a word be in the text to be in pairs."""
LONG = 1_000_000
"""Pairs that a text of so many words of that kind has only once are left out."""
MOST = 0xFFFF
"""Counts of pairs stop here."""
HIRAGANA = "".join(map(chr, range(0x3041, 0x3097)))
ARRAYS = {
    "characters.points": Array(np.int32, ("characters",), below=0x110000),
    "characters.contexts": Array(PACKED, ("character_contexts",), steps=True, below="character_pairs"),
    "characters.counts": Array(PACKED, ("character_contexts+1",), total="character_pairs"),
    **strings("pairs.units", "units"),
    "pairs.degrees": Array(PACKED, ("units",)),
    "pairs.sizes": Array(PACKED, ("units",), total="pairs"),
}
FULL = {
    **ARRAYS,
    "characters.targets": Array(np.int32, ("character_pairs",), below="characters+1"),
    "characters.logp": Array(np.float64, ("character_pairs",), infinite="-"),
    "characters.bow": Array(np.float64, ("character_contexts",), infinite="-"),
    "pairs.others": Array(np.int32, ("pairs",), below="units"),
    "pairs.counts": Array(np.uint16, ("pairs",)),
}
SMALL = {
    **ARRAYS,
    "characters.steps": Array(
        PACKED, ("character_pairs",), per_count="characters.counts", below="characters+1"
    ),
    "characters.logp.codes": Array(np.uint8, ("character_pairs",)),
    "characters.logp.books": Array(np.float32, (1, CODES), infinite="-"),
    "characters.bow.codes": Array(np.uint8, ("character_contexts",)),
    "characters.bow.books": Array(np.float32, (1, CODES), infinite="-"),
    "pairs.steps": Array(PACKED, ("pairs",), per_count="pairs.sizes", below="units"),
    "pairs.counts": Array(PACKED, ("pairs",), below=MOST + 1),
}
"""What a quantised file holds."""


@dataclass(frozen=True)
class WordPairs:
    """How often two words stand in one sentence, at most WINDOW apart; words without kanji and katakana do not count.

    A word is known by its surface without the hiragana at its end: 渡る, 渡っ and 渡り are one unit. Units a and b are
    worth

        log (count of a, b + DOUBT) / (degree of a x degree of b / sum of degrees + DOUBT)

    where a degree is the number of pairs that a unit is in. Unit b is stored with a where a < b.

    Examples
    --------
    >>> text = Corpus.of(["火山/かざん の 火口/かこう"] * 5 + ["食品/しょくひん の 加工/かこう"] * 5)
    >>> pairs = WordPairs.learn(text, [token.partition("/")[0] for token in text.vocabulary.words])
    >>> found = pairs.scores([["火山", "の", "火口"], ["火山", "の", "加工"]])
    >>> bool(found[0] > 0 > found[1])
    True
    """

    units: list[str] = field(repr=False)
    degrees: Offsets = field(repr=False)
    sizes: Offsets = field(repr=False)
    others: Ints = field(repr=False)
    counts: npt.NDArray[np.uint16] = field(repr=False)
    before: Ints = field(default_factory=lambda: np.zeros(0, np.int32), repr=False)

    @classmethod
    def learn(cls, corpus: Corpus, surfaces: Sequence[str]) -> WordPairs:
        """From a text of words and the surface of each word of its vocabulary."""
        of_word, units = _units(surfaces, np.bincount(corpus.ids, minlength=len(surfaces)))
        in_sentence = np.repeat(np.arange(corpus.n_sentences), np.diff(corpus.sentence_ptr))
        found = of_word[corpus.ids]
        found, in_sentence = found[found >= 0], in_sentence[found >= 0]
        parts = []
        for apart in range(1, WINDOW + 1):
            near = in_sentence[apart:] == in_sentence[:-apart]
            one, two = found[:-apart][near], found[apart:][near]
            keys = _keys(one, two, len(units))[one != two]
            parts.append(np.unique(keys, return_counts=True))
        keys, counts = _added(parts)
        degrees = _per_unit(keys, counts, len(units))
        kept = counts > (found.size >= LONG)
        return cls._of(units, degrees, keys[kept], counts[kept])

    @classmethod
    def _of(cls, units: list[str], degrees: Offsets, keys: Offsets, counts: Offsets) -> WordPairs:
        """From pairs as rising numbers: unit times how many there are, plus the other."""
        one, two = np.divmod(keys, max(len(units), 1))
        sizes = np.bincount(one, minlength=len(units))
        return cls(units, degrees, sizes, two.astype(np.int32), np.minimum(counts, MOST).astype(np.uint16))

    def with_text(self, corpus: Corpus, surfaces: Sequence[str]) -> WordPairs:
        """The same with the pairs of another text added.

        Examples
        --------
        >>> text = Corpus.of(["火山/かざん の 火口/かこう"] * 5)
        >>> pairs = WordPairs.learn(text, _surfaces(text))
        >>> pairs.with_text(text, _surfaces(text)).counts.tolist(), pairs.counts.tolist()
        ([10], [5])
        """
        both = self, WordPairs.learn(corpus, surfaces)
        units = list(dict.fromkeys(unit for pairs in both for unit in pairs.units))
        number = {unit: k for k, unit in enumerate(units)}
        degrees, parts = np.zeros(len(units), np.int64), []
        for pairs in both:
            new = np.array([number[unit] for unit in pairs.units], np.int64)
            degrees[new] += pairs.degrees
            one, two = new[np.repeat(np.arange(new.size), pairs.sizes)], new[pairs.others]
            parts.append((_keys(one, two, len(units)), pairs.counts.astype(np.int64)))
        return WordPairs._of(units, degrees, *_added(parts))

    def after(self, before: str) -> WordPairs:
        """The same for text that follows another, of which the last units count."""
        text, place, found = before[-REMEMBERED:], 0, []
        while place < len(text):
            ends = range(min(len(text), place + self._longest), place, -1)
            end = next((end for end in ends if text[place:end] in self._id), place)
            if end > place:
                found.append(self._id[text[place:end]])
            place = max(end, place + 1)
        other = copy(self)
        other.__dict__.update(before=np.array(found[-WINDOW:], np.int32), _core=self._core)
        return other

    def scores(self, lists: Sequence[Sequence[str]]) -> Floats:
        """The sum over the pairs of each list of surfaces, and of those with units of the text before."""
        ids = self._id
        found = [
            [unit for surface in surfaces if (unit := ids.get(surface.rstrip(HIRAGANA), -1)) >= 0]
            for surfaces in lists
        ]
        ptr = np.cumsum([0, *(len(units) for units in found)])
        units = np.array([unit for units in found for unit in units], np.int32)
        out = np.empty(len(lists))
        core.pair_scores(self._core, self.before.size, self.before, out.size, ptr, units.size, units, out)
        return out

    @cached_property
    def _id(self) -> dict[str, int]:
        return {unit: number for number, unit in enumerate(self.units)}

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self.units), default=0)

    @cached_property
    def _core(self) -> Any:
        ptr = offsets(self.sizes)
        degrees = self.degrees.astype(np.float64)
        return core.WordPairs(
            degrees.size,
            self.others.size,
            WINDOW,
            max(degrees.sum(), 1.0),
            DOUBT,
            ptr,
            self.others,
            self.counts,
            degrees,
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_core"}


def _keys(one: Offsets, two: Offsets, n_units: int) -> Offsets:
    """Pairs of units, in any order, as numbers."""
    return np.minimum(one, two) * n_units + np.maximum(one, two)


def _added(parts: Sequence[tuple[Offsets, Offsets]]) -> tuple[Offsets, Offsets]:
    """All numbers of several lists, rising, and their counts added up."""
    keys, where = np.unique(np.concatenate([part[0] for part in parts]), return_inverse=True)
    counts = np.bincount(where, np.concatenate([part[1] for part in parts]), minlength=keys.size)
    return keys, counts.astype(np.int64)


def _per_unit(keys: Offsets, counts: Offsets, n_units: int) -> Offsets:
    """In how many pairs each unit is."""
    ends = np.divmod(keys, max(n_units, 1))
    return np.asarray(sum(np.bincount(end, counts, minlength=n_units) for end in ends)).astype(np.int64)


def _units(surfaces: Sequence[str], counts: npt.NDArray[np.integer]) -> tuple[Offsets, list[str]]:
    """The unit of each word (-1: none), and what units there are: those that are frequent enough."""
    names = [surface.rstrip(HIRAGANA) if is_content(surface) else "" for surface in surfaces]
    total: dict[str, int] = {}
    for name, count in zip(names, counts.tolist(), strict=True):
        total[name] = total.get(name, 0) + count
    units = [name for name, count in total.items() if count >= FEWEST and name and name.isprintable()]
    numbers = {name: number for number, name in enumerate(units)}
    return np.array([numbers.get(name, -1) for name in names], np.int64), units


class SecondLook:
    """Score texts by their characters, and lists of words by their characters and pairs.

    Examples
    --------
    >>> look = SecondLook.learn(Corpus.of(["橋/はし を", "橋/はし だ"]), ["", "橋", "を", "だ"])
    >>> scores = look.scores(["橋を", "を橋"])
    >>> bool(scores[0] > scores[1])
    True
    """

    def __init__(self, model: BackoffModel, pairs: WordPairs) -> None:
        self.model = model
        self.pairs = pairs
        self.before = np.zeros(0, np.int32)

    @classmethod
    def learn(cls, corpus: Corpus, surfaces: Sequence[str]) -> SecondLook:
        """From a text of words and the surface of each word of its vocabulary."""
        return cls(_characters_model(_by_character(corpus, surfaces)), WordPairs.learn(corpus, surfaces))

    def adapted(self, text: Corpus, held_out: Corpus) -> SecondLook:
        """The same mixed with a model of the characters of ``text``; the weights are those ``held_out`` likes best.

        Pairs of both texts are added up. Both are texts of surface/reading tokens.

        Examples
        --------
        >>> look = SecondLook.learn(Corpus.of(["橋/はし を", "橋/はし だ"]), ["", "橋", "を", "だ"])
        >>> news = Corpus.of(["箸/はし だ"] * 3)
        >>> bool(look.adapted(news, news).scores(["箸だ"])[0] > look.scores(["箸だ"])[0])
        True
        """
        from epigram.lm.mixed.mixture import interpolate, merge

        domain, held = (_by_character(part, _surfaces(part)) for part in (text, held_out))
        characters = merge(interpolate([self.model, _characters_model(domain)], held))
        return SecondLook(characters, self.pairs.with_text(text, _surfaces(text)))

    def after(self, before: str) -> SecondLook:
        """The same for text that follows another: characters of the open sentence count, and the last words."""
        begun = max(before.rfind(end) for end in ENDS) + 1
        other = copy(self)
        other.before = self._ids(before[begun:][1 - ORDER :])
        other.pairs = self.pairs.after(before)
        return other

    def gains(self, ways: Sequence[Sequence[str]]) -> Floats:
        """What characters and pairs add to the score of each way to write a reading, a list of surfaces."""
        characters = self.scores(["".join(surfaces) for surfaces in ways])
        return CHARACTERS * characters + PAIRS * self.pairs.scores(ways)

    def scores(self, texts: Sequence[str]) -> Floats:
        """Natural log-probability of each text, its end counted."""
        n = self.before.size
        pieces = [np.concatenate((self.before, self._ids(text), [BOUNDARY])) for text in texts]
        stream = np.concatenate(pieces).astype(np.int32)
        logp = self.model.score_stream(stream)
        logp[np.isnan(logp)] = STRAY
        starts = np.cumsum([0, *(piece.size for piece in pieces[:-1])])
        out: Floats = np.add.reduceat(logp, starts) - logp[:n].sum()
        return out

    def _ids(self, text: str) -> Ints:
        points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.int32)
        table = self._id_of_point
        return np.where(points < table.size, table[np.minimum(points, table.size - 1)], UNSEEN).astype(
            np.int32
        )

    @cached_property
    def _id_of_point(self) -> Ints:
        points = np.array([ord(char) for char in self.model.vocabulary_.words[1:]])
        table = np.full(int(points.max(initial=0)) + 1, UNSEEN, np.int32)
        table[points] = np.arange(1, points.size + 1)
        return table

    def pack(self, quantise: bool = False) -> dict[str, npt.NDArray[Any]]:
        """The arrays of a model file; log-probabilities in half precision, or (``quantise``) in eight bits."""
        model, pairs, counts = self.model, self.pairs, np.diff(self.model.pair_ptr)
        units, lengths = pack_strings(pairs.units)
        out: dict[str, npt.NDArray[Any]] = {
            "characters.points": narrow(np.array([ord(char) for char in model.vocabulary_.words[1:]])),
            "characters.contexts": pack_integers(np.diff(model.node_pair[1:], prepend=0)),
            "characters.counts": pack_integers(counts),
            "pairs.units.bytes": units,
            "pairs.units.lengths": narrow(lengths),
            "pairs.degrees": pack_integers(pairs.degrees),
            "pairs.sizes": pack_integers(pairs.sizes),
        }
        if not quantise:
            return out | {
                "characters.targets": narrow(model.pair_word),
                "characters.logp": model.pair_logp.astype(np.float16),
                "characters.bow": model.node_bow[1:].astype(np.float16),
                "pairs.others": pairs.others,
                "pairs.counts": pairs.counts,
            }
        for name, values in (("logp", model.pair_logp), ("bow", model.node_bow[1:])):
            out[f"characters.{name}.codes"], out[f"characters.{name}.books"] = coded(
                values.astype(np.float32), [values.size]
            )
        return out | {
            "characters.steps": _steps(model.pair_word, counts),
            "pairs.steps": _steps(pairs.others, pairs.sizes),
            "pairs.counts": pack_integers(pairs.counts),
        }

    @classmethod
    def unpack(cls, tensors: Mapping[str, npt.NDArray[Any]]) -> SecondLook:
        """What the arrays of a file hold; files of earlier versions have no pairs."""
        if "characters.targets" in tensors:
            found = Schema({}, FULL).read_arrays(tensors)
            targets, logp, bow = (found[f"characters.{name}"] for name in ("targets", "logp", "bow"))
            others = found["pairs.others"]
        else:
            found = Schema({}, SMALL).read_arrays(tensors)
            targets, others = (
                found.pop("characters.steps").astype(np.int32),
                found.pop("pairs.steps").astype(np.int32),
            )
            logp, bow = (
                decoded(codes, found[f"characters.{name}.books"], [codes.size]).astype(np.float64)
                for name in ("logp", "bow")
                for codes in [found[f"characters.{name}.codes"]]
            )
        counts = found.pop("pairs.counts").astype(np.uint16, copy=False)
        model = BackoffModel(
            Vocabulary(chr(point) for point in found["characters.points"].tolist()),
            np.concatenate(([-1], found["characters.contexts"])),
            offsets(found["characters.counts"]),
            targets,
            logp,
            np.concatenate(([0.0], bow)),
        )
        units = unpack_strings(found["pairs.units.bytes"], found["pairs.units.lengths"])
        return cls(model, WordPairs(units, found["pairs.degrees"], found["pairs.sizes"], others, counts))


def _steps(values: Ints, sizes: Offsets) -> npt.NDArray[np.uint8]:
    """Numbers that rise within groups, packed as the steps between them."""
    return pack_integers(differences(values, np.repeat(np.arange(sizes.size), sizes)))


def _characters_model(text: Corpus) -> BackoffModel:
    """Kneser-Ney of a text of characters."""
    prune = [0, 0, *(round(text.n_tokens / characters) for characters in CHARACTERS_PER_COUNT)]
    return KneserNeyLM(order=ORDER, prune=prune).fit(text).backoff_


def _surfaces(corpus: Corpus) -> list[str]:
    """What each token of a text's vocabulary writes; the boundary writes nothing."""
    return ["", *(split_token(token)[0] for token in corpus.vocabulary.words[1:])]


def _by_character(corpus: Corpus, surfaces: Sequence[str]) -> Corpus:
    """The same sentences, each character a word."""
    points = np.frombuffer("".join(surfaces).encode("utf-32-le", "surrogatepass"), np.int32)
    lengths = np.array([len(surface) for surface in surfaces], np.int64)
    starts, where = gather(offsets(lengths), corpus.ids)
    chars = points[where]
    known = np.zeros(0x110000, bool)
    known[chars] = True
    table = np.cumsum(known, dtype=np.int32)
    ptr = starts[corpus.sentence_ptr]
    vocabulary = Vocabulary(chr(point) for point in np.flatnonzero(known).tolist())
    return Corpus(table[chars], ptr, vocabulary)
