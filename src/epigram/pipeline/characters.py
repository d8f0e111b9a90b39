"""Characters of a text as columns for the tokenizer's template, made by one C call.

``_core/characters.h`` lists the columns. A blank is a character for which ``str.isspace`` is true.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from epigram._core import bindings
from epigram._core.arrays import offsets
from epigram.features.columns import Columns
from epigram.protocols import Offsets

N_COLUMNS = 13
BLANK = 1
N_CODES = 0x110000
LINE_ENDS = {0x0A: 1, 0x0D: 1, 0x85: 1, 0x2028: 1, 0x0C: 2, 0x2029: 2}
"""Line ends that characters count for: two end a paragraph."""
SCRIPTS = {
    "CJK": "漢",
    "HIRAGANA": "あ",
    "KATAKANA": "ア",
    "HANGUL": "가",
    "THAI": "ก",
    "ARABIC": "ع",
    "HEBREW": "א",
}
Codes = npt.NDArray[np.uint32]


class _CodeTable:
    """Lower case and class of code points, worked out when a code point is first met."""

    def __init__(self) -> None:
        self.lower, self.kinds = np.zeros(N_CODES, dtype=np.uint32), np.zeros(N_CODES, dtype=np.uint32)

    def learn(self, codes: Codes) -> None:
        """Work out all code points of a text."""
        for code in np.unique(codes[self.kinds[codes] == 0]).tolist():
            character = chr(code)
            low = character.lower()
            self.lower[code] = ord("0") if character.isdecimal() else ord(low) if len(low) == 1 else code
            self.kinds[code] = BLANK if character.isspace() else ord(class_of(character))


def class_of(character: str) -> str:
    """Return the class of a character: A, a, 0, s, m, c, a letter of its script, or itself.

    Examples
    --------
    >>> [class_of(c) for c in "Ab7.☺"]
    ['A', 'a', '0', '.', 's']
    """
    category = unicodedata.category(character)
    if category in ("Lu", "Lt"):
        return "A"
    if category == "Ll":
        return "a"
    if category[0] == "L":
        return SCRIPTS.get(unicodedata.name(character, "").split(" ")[0].split("-")[0], "o")
    if category[0] == "N":
        return "0" if character.isdecimal() else "n"
    if category[0] == "M":
        return "m"
    if category in ("Cc", "Cs", "Cn", "Co"):
        return "c"
    return "s" if category == "So" else character


_TABLE = _CodeTable()


@dataclass(frozen=True, slots=True)
class Characters:
    """The code points of a text, and where those are that are not blank.

    Examples
    --------
    >>> characters = Characters.of("A cat.\\n\\nHi")
    >>> characters.positions.tolist(), characters.paragraph_ptr.tolist()
    ([0, 2, 3, 4, 5, 8, 9], [0, 5, 7])
    """

    codes: Codes = field(repr=False)
    lower: Codes = field(repr=False)
    kinds: Codes = field(repr=False)
    positions: Offsets

    @classmethod
    def of(cls, text: str) -> Characters:
        """Read a text."""
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        _TABLE.learn(codes)
        kinds = _TABLE.kinds[codes]
        return cls(codes, _TABLE.lower[codes], kinds, np.flatnonzero(kinds != BLANK))

    @property
    def paragraph_ptr(self) -> Offsets:
        """Offsets of the paragraphs in ``positions``: blank lines end them."""
        n = len(self.positions)
        if not n:
            return np.zeros(1, dtype=np.int64)
        ends = np.zeros(len(self.codes) + 1, dtype=np.int64)
        for code, count in LINE_ENDS.items():
            ends[1:][self.codes == code] = count
        followed = np.flatnonzero((self.codes[:-1] == 0x0D) & (self.codes[1:] == 0x0A))
        ends[1:][followed] = 0
        before = np.cumsum(ends)[self.positions]
        starts = 1 + np.flatnonzero(np.diff(before) >= 2)
        return np.concatenate([[0], starts, [n]]).astype(np.int64)

    def columns(self, begins: Offsets, ends: Offsets) -> Columns:
        """Return the columns of sequences ``begins[s]``..``ends[s]`` of the text; they may overlap."""
        first, last = np.searchsorted(self.positions, begins), np.searchsorted(self.positions, ends)
        ptr, n = offsets(last - first), len(self.codes)
        raw = np.empty(8 * n + 11, dtype=np.uint8)
        at = np.empty((2, n + 1), dtype=np.int64)
        starts, stops = np.empty((2, N_COLUMNS, int(ptr[-1])), dtype=np.int64)
        used = bindings.characters_find_cells(
            self.lower, self.kinds, self.kinds == BLANK, begins, ends, ptr, raw, at[0], at[1],
            starts.ravel(), stops.ravel(),
        )  # fmt: skip
        if used < 0:
            raise ValueError("the sequences do not fit the text.")
        return Columns.from_cells(raw[:used].tobytes(), starts, stops, ptr)
