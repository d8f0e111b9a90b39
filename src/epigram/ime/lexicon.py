"""Words by their readings: those of the lexicon, sorted such that homophones are a range of ids, and unknown ones.

A token is ``surface/reading``; one without a slash is its own reading. Word 0 is the sentence boundary; the words
of reading r are ``reading_word[r] .. reading_word[r + 1]``. Readings that begin alike are neighbours, so a search in
the sorted readings, one character after the other, finds all words that start at a position of the input. Because ids
rise with the reading, what a language model has stored after a context meets the words of one reading in one search
(``push_from_node`` of ``_core/ime_search.c``).

Words outside the lexicon are kana as typed, kana as katakana, digits, Latin letters, or anything else as typed:
p(word) = p(class) p(characters | class). The mass of a class is NEWS times the Good-Turing estimate: tokens of the
class that the text has once, by all tokens; NEWS is 2 because other texts hold more news. Kana are spelled by a
character bigram (Witten-Bell, over the distinct words of the class), others by a uniform choice of characters and
of going on. After such a word the context is empty.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram._core.native import family, offsets, ranges
from epigram.errors import InputError
from epigram.ime.text import (
    KANA_ROWS,
    LONGEST_READING,
    is_hiragana,
    is_katakana,
    join_token,
    split_token,
    to_hiragana,
)
from epigram.lm.corpus import Vocabulary
from epigram.protocols import Floats, Ints, Offsets
from epigram.text import check_text

core = family("ime")
CLASSES = ("katakana", "kana", "digits", "latin", "typed katakana", "other")
LONGEST_UNKNOWN = 20
NEWS = 2.0
_ALPHABET = {"digits": 10, "latin": 52, "typed katakana": 90, "other": 10_000}


class Lexicon:
    """Words with readings.

    Examples
    --------
    >>> lexicon = Lexicon.of(["橋/はし", "箸/はし", "は"])
    >>> len(lexicon), [lexicon.token(k) for k in lexicon.words_of("はし")]
    (4, ['橋/はし', '箸/はし'])
    """

    def __init__(
        self,
        surface_raw: npt.NDArray[np.uint8],
        surface_lengths: npt.NDArray[np.uint32],
        reading_chars: Ints,
        reading_lengths: npt.NDArray[np.uint32],
        reading_sizes: npt.NDArray[np.uint32],
    ) -> None:
        self.surface_raw = surface_raw
        self.surface_ptr = offsets(surface_lengths)
        self.reading_chars = reading_chars
        self.reading_ptr = offsets(reading_lengths)
        self.reading_word = (1 + offsets(reading_sizes)).astype(np.int32)
        fits = (
            surface_raw.size == self.surface_ptr[-1]
            and reading_chars.size == self.reading_ptr[-1]
            and self.reading_word[-1] == surface_lengths.size
        )
        if not fits:
            raise InputError("the arrays of a lexicon do not fit together; is the file damaged?")
        halves = reading_chars.max(initial=0) >= 0xD800 and ((reading_chars >> 11) == 0xD800 >> 11).any()
        if halves or not core.are_texts(len(self), self.surface_ptr, surface_raw.size, surface_raw):
            raise InputError("a lexicon holds bytes that are no text; is the file damaged?")

    @classmethod
    def of(cls, tokens: Iterable[str]) -> Lexicon:
        """From tokens, each once; order does not matter."""
        pairs = sorted({split_token(token) for token in tokens}, key=lambda pair: (pair[1], pair[0]))
        check_text(text for pair in pairs for text in pair)
        for surface, reading in pairs:
            if len(reading) > LONGEST_READING:
                raise InputError(
                    f"the word {surface[:20]!r} has a reading of {len(reading)} characters, at most {LONGEST_READING} "
                    "are allowed; expected tokens surface/reading between blanks (raw text needs --raw)"
                )
        surfaces = [b"", *(surface.encode() for surface, _ in pairs)]
        readings = [reading for _, reading in pairs]
        firsts = [k for k in range(len(pairs)) if k == 0 or readings[k] != readings[k - 1]]
        distinct = [readings[k] for k in firsts]
        return cls(
            np.frombuffer(b"".join(surfaces), np.uint8),
            np.array([len(surface) for surface in surfaces], np.uint32),
            np.frombuffer("".join(distinct).encode("utf-32-le"), np.int32),
            np.array([len(reading) for reading in distinct], np.uint32),
            np.diff(np.array([*firsts, len(pairs)])).astype(np.uint32),
        )

    def __len__(self) -> int:
        return int(self.surface_ptr.size) - 1

    def surface(self, word: int) -> str:
        """The written form of a word."""
        return str(self._text[self.surface_ptr[word] : self.surface_ptr[word + 1]], "utf-8")

    def reading(self, word: int) -> str:
        """How a word is typed."""
        r = int(np.searchsorted(self.reading_word, np.int32(word), side="right")) - 1  # int32: no copy
        if r < 0:
            return ""
        span = self.reading_chars[self.reading_ptr[r] : self.reading_ptr[r + 1]]
        return str(span.tobytes().decode("utf-32-le"))

    def token(self, word: int) -> str:
        """``surface/reading`` of a word."""
        return join_token(self.surface(word), self.reading(word))

    def tokens(self) -> Iterator[str]:
        """All tokens in the order of their ids, the boundary left out."""
        text = self.reading_chars.tobytes().decode("utf-32-le")
        ptr, words = self.reading_ptr.tolist(), self.reading_word.tolist()
        for r in range(len(ptr) - 1):
            reading = text[ptr[r] : ptr[r + 1]]
            for word in range(words[r], words[r + 1]):
                yield join_token(self.surface(word), reading)

    def surfaces(self) -> list[str]:
        """The written forms of all words in the order of their ids, the boundary's (empty) first."""
        ptr = self.surface_ptr.tolist()
        return [str(self._text[first:last], "utf-8") for first, last in itertools.pairwise(ptr)]

    def readings(self) -> list[str]:
        """The readings of all words in the order of their ids, the boundary's (empty) first."""
        text, ptr = self.reading_chars.tobytes().decode("utf-32-le"), self.reading_ptr.tolist()
        sizes = np.diff(self.reading_word).tolist()
        return ["", *(text[ptr[r] : ptr[r + 1]] for r, size in enumerate(sizes) for _ in range(size))]

    def vocabulary(self) -> Vocabulary:
        """The same words for a language model, with the same ids."""
        return Vocabulary(self.tokens())

    def words_of(self, reading: str) -> range:
        """Ids of the words of one reading."""
        chars = np.frombuffer(reading.encode("utf-32-le"), np.int32)
        if chars.size > LONGEST_READING:
            return range(0)
        ptr, ends, lows, highs = self.edges(chars)
        for e in range(int(ptr[1]) if chars.size else 0):
            if ends[e] == chars.size:
                return range(int(lows[e]), int(highs[e]))
        return range(0)

    def find(self, surface: str, reading: str) -> int:
        """Id of a word, or -1."""
        return next((word for word in self.words_of(reading) if self.surface(word) == surface), -1)

    def find_all(self, surfaces: Sequence[str], homophones: Sequence[range]) -> Ints:
        """Ids of words by their surface and the range of their reading, -1 for those it lacks: quick for many.

        Examples
        --------
        >>> lexicon = Lexicon.of(["橋/はし", "箸/はし"])
        >>> lexicon.find_all(["箸", "端"], lexicon.ranges_of(["はし", "はし"])).tolist()
        [2, -1]
        """
        raw = [surface.encode("utf-8", "surrogatepass") for surface in surfaces]
        wanted, _ = hash_surfaces(*_glued(raw))
        sizes = np.array([len(words) for words in homophones], np.int64)
        starts = np.array([words.start for words in homophones], np.int64)
        which = np.repeat(np.arange(sizes.size), sizes)
        ids = ranges(starts, starts + sizes)
        same = np.flatnonzero(self.hashes[0][ids] == wanted[which])
        out = np.full(len(surfaces), -1, np.int32)
        for k, id in zip(which[same].tolist(), ids[same].tolist(), strict=True):
            if self.surface(id) == surfaces[k]:
                out[k] = id
        return out

    @cached_property
    def _by_reading(self) -> tuple[Offsets, npt.NDArray[np.uint64]]:
        """Readings by their hash, and those hashes."""
        own, _ = hash_surfaces(self.reading_chars.view(np.uint8), 4 * self.reading_ptr)
        order = np.argsort(own, kind="stable")
        return order, own[order]

    def ranges_of(self, readings: Sequence[str]) -> list[range]:
        """Ids of the words of each reading: quick for many.

        Examples
        --------
        >>> Lexicon.of(["橋/はし", "箸/はし", "木/き"]).ranges_of(["はし", "は"])
        [range(2, 4), range(0, 0)]
        """
        raw = [reading.encode("utf-32-le", "surrogatepass") for reading in readings]
        wanted, _ = hash_surfaces(*_glued(raw))
        order, own = self._by_reading
        places = np.minimum(np.searchsorted(own, wanted), own.size - 1)
        found = order[places]
        firsts, lasts = self.reading_word[found].tolist(), self.reading_word[found + 1].tolist()
        begins, ends = (4 * self.reading_ptr[found]).tolist(), (4 * self.reading_ptr[found + 1]).tolist()
        chars = self.reading_chars.tobytes()
        return [
            range(first, last) if chars[begin:end] == mine else range(0)
            for first, last, begin, end, mine in zip(firsts, lasts, begins, ends, raw, strict=True)
        ]

    @cached_property
    def word_length(self) -> Ints:
        """Characters of each word's reading."""
        lengths = np.diff(self.reading_ptr).astype(np.int32)
        per_word = np.repeat(lengths, np.diff(self.reading_word))
        return np.concatenate((np.zeros(1, np.int32), per_word))

    @cached_property
    def core(self) -> Any:
        """The readings as C takes them."""
        readings = self.reading_ptr.size - 1, self.reading_chars.size, self.reading_ptr, self.reading_chars
        starts = np.empty((87, 88), np.int32)  # of hiragana and of pairs of them; _core/ime.h
        core.index_readings(*readings, starts)
        return core.Readings(*readings, self.reading_word, starts)

    @cached_property
    def _text(self) -> memoryview:
        """All surfaces, as bytes; a slice of it is made sooner than one of the array."""
        return self.surface_raw.data

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("core", "_text")}

    @cached_property
    def hashes(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
        """Hash of each surface, and the hash base to the power of its length."""
        return hash_surfaces(self.surface_raw, self.surface_ptr)

    @cached_property
    def by_surface(self) -> tuple[Offsets, npt.NDArray[np.uint64]]:
        """Words by the hash of their surfaces, and those hashes."""
        order = np.argsort(self.hashes[0], kind="stable")
        return order, self.hashes[0][order]

    def edges(self, chars: Ints) -> tuple[Offsets, Ints, Ints, Ints]:
        """Words that start at each position: offsets by position, then where they end and their range of ids."""
        ptr = np.empty(chars.size + 1, np.int64)
        ends, lows, highs = (np.empty(chars.size * LONGEST_READING, np.int32) for _ in range(3))
        core.find_edges(self.core, chars.size, chars, LONGEST_READING, ptr, ends, lows, highs)
        return ptr, ends, lows, highs


def hash_surfaces(
    raw: npt.NDArray[np.uint8], ptr: Offsets
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Polynomial hashes of byte strings, and powers of their lengths."""
    n = ptr.size - 1
    hashes, powers = np.empty(n, np.uint64), np.empty(n, np.uint64)
    core.surface_hashes(n, ptr, raw.size, raw, hashes, powers)
    return hashes, powers


def checked_token(surface: str, reading: str, path: str | PathLike[str] | None, line: int | None) -> str:
    """The token of a word whose surface and reading can stand in a text of tokens."""
    for what, text in (("surface", surface), ("reading", reading)):
        if not text:
            raise InputError(f"the {what} is empty; expected surface<TAB>reading", path=path, line=line)
        if text.split() != [text] or "\0" in text:
            raise InputError(f"the {what} {text[:40]!r} has a blank in it", path=path, line=line)
    if len(reading) > LONGEST_READING:
        raise InputError(
            f"the reading of {surface[:20]!r} has {len(reading)} characters; at most {LONGEST_READING} are allowed",
            path=path, line=line,
        )  # fmt: skip
    return join_token(surface, reading)


def _glued(raw: Sequence[bytes]) -> tuple[npt.NDArray[np.uint8], Offsets]:
    """Byte strings end to end, and where each begins."""
    lengths = np.array([len(piece) for piece in raw], np.uint32)
    return np.frombuffer(b"".join(raw), np.uint8), offsets(lengths)


@dataclass(frozen=True)
class UnknownWords:
    """The probability of a word that the lexicon lacks: of its class, then of its characters; natural logs."""

    class_logp: Floats
    hiragana: Floats = field(repr=False)
    katakana: Floats = field(repr=False)

    @classmethod
    def estimate(cls, counts: Mapping[str, int], words: Iterable[str] = ()) -> UnknownWords:
        """From counts of surfaces in a text; ``words`` are more surfaces to learn spelling from.

        Examples
        --------
        >>> model = UnknownWords.estimate({"は": 8, "ペン": 1, "すし": 1})
        >>> np.exp(model.class_logp[:2]).round(2).tolist()
        [0.2, 0.2]
        """
        total = max(sum(counts.values()), 1)
        once = dict.fromkeys(CLASSES, 0)
        for surface, count in counts.items():
            if count == 1:
                once[class_of(surface)] += 1
        masses = NEWS * np.maximum([once[name] for name in CLASSES], 0.5) / total
        surfaces = {*counts, *words}
        return cls(
            np.log(masses),
            spelling(surface for surface in surfaces if is_hiragana(surface)),
            spelling(to_hiragana(surface) for surface in surfaces if is_katakana(surface)),
        )

    @property
    def char_logp(self) -> Floats:
        """Log-probability of one more character, per kind (kana, which have a model of their own, is 0)."""
        out: Floats = np.log(np.array([1.0, *(0.5 / _ALPHABET[name] for name in CLASSES[2:])]))
        return out

    @property
    def mass(self) -> float:
        """All classes together."""
        return float(np.exp(self.class_logp).sum())

    def log_probability(self, surface: str, reading: str) -> float:
        """As if the word were outside the lexicon; a surface of kanji counts as spelled by its reading in kana.

        Examples
        --------
        >>> model = UnknownWords.estimate({"は": 8, "ペン": 1, "すし": 1})
        >>> model.log_probability("ペン", "ぺん") > model.log_probability("ペソ", "ぺそ")
        True
        """
        name = class_of(surface)
        rows = kana_rows(reading)
        if name == "katakana" or (name == "typed katakana" and is_hiragana(reading)):
            return float(self.class_logp[0]) + _spelled(self.katakana, rows)
        if is_hiragana(reading):
            return float(self.class_logp[1]) + _spelled(self.hiragana, rows)
        k = CLASSES.index(name)
        return float(self.class_logp[k] + len(reading) * self.char_logp[max(k - 1, 0)])


def class_of(surface: str) -> str:
    """The class of a word by its characters."""
    if is_katakana(surface):
        return "katakana"
    if is_hiragana(surface):
        return "kana"
    if surface.isascii() and surface.isdigit():
        return "digits"
    return "latin" if surface.isascii() and surface.isalpha() else "other"


def classify(chars: Ints) -> tuple[Ints, Ints]:
    """Kinds of characters (0 kana, 1 digits, 2 Latin letters, 3 katakana as typed, 4 other), and their rows.

    Rows are those of the character models: hiragana, the long mark, any other sign.

    Examples
    --------
    >>> kind, row = classify(np.array([ord(c) for c in "ぁー1aァ。"], np.int32))
    >>> kind.tolist(), row.tolist()
    ([0, 0, 1, 2, 3, 4], [0, 86, 87, 87, 87, 87])
    """
    kind, row = np.empty(chars.size, np.int32), np.empty(chars.size, np.int32)
    family("ime").classify(chars.size, chars, kind, row)
    return kind, row


def kana_rows(word: str) -> Ints:
    """Rows of a word's characters in the character models."""
    return classify(np.array([ord(c) for c in word], np.int32))[1]


def spelling(words: Iterable[str]) -> Floats:
    """log p(next | this) over kana and the edge of the word, Witten-Bell down to uniform."""
    edge = KANA_ROWS
    counts = np.zeros((edge + 1, edge + 1))
    for word in sorted(words):
        rows = kana_rows(word)
        np.add.at(counts, (np.append(edge, rows), np.append(rows, edge)), 1)
    uniform = np.full(edge + 1, 1.0 / (edge + 1))
    single = _witten_bell(counts.sum(axis=0), uniform)
    out: Floats = np.log(np.array([_witten_bell(row, single) for row in counts]))
    return out


def _witten_bell(counts: Floats, lower: Floats) -> Floats:
    n_kinds = max(int(np.count_nonzero(counts)), 1)
    out: Floats = (counts + n_kinds * lower) / (counts.sum() + n_kinds)
    return out


def _spelled(model: Floats, rows: Ints) -> float:
    edge = model.shape[0] - 1
    return float(model[np.append(edge, rows), np.append(rows, edge)].sum())
