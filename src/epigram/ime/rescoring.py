"""Rescores n-best conversions by a character 6-gram model and word co-occurrence.

    score = log P(words) + CHARACTERS log P(characters) + PAIRS (sum over pairs of words)

The model of characters is a Kneser-Ney model of the surfaces. It crosses word boundaries, so it also scores words that
the text never has side by side. Rare n-grams are left out, the more the longer the text.

Pairs reach farther than n-grams (:class:`Cooccurrence`): two words of one sentence score if the text has them near each
other more often than by chance (火山 and 火口, where 火山 の 大きな 加工 is as good a trigram).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram._core import bindings
from epigram._core.arrays import gather, offsets
from epigram.ime.kana import is_content, split_token
from epigram.ime.left_context import ENDS, REMEMBERED
from epigram.ime.quantised import CodedCharacters
from epigram.lm.corpus import Corpus
from epigram.lm.ngram.backoff import BackoffModel
from epigram.lm.vocabulary import UNSEEN, Vocabulary
from epigram.protocols import Floats, Ints, Offsets
from epigram.storage.file import pack_strings, string_offsets, unpack_strings
from epigram.storage.quantise import CODES, coded, differences, narrow
from epigram.storage.schema import Array, Schema, strings

ORDER = 6
CHARACTERS, PAIRS = 0.6, 0.25
"""Weights, chosen on held-out text of ten kinds."""
STRAY = -15.0
"""Log-probability of a character that the text never has."""
CHARACTERS_PER_COUNT = (18_000_000, 12_000_000, 9_000_000, 6_000_000)
"""Length of text per count below which n-grams of three to six characters are left out."""
WINDOW = 8
"""Greatest distance of a pair in words with kanji or katakana."""
DOUBT = 0.1
"""Smoothing added to the observed and the expected count of a pair."""
DROPPED = 0.3
"""Count of a pair that is not stored, as a share of the greatest count left out; at most the count by chance."""
FEWEST = 5
"""Least count of a word in pairs."""
LONG = 1_000_000
"""Length of text, in such words, from which on pairs that occur once are left out."""
MOST = 0xFFFF
"""Greatest stored count of a pair."""
LEVELS = np.array(sorted({min(round(1.4**power), MOST) for power in range(34)}))
"""Counts of pairs in quantised files, which round down to these."""
HIRAGANA = "".join(map(chr, range(0x3041, 0x3097)))
ARRAYS = {
    "characters.points": Array(np.int32, ("characters",), below=0x110000),
    "characters.contexts": Array(np.int64, ("character_contexts",), steps=True, below="character_pairs"),
    "characters.counts": Array(np.int64, ("character_contexts+1",), total="character_pairs"),
    **strings("pairs.units", "units"),
    "pairs.degrees": Array(np.int64, ("units",)),
    "pairs.sizes": Array(np.int64, ("units",), total="pairs"),
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
        np.int32, ("character_pairs",), per_count="characters.counts", below="characters+1"
    ),
    "characters.logp.codes": Array(np.uint8, ("character_pairs",)),
    "characters.logp.books": Array(np.float32, (1, CODES), infinite="-"),
    "characters.bow.codes": Array(np.uint8, ("character_contexts",)),
    "characters.bow.books": Array(np.float32, (1, CODES), infinite="-"),
    "pairs.steps": Array(np.int32, ("pairs",), per_count="pairs.sizes", below="units"),
    "pairs.counts": Array(np.uint16, ("pairs",), below=MOST + 1),
}
"""What a quantised file holds."""


@dataclass(frozen=True)
class Cooccurrence:
    """Counts of words in one sentence, at most WINDOW apart; ignores words in hiragana.

    A word is known by its surface without the hiragana at its end: 渡る, 渡っ and 渡り are one unit. Units a and b are
    worth

        log (count of a, b + DOUBT) / (degree of a x degree of b / sum of degrees + DOUBT)

    where a degree is the number of pairs that a unit is in. Unit b is stored with a where a < b. Where rare pairs are
    left out, one that is not stored counts as often as chance has it, at most DROPPED times the counts left out.

    Examples
    --------
    >>> text = Corpus.of(["火山/かざん の 火口/かこう"] * 5 + ["食品/しょくひん の 加工/かこう"] * 5)
    >>> pairs = Cooccurrence.learn(text, [token.partition("/")[0] for token in text.vocabulary.words])
    >>> found = pairs.scores([["火山", "の", "火口"], ["火山", "の", "加工"]])
    >>> bool(found[0] > 0 > found[1])
    True
    """

    names: tuple[npt.NDArray[np.uint8], npt.NDArray[np.integer]] = field(repr=False)
    degrees: Offsets = field(repr=False)
    sizes: Offsets = field(repr=False)
    others: Ints = field(repr=False)
    counts: npt.NDArray[np.uint16] = field(repr=False)
    before: Ints = field(default_factory=lambda: np.zeros(0, np.int32), repr=False)

    @classmethod
    def learn(cls, corpus: Corpus, surfaces: Sequence[str], scale: float = 1.0) -> Cooccurrence:
        """Learn from a text of words and the surface of each word of its vocabulary.

        ``scale`` multiplies the least count of a pair in a long text.
        """
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
        kept = counts > (cls.least(scale) if found.size >= LONG else 0)
        return cls._of(units, degrees, keys[kept], counts[kept])

    @staticmethod
    def least(scale: float) -> int:
        """Greatest count of the pairs that a long text leaves out."""
        return round(0.4 * scale + 0.4)

    @classmethod
    def _of(cls, units: list[str], degrees: Offsets, keys: Offsets, counts: Offsets) -> Cooccurrence:
        """Make counts from sorted pair numbers: unit * n_units + other unit."""
        one, two = np.divmod(keys, max(len(units), 1))
        sizes = np.bincount(one, minlength=len(units))
        kept = two.astype(np.int32), np.minimum(counts, MOST).astype(np.uint16)
        return cls(pack_strings(units), degrees, sizes, *kept)

    def with_text(self, corpus: Corpus, surfaces: Sequence[str]) -> Cooccurrence:
        """Add the pairs of another text.

        Examples
        --------
        >>> text = Corpus.of(["火山/かざん の 火口/かこう"] * 5)
        >>> pairs = Cooccurrence.learn(text, surfaces_of(text))
        >>> pairs.with_text(text, surfaces_of(text)).counts.tolist(), pairs.counts.tolist()
        ([10], [5])
        """
        both = self, Cooccurrence.learn(corpus, surfaces)
        units = list(dict.fromkeys(unit for pairs in both for unit in pairs.units))
        number = {unit: k for k, unit in enumerate(units)}
        degrees, parts = np.zeros(len(units), np.int64), []
        for pairs in both:
            new = np.array([number[unit] for unit in pairs.units], np.int64)
            degrees[new] += pairs.degrees
            one, two = new[np.repeat(np.arange(new.size), pairs.sizes)], new[pairs.others]
            parts.append((_keys(one, two, len(units)), pairs.counts.astype(np.int64)))
        return Cooccurrence._of(units, degrees, *_added(parts))

    def after(self, before: str) -> Cooccurrence:
        """View after a text, of which the last units count."""
        text = np.frombuffer(before[-REMEMBERED:].encode("utf-8", "surrogatepass"), np.uint8)
        found = np.empty(text.size, np.int32)
        n = bindings.ime_engine_units_in(*self.packed, self._longest, text, found)
        other = copy(self)
        other.__dict__.update(
            before=found[:n][-WINDOW:], core=self.core, packed=self.packed, _longest=self._longest
        )
        return other

    def scores(self, lists: Sequence[Sequence[str]]) -> Floats:
        """Score of each list of surfaces: the sum over its pairs and those with the left context."""
        ids = self._id
        found = [
            [unit for surface in surfaces if (unit := ids.get(surface.rstrip(HIRAGANA), -1)) >= 0]
            for surfaces in lists
        ]
        ptr = np.cumsum([0, *(len(units) for units in found)])
        units = np.array([unit for units in found for unit in units], np.int32)
        out = np.empty(len(lists))
        bindings.ime_pair_scores(self.core, self.before, ptr, units, out)
        return out

    @cached_property
    def _id(self) -> dict[str, int]:
        return {unit: number for number, unit in enumerate(self.units)}

    @cached_property
    def units(self) -> list[str]:
        """Units by number, from their bytes and lengths, ``names``."""
        return unpack_strings(*self.names)

    @cached_property
    def _longest(self) -> int:
        ptr, raw, _ = self.packed
        begun = offsets((raw & 0xC0) != 0x80)  # characters before each byte
        return int(np.diff(begun[ptr]).max(initial=0))

    @cached_property
    def packed(self) -> tuple[Offsets, npt.NDArray[np.uint8], Ints]:
        """Offsets and bytes of the units, and a hash table of them."""
        raw, lengths = self.names
        ptr, size = offsets(lengths), 16
        while size < 2 * lengths.size:
            size *= 2
        slots = np.empty(size, np.int32)
        bindings.ime_engine_index_units(ptr, raw, slots)
        return ptr, raw, slots

    @cached_property
    def core(self) -> Any:
        """Pairs as a C structure."""
        ptr = offsets(self.sizes)
        degrees = self.degrees.astype(np.float64)
        return bindings.WordPairs(
            WINDOW,
            max(degrees.sum(), 1.0),
            DOUBT,
            DROPPED * max(int(self.counts.min(initial=MOST)) - 1, 0),
            ptr,
            self.others,
            self.counts,
            degrees,
        )

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: value for name, value in self.__dict__.items() if name not in ("core", "packed", "units")
        }


def _keys(one: Offsets, two: Offsets, n_units: int) -> Offsets:
    """Number of each unordered pair of units."""
    return np.minimum(one, two) * n_units + np.maximum(one, two)


def _added(parts: Sequence[tuple[Offsets, Offsets]]) -> tuple[Offsets, Offsets]:
    """Union of sorted lists, and the sums of their counts."""
    keys, where = np.unique(np.concatenate([part[0] for part in parts]), return_inverse=True)
    counts = np.bincount(where, np.concatenate([part[1] for part in parts]), minlength=keys.size)
    return keys, counts.astype(np.int64)


def _per_unit(keys: Offsets, counts: Offsets, n_units: int) -> Offsets:
    """Number of pairs of each unit."""
    ends = np.divmod(keys, max(n_units, 1))
    return np.asarray(sum(np.bincount(end, counts, minlength=n_units) for end in ends)).astype(np.int64)


def _units(surfaces: Sequence[str], counts: npt.NDArray[np.integer]) -> tuple[Offsets, list[str]]:
    """Unit of each word (-1: none), and the units: those that are frequent enough."""
    names = [surface.rstrip(HIRAGANA) if is_content(surface) else "" for surface in surfaces]
    total: dict[str, int] = {}
    for name, count in zip(names, counts.tolist(), strict=True):
        total[name] = total.get(name, 0) + count
    units = [name for name, count in total.items() if count >= FEWEST and name and name.isprintable()]
    numbers = {name: number for number, name in enumerate(units)}
    return np.array([numbers.get(name, -1) for name in names], np.int64), units


class Rescorer:
    """Scores texts by characters, and lists of words by characters and co-occurrence.

    Examples
    --------
    >>> rescorer = Rescorer.learn(Corpus.of(["橋/はし を", "橋/はし だ"]), ["", "橋", "を", "だ"])
    >>> scores = rescorer.scores(["橋を", "を橋"])
    >>> bool(scores[0] > scores[1])
    True
    """

    def __init__(self, model: BackoffModel | CodedCharacters, pairs: Cooccurrence) -> None:
        self.characters = model
        self.pairs = pairs
        self.before = np.zeros(0, np.int32)

    @cached_property
    def model(self) -> BackoffModel:
        """Model of characters in double precision."""
        return self.characters.expanded() if isinstance(self.characters, CodedCharacters) else self.characters

    @property
    def n_ngrams(self) -> int:
        """Number of n-grams of characters."""
        return int(self.characters.pair_word.size)

    @property
    def _letters(self) -> list[str]:
        """Characters of the model, by number."""
        model = self.characters
        return model.words if isinstance(model, CodedCharacters) else model.vocabulary_.words[1:]

    @classmethod
    def learn(cls, corpus: Corpus, surfaces: Sequence[str], scale: float = 1.0) -> Rescorer:
        """Learn from a text of words and the surface of each word of its vocabulary.

        ``scale`` multiplies the least counts of n-grams and pairs: the larger, the smaller the model.
        """
        characters = _characters_model(by_character(corpus, surfaces), scale)
        return cls(characters, Cooccurrence.learn(corpus, surfaces, scale))

    def adapted(self, text: Corpus, held_out: Corpus) -> Rescorer:
        """Interpolate with a character model of ``text``, by weights chosen on ``held_out``.

        Pairs of both texts are added up. Both are texts of surface/reading tokens.

        Examples
        --------
        >>> rescorer = Rescorer.learn(Corpus.of(["橋/はし を", "橋/はし だ"]), ["", "橋", "を", "だ"])
        >>> news = Corpus.of(["箸/はし だ"] * 3)
        >>> bool(rescorer.adapted(news, news).scores(["箸だ"])[0] > rescorer.scores(["箸だ"])[0])
        True
        """
        from epigram.lm.mixture import interpolate, table_of

        domain, held = (by_character(part, surfaces_of(part)) for part in (text, held_out))
        characters = table_of(interpolate([self.model, _characters_model(domain)], held))
        return Rescorer(characters, self.pairs.with_text(text, surfaces_of(text)))

    def after(self, before: str) -> Rescorer:
        """View after a text: the characters of the open sentence and the last words count."""
        begun = max(before.rfind(end) for end in ENDS) + 1
        other = copy(self)
        other.__dict__.update(
            before=self._ids(before[begun:][1 - ORDER :]), pairs=self.pairs.after(before), _units=self._units
        )
        return other

    def gains(self, ways: Sequence[Sequence[str]]) -> Floats:
        """Score of characters and pairs of each conversion, a list of surfaces."""
        raw = [surface.encode("utf-8", "surrogatepass") for surfaces in ways for surface in surfaces]
        ptr = np.cumsum([0, *map(len, ways)])
        return self.gains_of(
            ptr, np.cumsum([*map(len, raw)], dtype=np.int64), np.frombuffer(b"".join(raw), np.uint8)
        )

    def gains_of(self, ptr: Offsets, text_end: Offsets, text: npt.NDArray[np.uint8]) -> Floats:
        """Score of conversions as arrays (:class:`epigram.ime.decoder.Ways`)."""
        characters, pairs = self._both(ptr, text_end, text)
        return CHARACTERS * characters + PAIRS * pairs

    def scores(self, texts: Sequence[str]) -> Floats:
        """Natural log-probability of each text with its end."""
        raw = [text.encode("utf-8", "surrogatepass") for text in texts]
        ends = np.cumsum([*map(len, raw)], dtype=np.int64)
        return self._both(np.arange(len(raw) + 1), ends, np.frombuffer(b"".join(raw), np.uint8))[0]

    def _both(self, ptr: Offsets, text_end: Offsets, text: npt.NDArray[np.uint8]) -> tuple[Floats, Floats]:
        characters, pairs = np.empty(ptr.size - 1), np.empty(ptr.size - 1)
        used = int(ptr[-1])
        size = int(text_end[used - 1]) if used else 0
        coded = isinstance(self.characters, CodedCharacters)
        score = bindings.ime_engine_coded_gains if coded else bindings.ime_engine_gains
        cores = self.characters.core, self.pairs.core, self._units, self.before, self.pairs.before
        if not score(*cores, ptr, text_end[:used], text[:size], characters, pairs):
            raise MemoryError(f"no room to rescore {ptr.size - 1} conversions")
        return characters, pairs

    @cached_property
    def _units(self) -> Any:
        """Numbers of characters and units as a C structure."""
        pairs = self.pairs
        return bindings.TextUnits(self._start, STRAY, self._id_of_point, *pairs.packed)

    @property
    def _start(self) -> int:
        """Node of the beginning of a sentence."""
        model = self.characters
        return model.first if isinstance(model, CodedCharacters) else model.start()

    def _ids(self, text: str) -> Ints:
        points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.int32)
        table = self._id_of_point
        return np.where(points < table.size, table[np.minimum(points, table.size - 1)], UNSEEN).astype(
            np.int32
        )

    @cached_property
    def _id_of_point(self) -> Ints:
        points = np.array([ord(char) for char in self._letters])
        table = np.full(int(points.max(initial=0)) + 1, UNSEEN, np.int32)
        table[points] = np.arange(1, points.size + 1)
        return table

    def pack(self, quantise: bool = False) -> dict[str, npt.NDArray[Any]]:
        """Convert to arrays; log-probabilities in half precision, or (``quantise``) in eight bits."""
        model, pairs, counts = self.model, self.pairs, np.diff(self.model.pair_ptr)
        units, lengths = pairs.names
        out: dict[str, npt.NDArray[Any]] = {
            "characters.points": narrow(np.array([ord(char) for char in model.vocabulary_.words[1:]])),
            "characters.contexts": narrow(np.diff(model.node_pair[1:], prepend=0)),
            "characters.counts": narrow(counts),
            "pairs.units.bytes": units,
            "pairs.units.lengths": narrow(lengths),
            "pairs.degrees": narrow(pairs.degrees),
            "pairs.sizes": narrow(pairs.sizes),
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
            "pairs.counts": narrow(LEVELS[np.searchsorted(LEVELS, pairs.counts, "right") - 1]),
        }

    @classmethod
    def unpack(cls, tensors: Mapping[str, npt.NDArray[Any]]) -> Rescorer:
        """Read from the arrays of a file; files of earlier versions have no pairs."""
        small = "characters.steps" in tensors
        found = Schema({}, SMALL if small else FULL).read_arrays(tensors)
        names = found["pairs.units.bytes"], found["pairs.units.lengths"]
        string_offsets(*names)
        others = found.pop("pairs.steps" if small else "pairs.others")
        pairs = Cooccurrence(
            names, found["pairs.degrees"], found["pairs.sizes"], others, found.pop("pairs.counts")
        )
        letters = [chr(point) for point in found["characters.points"].tolist()]
        if small:
            return cls(CodedCharacters.of(found, letters, found.pop("characters.steps")), pairs)
        model = BackoffModel(
            Vocabulary(letters),
            np.concatenate(([-1], found["characters.contexts"])),
            offsets(found["characters.counts"]),
            found["characters.targets"],
            found["characters.logp"],
            np.concatenate(([0.0], found["characters.bow"])),
        )
        return cls(model, pairs)


def _steps(values: Ints, sizes: Offsets) -> npt.NDArray[np.uint8]:
    """Pack numbers that are sorted within groups as differences."""
    return narrow(differences(values, np.repeat(np.arange(sizes.size), sizes)))


def thresholds(n_characters: int, scale: float) -> list[int]:
    """Greatest counts of the n-grams of characters that are left out, by order."""
    return [0, 0, *(round(scale * n_characters / characters) for characters in CHARACTERS_PER_COUNT)]


def _characters_model(text: Corpus, scale: float = 1.0) -> BackoffModel:
    """Train a Kneser-Ney model of a text of characters."""
    from epigram.lm.ngram.kneser_ney import KneserNeyLM

    prune = thresholds(text.n_tokens, scale)
    return KneserNeyLM(order=ORDER, prune=prune, open_vocabulary=False).fit(text).backoff_


def surfaces_of(corpus: Corpus) -> list[str]:
    """Surface of each token of the vocabulary of a text; that of the boundary is empty."""
    return ["", *(split_token(token)[0] for token in corpus.vocabulary.words[1:])]


def by_character(corpus: Corpus, surfaces: Sequence[str]) -> Corpus:
    """Convert sentences to sentences of characters."""
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
