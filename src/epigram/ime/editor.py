"""State machine of the line editor: keys in, text out.

Typing builds a reading (romaji becomes kana on the way). Space converts; then left and right choose a segment, up,
down and space a candidate, shift with left or right shortens or lengthens a segment, enter commits and teaches the
converter what was changed, escape returns to kana. Tab offers predictions. Committed text is the left context of the
next reading.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from epigram.errors import InputError
from epigram.ime.converter import KanaKanjiConverter, Segment
from epigram.ime.kana import from_romaji

LEFT, RIGHT, UP, DOWN = "left", "right", "up", "down"
LONGER, SHORTER, TAB = "longer", "shorter", "tab"
KEPT = 200
"""Characters of committed text that are kept as context."""
ENTER, SPACE, BACKSPACE, ESCAPE, UNDO, QUIT = "enter", "space", "backspace", "escape", "undo", "quit"


@dataclass
class Editor:
    """Line that is being edited.

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
    predicted: bool = False

    @property
    def reading(self) -> str:
        """Typed kana; a final ``n`` may still become part of a syllable."""
        return from_romaji(self.typed, finished=bool(self.segments))

    @property
    def text(self) -> str:
        """The line as it would be committed."""
        if not self.segments:
            return self.reading
        return "".join(
            segment.alternatives[choice] for segment, choice in zip(self.segments, self.chosen, strict=True)
        )

    def press(self, key: str) -> str | None:
        """Process a key (a character or a name); returns the text if it was committed."""
        self.message = ""
        if key == ENTER:
            return self._commit()
        if key == UNDO:
            self._undo()
        elif key == ESCAPE:
            self._back_to_kana() if self.segments else self._clear()
        elif key == BACKSPACE:
            if self.segments:
                self._back_to_kana()
            else:
                self.typed = self.typed[:-1]
        elif self.segments:
            self._choose(key)
        elif key == SPACE:
            self._convert()
        elif key == TAB:
            self._predict()
        elif len(key) == 1:
            self.typed += key
        return None

    def _predict(self) -> None:
        """Offer predictions as one segment."""
        reading = self.reading
        ways = [way.text for way in self.converter.predict(reading, self.before)]
        if not ways:
            self.message = "no prediction"
            return
        self.segments, self.chosen, self.at = [Segment(reading, ways[0], ways)], [0], 0
        self.predicted = True

    def _convert(self, fixed: Sequence[int] = ()) -> None:
        reading = from_romaji(self.typed)
        if not reading:
            return
        try:
            self.segments = self.converter.segments(reading, fixed=fixed, before=self.before)
        except InputError as error:
            self.message = str(error)
            return
        self.chosen = [0] * len(self.segments)
        self.at = 0

    def _choose(self, key: str) -> None:
        """Move between segments and candidates; a character starts a new line after this one."""
        n = len(self.segments[self.at].alternatives)
        if key in (LEFT, RIGHT):
            self.at = (self.at + (1 if key == RIGHT else -1)) % len(self.segments)
        elif key in (LONGER, SHORTER) and not self.predicted:
            self._resize(1 if key == LONGER else -1)
        elif key in (DOWN, SPACE, TAB, UP):
            self.chosen[self.at] = (self.chosen[self.at] + (-1 if key == UP else 1)) % n

    def _resize(self, more: int) -> None:
        """Lengthen or shorten the current segment by one character; keeps those before it."""
        lengths = [len(segment.reading) for segment in self.segments[: self.at + 1]]
        lengths[-1] += more
        if lengths[-1] < 1 or sum(lengths) > len(self.reading):
            return
        at, kept = (
            self.at,
            [
                segment.alternatives[choice]
                for segment, choice in zip(self.segments[: self.at], self.chosen, strict=False)
            ],
        )
        self._convert(lengths)
        self.at = at
        for place, text in enumerate(kept):
            ways = self.segments[place].alternatives
            self.chosen[place] = ways.index(text) if text in ways else 0

    def _commit(self) -> str | None:
        text = self.text if self.segments else from_romaji(self.typed)
        if not text:
            return None
        if any(self.chosen) and not self.predicted:
            try:
                self.converter.learn(from_romaji(self.typed), text, before=self.before)
                self.message = "learnt"
            except InputError as error:
                self.message = str(error)
        self._clear()
        self.before = (self.before + text)[-KEPT:]
        return text

    def _undo(self) -> None:
        try:
            self.converter.undo()
            self.message = "forgot the last correction"
        except InputError as error:
            self.message = str(error)

    def _back_to_kana(self) -> None:
        self.segments, self.chosen, self.at = [], [], 0
        self.predicted = False

    def _clear(self) -> None:
        self._back_to_kana()
        self.typed = ""
