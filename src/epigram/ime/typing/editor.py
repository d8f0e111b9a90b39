"""State machine of the line editor: keys in, text out, for the terminal and for desktops.

Typing builds a reading (romaji becomes kana on the way; from a capital letter on, letters stay Latin). Space converts;
then left and right choose a phrase, up, down and space a candidate, digits one of the page, shift with left or right
resizes a phrase, enter commits and teaches the converter what was changed, escape returns to kana. Any other character
commits and goes on: nothing typed is lost. Tab offers predictions; F6 to F10 write the reading as hiragana, katakana,
half-width katakana, full-width Latin and Latin. Undo reopens the last commit and forgets what it taught. Committed text
is the left context of the next reading.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from epigram.errors import InputError
from epigram.ime.converter import KanaKanjiConverter, Segment
from epigram.ime.kana import from_romaji, open_kana, to_half_width, to_hiragana, to_katakana, to_wide

LEFT, RIGHT, UP, DOWN = "left", "right", "up", "down"
LONGER, SHORTER, TAB, PAGE_UP, PAGE_DOWN = "longer", "shorter", "tab", "page up", "page down"
ENTER, SPACE, BACKSPACE, ESCAPE, UNDO, QUIT = "enter", "space", "backspace", "escape", "undo", "quit"
RECONVERT = "reconvert"
FORMS = ("f6", "f7", "f8", "f9", "f10")
KEPT = 200
"""Characters of committed text that are kept as context."""
PAGE, MOST = 9, 36
"""Candidates of a page, and of a phrase."""
REMEMBERED = 200
"""Number of last corrections whose words stand first among candidates."""
_LATIN = re.compile("[A-Z]")
_OPEN = re.compile("[a-z]+$")
_DAYS = {"おととい": -2, "きのう": -1, "きょう": 0, "あした": 1, "あす": 1, "あさって": 2}


@dataclass
class Editor:
    """Line that is being edited; with ``private`` it teaches the converter nothing.

    Examples
    --------
    >>> converter = KanaKanjiConverter.build(["橋/はし を 渡る/わたる", "箸/はし", "箸/はし"])
    >>> editor = Editor(converter)
    >>> for key in [*"hashi", SPACE]:
    ...     _ = editor.press(key)
    >>> editor.text, editor.press(DOWN), editor.text, editor.press(ENTER), converter.convert("はし")
    ('箸', None, '橋', '橋', '橋')
    """

    converter: KanaKanjiConverter
    typed: str = ""
    segments: list[Segment] = field(default_factory=list)
    chosen: list[int] = field(default_factory=list)
    at: int = 0
    message: str = ""
    before: str = ""
    plain: bool = False
    """Whether the segment is a prediction or a form of the reading, which teaches nothing."""
    private: bool = False
    punctuation: str = "、。"
    erase: int = 0
    """Characters of committed text before the caret that the last key took back."""
    _last: tuple[str, str, str, bool] | None = None
    _cleared: str = ""

    @property
    def reading(self) -> str:
        """Typed kana; a final ``n`` may still become part of a syllable."""
        return self._kana(finished=bool(self.segments))

    def _kana(self, *, finished: bool = True) -> str:
        capital = _LATIN.search(self.typed)
        cut = capital.start() if capital else len(self.typed)
        kana = from_romaji(self.typed[:cut], finished=finished or capital is not None)
        return kana.translate(str.maketrans("、。", self.punctuation)) + self.typed[cut:]

    @property
    def text(self) -> str:
        """The line as it would be committed."""
        return "".join(self.texts) if self.segments else self.reading

    @property
    def texts(self) -> list[str]:
        """Chosen text of each segment."""
        both = zip(self.segments, self.chosen, strict=True)
        return [segment.alternatives[choice] for segment, choice in both]

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being edited."""
        return not self.typed

    @property
    def page(self) -> tuple[list[str], int]:
        """Candidates of the page of the current segment, and the number of the chosen one on it."""
        if not self.segments:
            return [], 0
        first = self.chosen[self.at] // PAGE * PAGE
        return self.segments[self.at].alternatives[first : first + PAGE], self.chosen[self.at] - first

    def view(self) -> dict[str, Any]:
        """State that a front end shows, for JSON."""
        candidates, choice = self.page
        n = len(self.segments[self.at].alternatives) if self.segments else 0
        return {
            "preedit": self.texts if self.segments else [self.reading] if self.typed else [],
            "at": self.at if self.segments else None, "candidates": candidates, "chosen": choice,
            "page": self.chosen[self.at] // PAGE if self.segments else 0, "pages": -(-n // PAGE),
            "message": self.message, "erase": self.erase,
        }  # fmt: skip

    def press(self, key: str) -> str | None:
        """Process a key (a character or a name); returns the text if some was committed."""
        self.message, self.erase = "", 0
        if key == ENTER:
            return self._commit()
        if key in (UNDO, RECONVERT):
            self._reopen(forget=key == UNDO)
        elif key == ESCAPE:
            self._back_to_kana() if self.segments else self._abandon()
        elif key == BACKSPACE:
            self._back_to_kana() if self.segments else self._erase()
        elif key in FORMS:
            self._write_as(FORMS.index(key))
        elif self.segments:
            return self._choose(key)
        elif key == SPACE and not self.typed:
            return self._insert("　")
        elif key == SPACE:
            self._convert()
        elif key == TAB:
            self._predict()
        elif len(key) == 1:
            self.typed += key
        return None

    def _insert(self, text: str) -> str:
        self.before = (self.before + text)[-KEPT:]
        self._last = None
        return text

    def _erase(self) -> None:
        """Delete the last kana, or the last letter of an open syllable."""
        size, is_open = len(self.reading), _OPEN.search(self.reading) is not None
        self.typed = self.typed[:-1]
        while self.typed and not is_open and (len(self.reading) >= size or _OPEN.search(self.reading)):
            if _LATIN.search(self.typed):
                break
            self.typed = self.typed[:-1]

    def _predict(self) -> None:
        """Offer predictions as one segment; an open consonant stands for each of its kana."""
        reading, found = self.reading, dict[str, float]()
        pending = _OPEN.search(reading) if not _LATIN.search(self.typed) else None
        starts = [reading]
        if pending is not None:
            starts = [reading[: pending.start()] + kana for kana in open_kana(pending[0])]
        for start in starts if reading else ():
            for rank, way in enumerate(self.converter.predict(start, self.before)):
                score = way.score if pending is not None else -float(rank)
                found[way.text] = max(found.get(way.text, score), score)
        ways = sorted(found, key=lambda text: -found[text])[:MOST]
        if not ways:
            self.message = "no prediction"
            return
        self._offer(reading, ways)

    def _offer(self, reading: str, ways: list[str]) -> None:
        self.segments, self.chosen, self.at, self.plain = [Segment(reading, ways[0], ways)], [0], 0, True

    def _write_as(self, form: int) -> None:
        """Write the whole line in one of the forms of F6 to F10."""
        if not self.typed:
            return
        kana = self._kana()
        katakana = to_katakana(to_hiragana(kana))
        forms = (to_hiragana(kana), katakana, to_half_width(katakana), to_wide(self.typed), self.typed)
        self._offer(kana, [forms[form]])

    def _convert(self, fixed: Sequence[int] = ()) -> None:
        reading = self._kana()
        try:
            found = self.converter.segments(reading, MOST, fixed, before=self.before, phrases=True)
        except InputError as error:
            self.message = str(error)
            return
        self.segments = [self._with_choices(segment) for segment in found]
        self.chosen, self.at, self.plain = [0] * len(found), 0, False

    def _with_choices(self, segment: Segment) -> Segment:
        """Add dates, and put the words that the user chose last behind the first candidate."""
        first, *rest = segment.alternatives
        lessons = self.converter.journal.lessons[-REMEMBERED:]
        known = [
            surface
            for lesson in reversed(lessons)
            for surface, reading in [
                (lesson.chosen, lesson.reading),
                *(w for p in lesson.phrases for w in p.words),
            ]
            if reading == segment.reading
        ]
        if segment.reading in _DAYS:
            day = date.today() + timedelta(_DAYS[segment.reading])
            rest += [
                f"{day.year}年{day.month}月{day.day}日",
                f"{day.month}月{day.day}日",
                day.strftime("%Y/%m/%d"),
            ]
        return segment._replace(alternatives=list(dict.fromkeys([first, *known, *rest])))

    def _choose(self, key: str) -> str | None:
        """Move between segments and candidates; any other character commits and starts a new line."""
        n, now = len(self.segments[self.at].alternatives), self.chosen[self.at]
        steps = {DOWN: 1, SPACE: 1, TAB: 1, UP: -1}
        if key in (LEFT, RIGHT):
            self.at = (self.at + (1 if key == RIGHT else -1)) % len(self.segments)
        elif key in (LONGER, SHORTER):
            self._resize(1 if key == LONGER else -1)
        elif key in steps:
            self.chosen[self.at] = (now + steps[key]) % n
        elif key in (PAGE_UP, PAGE_DOWN):
            page = now // PAGE + (1 if key == PAGE_DOWN else -1)
            self.chosen[self.at] = page % -(-n // PAGE) * PAGE
        elif key in "123456789" and len(key) == 1:
            choice = now // PAGE * PAGE + int(key) - 1
            if choice < n:
                self.chosen[self.at] = choice
        elif len(key) == 1:
            text = self._commit()
            self.typed = key
            return text
        return None

    def _resize(self, more: int) -> None:
        """Lengthen or shorten the current segment by one character; keeps those before it."""
        if self.plain:
            return
        lengths = [len(segment.reading) for segment in self.segments[: self.at + 1]]
        lengths[-1] += more
        if lengths[-1] < 1 or sum(lengths) > len(self.reading):
            return
        at, kept = self.at, self.texts[: self.at]
        self._convert(lengths)
        self.at = at
        for place, text in enumerate(kept):
            ways = self.segments[place].alternatives
            self.chosen[place] = ways.index(text) if text in ways else 0

    def _commit(self) -> str | None:
        text = self.text if self.segments else self._kana()
        if not text:
            return None
        learnt = False
        if any(self.chosen) and not self.plain and not self.private:
            n = len(self.converter.journal.lessons)
            try:
                self.converter.learn(self._kana(), text, before=self.before)
                learnt = len(self.converter.journal.lessons) > n
                self.message = "learnt" if learnt else ""
            except InputError as error:
                self.message = str(error)
        last = self.typed, text, self.before, learnt
        self._clear()
        self._insert(text)
        self._last = last
        return text

    def _reopen(self, *, forget: bool) -> None:
        """Edit again what was abandoned or committed last; ``forget`` undoes its lesson."""
        if self.typed:
            return
        if self._cleared and forget:
            self.typed, self._cleared = self._cleared, ""
        elif self._last is None:
            if forget:
                self._undo_lesson()
        else:
            self.typed, text, self.before, learnt = self._last
            self._last, self.erase = None, len(text)
            if learnt and forget:
                self._undo_lesson()
            self._convert()

    def _undo_lesson(self) -> None:
        try:
            self.converter.undo()
            self.message = "forgot the last correction"
        except InputError as error:
            self.message = str(error)

    def _back_to_kana(self) -> None:
        self.segments, self.chosen, self.at, self.plain = [], [], 0, False

    def _abandon(self) -> None:
        self._cleared = self.typed or self._cleared
        self.typed = ""

    def _clear(self) -> None:
        self._back_to_kana()
        self.typed, self._cleared = "", ""
