"""Words indexed by reading, sorted such that homophones are a range of ids.

A token is ``surface/reading``; one without a slash is its own reading. Word 0 is the sentence boundary; the words
of reading r are ``reading_word[r] .. reading_word[r + 1]``. Readings with the same prefix are adjacent, so a search in
the sorted readings, one character after the other, finds all words that start at a position of the input. Ids rise with
the reading, so one search intersects the words stored after a context with the words of one reading
(``push_from_node`` of ``_core/ime_search.c``).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from epigram._core import bindings
from epigram._core.arrays import offsets, ranges
from epigram.errors import InputError
from epigram.files import check_text
from epigram.ime.kana import (
    LONGEST_READING,
    join_token,
    split_token,
)
from epigram.lm.vocabulary import Vocabulary
from epigram.protocols import Ints, Offsets


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
            raise InputError(
                "corrupt lexicon: its arrays do not fit together. Build or download the model again."
            )
        halves = reading_chars.max(initial=0) >= 0xD800 and ((reading_chars >> 11) == 0xD800 >> 11).any()
        if halves or not bindings.ime_are_texts(self.surface_ptr, surface_raw):
            raise InputError(
                "corrupt lexicon: surfaces or readings are not Unicode text. Build or download the model again."
            )

    @classmethod
    def of(cls, tokens: Iterable[str]) -> Lexicon:
        """Make a lexicon of distinct tokens in any order."""
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
        """Surface of a word."""
        return str(self._text[self.surface_ptr[word] : self.surface_ptr[word + 1]], "utf-8")

    def reading(self, word: int) -> str:
        """Reading of a word."""
        r = int(np.searchsorted(self.reading_word, np.int32(word), side="right")) - 1  # int32: no copy
        if r < 0:
            return ""
        span = self.reading_chars[self.reading_ptr[r] : self.reading_ptr[r + 1]]
        return str(span.tobytes().decode("utf-32-le"))

    def token(self, word: int) -> str:
        """``surface/reading`` of a word."""
        return join_token(self.surface(word), self.reading(word))

    def tokens(self) -> Iterator[str]:
        """All tokens by id, without the boundary."""
        text = self.reading_chars.tobytes().decode("utf-32-le")
        ptr, words = self.reading_ptr.tolist(), self.reading_word.tolist()
        for r in range(len(ptr) - 1):
            reading = text[ptr[r] : ptr[r + 1]]
            for word in range(words[r], words[r + 1]):
                yield join_token(self.surface(word), reading)

    def surfaces(self) -> list[str]:
        """Surfaces of all words by id; that of the boundary is empty."""
        ptr = self.surface_ptr.tolist()
        return [str(self._text[first:last], "utf-8") for first, last in itertools.pairwise(ptr)]

    def readings(self) -> list[str]:
        """Readings of all words by id; that of the boundary is empty."""
        text, ptr = self.reading_chars.tobytes().decode("utf-32-le"), self.reading_ptr.tolist()
        sizes = np.diff(self.reading_word).tolist()
        return ["", *(text[ptr[r] : ptr[r + 1]] for r, size in enumerate(sizes) for _ in range(size))]

    def vocabulary(self) -> Vocabulary:
        """Vocabulary of a language model with the same ids."""
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
        """Ids of many words by surface and range of their reading, -1 if unknown.

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
        """Ids of the words of each of many readings.

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
        """Length of the reading of each word."""
        lengths = np.diff(self.reading_ptr).astype(np.int32)
        per_word = np.repeat(lengths, np.diff(self.reading_word))
        return np.concatenate((np.zeros(1, np.int32), per_word))

    @cached_property
    def core(self) -> Any:
        """Readings as a C structure."""
        readings = self.reading_ptr, self.reading_chars
        starts = np.empty((87, 88), np.int32)  # of hiragana and of pairs of them; _core/ime.h
        bindings.ime_index_readings(*readings, starts)
        return bindings.Readings(*readings, self.reading_word, starts)

    @cached_property
    def _text(self) -> memoryview:
        """Bytes of all surfaces, as a memoryview, which slices faster than an array."""
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
        """Words that start at each position: offsets by position, ends and ranges of ids."""
        ptr = np.empty(chars.size + 1, np.int64)
        ends, lows, highs = (np.empty(chars.size * LONGEST_READING, np.int32) for _ in range(3))
        bindings.ime_find_edges(self.core, chars, LONGEST_READING, ptr, ends, lows, highs)
        return ptr, ends, lows, highs


def hash_surfaces(
    raw: npt.NDArray[np.uint8], ptr: Offsets
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Polynomial hashes of byte strings, and powers of their lengths."""
    n = ptr.size - 1
    hashes, powers = np.empty(n, np.uint64), np.empty(n, np.uint64)
    bindings.ime_surface_hashes(ptr, raw, hashes, powers)
    return hashes, powers


def checked_token(surface: str, reading: str, path: str | PathLike[str] | None, line: int | None) -> str:
    """Check surface and reading of a word, and make its token."""
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
    """Concatenate byte strings; returns bytes and offsets."""
    lengths = np.array([len(piece) for piece in raw], np.uint32)
    return np.frombuffer(b"".join(raw), np.uint8), offsets(lengths)
