"""The line editor of the input method: takes keys, and tells what to show and which text was finished.

Typing builds a reading (romaji turns into kana on the way). Space converts; then left and right choose a segment,
up, down and space a candidate, enter commits and teaches the converter what was changed, escape goes back to kana.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from epigram.errors import InputError
from epigram.ime.converter import KanaKanjiConverter, Segment
from epigram.ime.kana import from_romaji

LEFT, RIGHT, UP, DOWN = "left", "right", "up", "down"
ENTER, SPACE, BACKSPACE, ESCAPE, UNDO, QUIT = "enter", "space", "backspace", "escape", "undo", "quit"


@dataclass
class Editor:
    """One line being typed.

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

    @property
    def reading(self) -> str:
        """What was typed, as kana; a last ``n`` may still become part of a syllable."""
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
        """Take a key (a character or a name); returns the text if it was committed."""
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
        elif len(key) == 1:
            self.typed += key
        return None

    def _convert(self) -> None:
        reading = from_romaji(self.typed)
        if not reading:
            return
        try:
            self.segments = self.converter.segments(reading)
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
        elif key in (DOWN, SPACE, UP):
            self.chosen[self.at] = (self.chosen[self.at] + (-1 if key == UP else 1)) % n

    def _commit(self) -> str | None:
        text = self.text if self.segments else from_romaji(self.typed)
        if not text:
            return None
        if any(self.chosen):
            try:
                self.converter.learn(from_romaji(self.typed), text)
                self.message = "learnt"
            except InputError as error:
                self.message = str(error)
        self._clear()
        return text

    def _undo(self) -> None:
        try:
            self.converter.undo()
            self.message = "forgot the last correction"
        except InputError as error:
            self.message = str(error)

    def _back_to_kana(self) -> None:
        self.segments, self.chosen, self.at = [], [], 0

    def _clear(self) -> None:
        self._back_to_kana()
        self.typed = ""
