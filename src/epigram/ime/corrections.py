"""Journal of user corrections and user words, applied to a decoder.

A lesson holds the phrases, bonuses and new words that :mod:`epigram.ime.user.learning` found for one correction.
Lessons can be undone; model files store the journal.
"""

from __future__ import annotations

import json
import os
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from epigram.errors import DataWarning, InputError, reason
from epigram.files import decode, open_file, parse_json
from epigram.ime.decoder import Conversion, Decoder, Word
from epigram.ime.kana import is_content, split_token
from epigram.ime.lexicon.dictionary_formats import Entry
from epigram.ime.scorer import Singles
from epigram.ime.user.words import Phrase, UserWord
from epigram.protocols import Ints
from epigram.storage import write_atomically

if TYPE_CHECKING:
    from epigram.ime.rescoring import Rescorer

FIRST_LOGP = -12.0
AHEAD = 2.0
LARGEST_BONUS = 4.0
"""Greatest bonus of a word by corrections; journals of earlier versions hold larger ones."""
NONE = (np.zeros(0, np.int32), np.zeros(0, np.float32))


@dataclass
class Lesson:
    """Correction: reading, chosen text, bonuses by token, new user words, left context, phrases."""

    reading: str
    chosen: str
    bonuses: dict[str, float] = field(default_factory=dict)
    words: list[tuple[str, str, float]] = field(default_factory=list)
    before: str = ""
    phrases: list[Phrase] = field(default_factory=list)

    def line(self) -> str:
        """Line of a journal."""
        return json.dumps(asdict(self), ensure_ascii=False) + "\n"


class Journal:
    """Corrections in order, applied to a decoder."""

    def __init__(
        self,
        decoder: Decoder,
        lessons: Sequence[Lesson] = (),
        words: Iterable[Entry] = (),
        rescorer: Rescorer | None = None,
    ) -> None:
        self.decoder = decoder
        self.rescorer = rescorer
        self.lessons: list[Lesson] = list(lessons)
        self.words: dict[Entry, None] = {}
        self._preferred: tuple[Ints, Singles] = NONE
        self._fresh: list[UserWord] = []
        self._ids: dict[str, int] = {}
        self._with_bonus = np.flatnonzero(decoder.bonus).tolist()
        self._stored: Counter[str] = Counter()  # lines that the file has of ours
        self.set_words(words)

    def set_words(self, words: Iterable[Entry]) -> None:
        """Replace the user words.

        A word that the lexicon lacks becomes a word of the user; one that it has gets a bonus, so that it is as
        probable as a frequent word.
        """
        self.words = dict.fromkeys(words)
        if not self.words:
            self._preferred, self._fresh = NONE, []
            self.refresh()
            return
        entries = list(self.words)
        homophones = self.decoder.lexicon.ranges_of([entry.reading for entry in entries])
        ids = self.decoder.lexicon.find_all([entry.surface for entry in entries], homophones)
        wanted = preferred_logp(self.decoder, entries, homophones, self.rescorer)
        known = ids >= 0
        bonus = np.maximum(wanted[known] - self.decoder.scorer.tables.pair_logp[ids[known]], 0)
        self._preferred = ids[known], bonus
        self._fresh = [
            UserWord(*entry, float(logp))
            for entry, logp, old in zip(entries, wanted, known.tolist(), strict=True)
            if not old
        ]
        self.refresh()

    def append(self, lesson: Lesson) -> None:
        """Apply a lesson."""
        self.lessons.append(lesson)
        self.refresh()

    def pop(self) -> Lesson:
        """Undo the last lesson."""
        if not self.lessons:
            raise InputError("nothing learnt yet that could be undone")
        lesson = self.lessons.pop()
        self.refresh()
        return lesson

    def refresh(self) -> None:
        """Recompute the bonuses of the decoder from all lessons, so that undoing is exact."""
        decoder = self.decoder
        total: dict[str, float] = {}
        words: dict[tuple[str, str], UserWord] = {}
        phrases: dict[tuple[object, ...], Phrase] = {}
        for lesson in self.lessons:
            for word in lesson.words:
                words.setdefault(word[:2], UserWord(*word))
            for token, bonus in lesson.bonuses.items():
                total[token] = total.get(token, 0.0) + bonus
            for phrase in lesson.phrases:  # a later choice in the same context replaces an earlier one
                phrases[phrase.reading, *phrase[2:]] = phrase
        decoder.bonus[self._with_bonus] = 0
        decoder.bonus[self._preferred[0]] = self._preferred[1]
        self._with_bonus = self._preferred[0].tolist()
        for token, bonus in total.items():
            id = self._id_of(token)
            if bonus > 0 and id >= 0:
                decoder.bonus[id] += np.float32(min(bonus, LARGEST_BONUS))
                self._with_bonus.append(id)
        fresh = [own for own in self._fresh if (own.reading, own.surface) not in words]
        decoder.user_words.set([*fresh, *words.values()], phrases.values())

    def _id_of(self, token: str) -> int:
        """Id of a content word of the lexicon; -1 for other tokens."""
        if token not in self._ids:
            surface, reading = split_token(token)
            is_known = is_specific(surface, reading)
            self._ids[token] = self.decoder.lexicon.find(surface, reading) if is_known else -1
        return self._ids[token]

    def save(self, path: str | PathLike[str]) -> None:
        """Append new lessons to a file of JSON lines and remove undone ones; keeps those of others.

        Lines that are only added are appended, all or none; two processes that write take turns. A truncated last line
        is removed.
        """
        mine = self._lines()
        added, undone = Counter(mine) - self._stored, self._stored - Counter(mine)
        try:
            with locked_folder(Path(path)):
                old = Path(path).read_bytes() if Path(path).is_file() else None
                there = [] if old is None else [f"{line}\n" for line in _whole_lines(old, path)[0]]
                size = sum(len(line.encode()) for line in there)
                if old is None or undone or old[:size] != "".join(there).encode():
                    for line in undone.elements():
                        if line in there:
                            del there[len(there) - 1 - there[::-1].index(line)]
                    write_atomically(path, "".join([*there, *added.elements()]).encode())
                else:
                    _append(Path(path), size, "".join(added.elements()).encode())
        except OSError as error:
            raise InputError(f"cannot write: {reason(error)}", path=path) from error
        self._stored = Counter(mine)

    def _lines(self) -> list[str]:
        lines = [json.dumps({"word": entry}, ensure_ascii=False) + "\n" for entry in self.words]
        return lines + [lesson.line() for lesson in self.lessons]

    @classmethod
    def load(
        cls,
        decoder: Decoder,
        path: str | PathLike[str],
        known: Sequence[Lesson] = (),
        rescorer: Rescorer | None = None,
    ) -> Journal:
        """Read and apply a journal; a file that does not exist starts with ``known``."""
        if not Path(path).exists():
            return cls(decoder, known, rescorer=rescorer)
        try:
            with open_file(path) as file:
                lines, is_truncated = _whole_lines(file.read(), path)
        except OSError as error:
            raise InputError(f"cannot read: {reason(error)}", path=path) from error
        if is_truncated:
            said = f"{path}: the last line is truncated and left out; the next correction removes it"
            warnings.warn(said, DataWarning, stacklevel=2)
        read = [_read_line(line, path, number) for number, line in enumerate(lines, 1) if line.strip()]
        lessons = [one for one in read if isinstance(one, Lesson)]
        journal = cls(decoder, lessons, [one for one in read if isinstance(one, Entry)], rescorer)
        journal._stored = Counter(journal._lines())
        return journal


def _whole_lines(content: bytes, path: str | PathLike[str]) -> tuple[list[str], bool]:
    """Lines of a journal, and whether a truncated line follows them."""
    whole, _, last = content.rpartition(b"\n")
    lines = decode(whole, path).split("\n") if whole else []
    try:
        if last:
            text = decode(last, path)
            _read_line(text, path, len(lines) + 1)
            return [*lines, text], False
    except InputError:
        return lines, True
    return lines, False


def _append(path: Path, size: int, content: bytes) -> None:
    """Write after the first ``size`` bytes; a failed write is truncated to these."""
    with path.open("r+b", buffering=0) as file:
        file.truncate(size)
        file.seek(size)
        try:
            rest = memoryview(content)
            while rest:
                rest = rest[file.write(rest) :]
            os.fsync(file.fileno())
        except BaseException:
            file.truncate(size)
            raise


@contextmanager
def locked_folder(path: Path) -> Iterator[None]:
    """Hold an exclusive lock of the folder of a file; creates no file."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    folder = os.open(path.resolve().parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def preferred_logp(
    decoder: Decoder, entries: Sequence[Entry], homophones: Sequence[range], rescorer: Rescorer | None
) -> Singles:
    """Log-probabilities of user words: those of frequent words, above their homophones."""
    out = np.array([-5.0 if len(entry.reading) > 2 else -7.0 for entry in entries], np.float32)
    logp, rivals = decoder.scorer.tables.pair_logp, [entry.reading for entry in entries]
    for k, others in enumerate(homophones):
        if others:
            best = others.start + int(logp[others.start : others.stop].argmax())
            out[k], rivals[k] = max(out[k], logp[best] + AHEAD), decoder.lexicon.surface(best)
    if rescorer is not None:
        gains = [
            rescorer.gains([[text] for text in texts])
            for texts in (rivals, [entry.surface for entry in entries])
        ]
        out += np.maximum(gains[0] - gains[1], 0.0).astype(np.float32)
    return out


def _read_line(line: str, path: str | PathLike[str], number: int) -> Entry | Lesson:
    if not line.startswith('{"word"'):
        return read_lesson(line, path, number)
    try:
        reading, surface = parse_json(line)["word"]
        return Entry(str(reading), str(surface))
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"not a word of a dictionary ({error})", path=path, line=number) from None


def read_lesson(line: str, path: str | PathLike[str] | None = None, number: int | None = None) -> Lesson:
    """Parse a line of a journal."""
    try:
        record: dict[str, Any] = parse_json(line)
        words = [(str(reading), str(surface), float(logp)) for reading, surface, logp in record["words"]]
        bonuses = {str(token): float(bonus) for token, bonus in record["bonuses"].items()}
        phrases = [_phrase(*phrase) for phrase in record.get("phrases", ())]
        numbers = [*bonuses.values(), *(logp for *_, logp in words), *(phrase.logp for phrase in phrases)]
        if not np.isfinite(numbers).all():
            raise ValueError("a number that is not finite")
        if not all(reading for reading, *_ in words) or not all(phrase.reading for phrase in phrases):
            raise ValueError("a word without a reading")
        before = str(record.get("before", ""))
        return Lesson(str(record["reading"]), str(record["chosen"]), bonuses, words, before, phrases)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"not a line of a journal of corrections ({error})", path=path, line=number
        ) from None


def _phrase(words: Any, logp: Any, at_start: Any, at_end: Any, left: Any) -> Phrase:
    pairs = tuple((str(surface), str(reading)) for surface, reading in words)
    return Phrase(pairs, float(logp), bool(at_start), bool(at_end), None if left is None else str(left))


def spell_as(decoder: Decoder, reading: str, text: str) -> tuple[Word, ...] | None:
    """Find words (lexicon, unknown, user) that write ``reading`` as ``text``, or None.

    Of several ways the most probable by words alone.
    """
    from functools import cache

    edges = decoder.edges(reading)

    @cache
    def best_from(start: int, done: int) -> tuple[float, tuple[Word, ...]] | None:
        if start == len(reading):
            return (0.0, ()) if done == len(text) else None
        best: tuple[float, tuple[Word, ...]] | None = None
        for word, logp in ways(start, done):
            rest = best_from(word.end, done + len(word.surface))
            if rest is not None and (best is None or logp + rest[0] > best[0]):
                best = logp + rest[0], (word, *rest[1])
        return best

    def ways(start: int, done: int) -> list[tuple[Word, float]]:
        found = []
        for e in range(int(edges.ptr[start]), int(edges.ptr[start + 1])):
            for word in range(int(edges.low[e]), int(edges.high[e])):
                surface = decoder.lexicon.surface(word)
                if text.startswith(surface, done):
                    logp = float(decoder.scorer.tables.pair_logp[word])
                    found.append((Word(start, int(edges.end[e]), surface, word), logp))
        for e in range(int(edges.special_ptr[start]), int(edges.special_ptr[start + 1])):
            surface = decoder.special_text(reading, start, e, edges)
            if text.startswith(surface, done):
                word_ = Word(start, int(edges.special_end[e]), surface, -1)
                found.append((word_, float(edges.special_logp[e])))
        return found

    way = best_from(0, 0)
    return None if way is None else way[1]


def new_word(wrong: Conversion, text: str) -> tuple[str, str]:
    """Reading and surface of the part of ``text`` that differs from ``wrong``."""
    first, done = 0, 0
    words = wrong.words
    while first < len(words) and text.startswith(words[first].surface, done):
        done += len(words[first].surface)
        first += 1
    last, end = len(words), len(text)
    while last > first and end - len(words[last - 1].surface) >= done:
        surface = words[last - 1].surface
        if text[end - len(surface) : end] != surface:
            break
        end -= len(surface)
        last -= 1
    start = words[first].start if first < len(words) else len(wrong.reading)
    stop = words[last].start if last < len(words) else len(wrong.reading)
    if start >= stop or done >= end:
        raise InputError(f"cannot tell how {text!r} is read as {wrong.reading!r}; correct a shorter segment")
    return wrong.reading[start:stop], text[done:end]


def is_specific(surface: str, reading: str) -> bool:
    """Whether a word has kanji, katakana or letters and a reading of two characters and more.

    Examples
    --------
    >>> is_specific("橋", "はし"), is_specific("木", "き"), is_specific("ので", "ので")
    (True, False, False)
    """
    latin = any(char.isascii() and char.isalpha() for char in surface)
    return len(reading) > 1 and (latin or is_content(surface))
