"""Writes the table of character classes of the C core from Python's unicodedata.

    python tools/unicode_classes.py

The table gives each code point 2 bits: 0 a sign that is a token of its own, 1 blank, 2 part of a word, 3 a letter of a
script without blanks between words, which is a word of its own. Equal blocks of 256 code points are stored once.
"""

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path

HEADER = Path(__file__).parents[1] / "src/epigram/_core/unicode_classes.h"
SIGN, BLANK, WORD, ALONE = range(4)
BLOCK, PER_NUMBER = 256, 32
UNSPACED = (
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3040, 0x30FF), (0x31F0, 0x31FF), (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0xFF66, 0xFF9D), (0x20000, 0x3FFFF),
)  # fmt: skip
"""Thai, Lao, Myanmar, Khmer, Kana and ideographs."""
JOINERS = (0x200C, 0x200D)


def class_of(point: int) -> int:
    """The class of a code point."""
    char = chr(point)
    category = unicodedata.category(char)
    if char.isspace() or category == "Cc":
        return BLANK
    if category[0] not in "LMN" and category != "Pc" and point not in JOINERS:
        return SIGN
    return ALONE if any(low <= point <= high for low, high in UNSPACED) else WORD


def packed(block: int) -> tuple[int, ...]:
    """The classes of 256 code points in 8 numbers of 64 bits, first code point lowest."""
    classes = [class_of(block * BLOCK + k) for k in range(BLOCK)]
    parts = (classes[k : k + PER_NUMBER] for k in range(0, BLOCK, PER_NUMBER))
    return tuple(sum(value << 2 * k for k, value in enumerate(part)) for part in parts)


def table() -> str:
    """The header as text."""
    blocks: dict[tuple[int, ...], int] = {}
    index = [blocks.setdefault(packed(block), len(blocks)) for block in range(0x110000 // BLOCK)]
    lines = [
        f"/* Classes of characters, by tools/unicode_classes.py from Unicode {unicodedata.unidata_version}; not to be",
        " * edited. 0 sign, 1 blank, 2 part of a word, 3 a word by itself. */",
        '#ifndef EPIGRAM_UNICODE_CLASSES_H\n#define EPIGRAM_UNICODE_CLASSES_H\n#include "core.h"\n',
        f"static const u8 CLASS_BLOCK[{len(index)}] = {{",
        *("    " + ", ".join(map(str, index[k : k + 32])) + "," for k in range(0, len(index), 32)),
        f"}};\nstatic const u64 CLASSES[{len(blocks)}][{BLOCK // PER_NUMBER}] = {{",
        *("    {" + ", ".join(f"0x{number:x}" for number in block) + "}," for block in blocks),
        "};\n\n/* The class of a code point. */\nstatic inline u8 class_of(u32 point) {",
        "    if (point > 0x10FFFF) return 0;",
        "    return CLASSES[CLASS_BLOCK[point >> 8]][(point >> 5) & 7] >> (2 * (point & 31)) & 3;\n}\n\n#endif",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    HEADER.write_text(table())
    sys.stdout.write(f"{HEADER}\n")
