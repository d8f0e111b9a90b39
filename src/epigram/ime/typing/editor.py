"""State machine of the line editor: keys in, text out, for terminal, studio and desktops.

Typing builds a reading (romaji or keys of the kana layout become kana on the way; from a capital letter on, letters
stay Latin). Space converts; then left and right choose a phrase, up, down and space a candidate, digits one of the
page, shift with left or right resizes a phrase, enter commits and teaches the converter what was changed, escape
returns to kana. Any other character commits and goes on: nothing typed is lost. Tab offers predictions; F6 to F10 write
the reading, or the current phrase, as hiragana, katakana, half-width katakana, full-width Latin and Latin. Undo reopens
the last commit and forgets what it taught. Committed text is the left context of the next reading.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from epigram.errors import InputError
from epigram.ime.converter import KanaKanjiConverter
from epigram.ime.corrections import Lesson
from epigram.ime.kana import from_romaji, open_kana, to_half_width, to_hiragana, to_katakana, to_wide
from epigram.ime.segmentation import Segment, Segmentation, segment
from epigram.ime.typing.candidates import arrange, is_fleeting
from epigram.ime.typing.layouts import from_kana_keys
from epigram.ime.user.learning import learn
from epigram.ime.user.settings import UserSettings

LEFT, RIGHT, UP, DOWN = "left", "right", "up", "down"
LONGER, SHORTER, TAB, PAGE_UP, PAGE_DOWN = "longer", "shorter", "tab", "page up", "page down"
ENTER, SPACE, BACKSPACE, ESCAPE, UNDO, QUIT = "enter", "space", "backspace", "escape", "undo", "quit"
RECONVERT = "reconvert"
FORMS = ("f6", "f7", "f8", "f9", "f10")
KEPT = 300
"""Characters of committed text that are kept as context."""
PAGE, MOST = 9, 36
"""Candidates of a page, and of a phrase."""
_LATIN = {"romaji": re.compile("[A-Z]"), "kana": re.compile("[A-DF-Y]")}
_OPEN = re.compile("[a-z]+$")


@dataclass
class Editor:
    """Line that is being edited; a private one teaches the converter nothing.

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
    """Whether the segment is a prediction or a form of the reading."""
    private: bool = False
    """Whether the text field is private, whatever the settings."""
    settings: UserSettings = field(default_factory=UserSettings)
    erase: int = 0
    """Characters of committed text before the caret that the last key took back."""
    _last: tuple[str, str, str, bool] | None = None
    _cleared: str = ""
    _found: Segmentation | None = None
    _predicted: dict[str, str] = field(default_factory=dict)
    _there: tuple[str, KanaKanjiConverter] | None = None

    @property
    def reading(self) -> str:
        """Typed kana; a final ``n`` may still become part of a syllable."""
        return self._kana(finished=bool(self.segments))

    def _kana(self, *, finished: bool = True) -> str:
        return self._kana_of(self.typed, finished=finished)

    def _kana_of(self, typed: str, *, finished: bool = True) -> str:
        capital = self._capital(typed)
        cut = len(typed) if capital is None else capital
        if self.settings.layout == "kana":
            kana = from_kana_keys(typed[:cut])
        else:
            kana = from_romaji(typed[:cut], finished=finished or capital is not None)
        return kana.translate(str.maketrans("、。", self.settings.punctuation)) + typed[cut:]

    def _capital(self, typed: str) -> int | None:
        """Offset of the first capital, from which on letters stay Latin."""
        found = _LATIN[self.settings.layout].search(typed)
        return found.start() if found else None

    @property
    def text(self) -> str:
        """The line as it would be committed."""
        return "".join(self.texts) if self.segments else self._wide(self.reading)

    @property
    def texts(self) -> list[str]:
        """Chosen text of each segment."""
        texts = self._chosen_texts()
        return texts if self.plain else [self._wide(text) for text in texts]

    def _chosen_texts(self) -> list[str]:
        both = zip(self.segments, self.chosen, strict=True)
        return [segment.alternatives[choice] for segment, choice in both]

    def _wide(self, text: str) -> str:
        return to_wide(text) if self.settings.width == "full" else text

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
            "reading": self.reading, "preedit": self.texts if self.segments else [self.text] if self.typed else [],
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
            return self._insert(" " if self.settings.width == "half" else "　")
        elif key == SPACE:
            self._convert()
        elif key == TAB:
            self._predict()
        elif len(key) == 1:
            self.typed += key
        return None

    def reconvert(self, text: str) -> None:
        """Edit a text of the document again, such as a selection; InputError if it has no reading."""
        reading = self.converter.reading_of(text)
        self._clear()
        self.typed = reading
        self._convert()

    def _view(self) -> KanaKanjiConverter:
        """The converter after the text before the caret."""
        if (
            self._there is None
            or self._there[0] != self.before
            or self._there[1].journal is not self.converter.journal
        ):
            self._there = (
                self.before,
                self.converter.following(self.before) if self.before else self.converter,
            )
        return self._there[1]

    def _insert(self, text: str) -> str:
        self.before = (self.before + text)[-KEPT:]
        self._last = None
        return text

    def _erase(self) -> None:
        """Delete the last kana, or the last letter of an open syllable."""
        size, is_open = len(self.reading), _OPEN.search(self.reading) is not None
        self.typed = self.typed[:-1]
        while self.typed and not is_open and (len(self.reading) >= size or _OPEN.search(self.reading)):
            if self._capital(self.typed) is not None:
                break
            self.typed = self.typed[:-1]

    def _predict(self) -> None:
        """Offer predictions as one segment; an open consonant stands for each of its kana."""
        reading, found = self.reading, dict[str, tuple[float, str]]()
        pending = _OPEN.search(reading) if self._capital(self.typed) is None else None
        starts = [reading]
        if pending is not None:
            starts = [reading[: pending.start()] + kana for kana in open_kana(pending[0])]
        for start in starts if reading else ():
            for rank, way in enumerate(self._view().predict(start)):
                score = way.score if pending is not None else -float(rank)
                if way.text not in found or score > found[way.text][0]:
                    found[way.text] = score, way.reading
        ways = sorted(found, key=lambda text: -found[text][0])[:MOST]
        if not ways:
            self.message = "no prediction"
            return
        self._offer(reading, ways)
        self._predicted = {text: found[text][1] for text in ways}

    def _offer(self, reading: str, ways: list[str]) -> None:
        self.segments, self.chosen, self.at, self.plain = [Segment(reading, ways[0], ways)], [0], 0, True
        self._found, self._predicted = None, {}

    def _write_as(self, form: int) -> None:
        """Write the current phrase, or the whole line, in one of the forms of F6 to F10."""
        if not self.typed:
            return
        if self.plain or not self.segments:
            kana = self._kana()
            self._offer(kana, [_forms(kana, self.typed)[form]])
            return
        here = self.segments[self.at]
        start = sum(len(segment.reading) for segment in self.segments[: self.at])
        typed = self.typed[self._offset(start) : self._offset(start + len(here.reading))]
        ways = list(dict.fromkeys([*here.alternatives, _forms(here.reading, typed)[form]]))
        self.segments[self.at] = here._replace(alternatives=ways)
        self.chosen[self.at] = ways.index(_forms(here.reading, typed)[form])

    def _offset(self, n: int) -> int:
        """Number of typed characters that make the first ``n`` characters of the reading."""
        kana = self._kana()[:n]
        offsets = range(len(self.typed) + 1)
        exact = (k for k in offsets if self._kana_of(self.typed[:k]) == kana)
        return next(exact, max(k for k in offsets if len(self._kana_of(self.typed[:k])) <= n))

    def _convert(self, fixed: Sequence[int] = ()) -> None:
        reading, ends = self._kana(), [sum(fixed[: k + 1]) for k in range(len(fixed))]
        try:
            self._found = segment(self._view(), reading, ends, phrases=True)
        except InputError as error:
            self.message = str(error)
            return
        self.segments = self._found.bare()
        self.chosen, self.at, self.plain = [0] * len(self.segments), 0, False
        self._expand()

    def _expand(self) -> None:
        """Find the alternatives of the current segment, unless they are known."""
        if self._found is not None and len(self.segments[self.at].alternatives) == 1:
            found = self._found.segment(self.at, MOST)
            self.segments[self.at] = arrange(found, self.converter.journal.lessons, datetime.now())

    def _choose(self, key: str) -> str | None:
        """Move between segments and candidates; any other character commits and starts a new line."""
        n, now = len(self.segments[self.at].alternatives), self.chosen[self.at]
        steps = {DOWN: 1, SPACE: 1, TAB: 1, UP: -1}
        if key in (LEFT, RIGHT):
            self.at = (self.at + (1 if key == RIGHT else -1)) % len(self.segments)
            self._expand()
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
        at, kept, chosen = self.at, self.segments[: self.at], self.chosen[: self.at]
        self._convert(lengths)
        self.at = at
        self.segments[:at], self.chosen[:at] = kept, chosen
        self._expand()

    def _commit(self) -> str | None:
        text = self.text if self.segments else self._wide(self._kana())
        if not text:
            return None
        n = len(self.converter.journal.lessons)
        if self.segments and not (self.private or self.settings.private):
            try:
                self._teach()
            except InputError as error:
                self.message = str(error)
        learnt = len(self.converter.journal.lessons) > n
        self.message = "learnt" if learnt else self.message
        last = self.typed, text, self.before, learnt
        self._clear()
        self._insert(text)
        self._last = last
        return text

    def _teach(self) -> None:
        """Learn what was chosen; a prediction is remembered and stands first among the next ones."""
        journal, texts = self.converter.journal, self._chosen_texts()
        if self.plain:
            reading = self._predicted.get(texts[0])
            if reading is not None:
                kept = Lesson(reading, texts[0])
                journal.lessons[:] = [lesson for lesson in journal.lessons if lesson != kept]
                journal.append(kept)
            return
        now = datetime.now()
        for k, one in enumerate(self.segments):
            if self.chosen[k] and is_fleeting(one.reading, texts[k], now):
                texts[k], self.chosen[k] = one.alternatives[0], 0
        if any(self.chosen):
            learn(self._view(), self._kana(), "".join(texts), self.before)

    def _reopen(self, *, forget: bool) -> None:
        """Edit again what was abandoned or committed last; ``forget`` undoes its lesson."""
        if self.typed:
            return
        if self._cleared and forget:
            self.typed, self._cleared = self._cleared, ""
        elif self._last is None:
            self.message = "nothing to take back"
        else:
            self.typed, text, self.before, learnt = self._last
            self._last, self.erase = None, len(text)
            if learnt and forget:
                self.converter.undo()
                self.message = "forgot the last correction"
            self._convert()

    def moved(self, before: str | None = None) -> None:
        """Tell that the application got a key, or what stands before the caret now.

        The last commit cannot be reopened if it may not stand before the caret any more.
        """
        if before is not None:
            self.before = before[-KEPT:]
        if self._last is not None and not (before or "").endswith(self._last[1]):
            self._last = None

    def _back_to_kana(self) -> None:
        self.segments, self.chosen, self.at, self.plain = [], [], 0, False
        self._found, self._predicted = None, {}

    def _abandon(self) -> None:
        self._cleared = self.typed or self._cleared
        self.typed = ""

    def _clear(self) -> None:
        self._back_to_kana()
        self.typed, self._cleared = "", ""


def _forms(kana: str, typed: str) -> tuple[str, ...]:
    """Hiragana, katakana, half-width katakana, full-width Latin and Latin."""
    katakana = to_katakana(to_hiragana(kana))
    return to_hiragana(kana), katakana, to_half_width(katakana), to_wide(typed), typed
