"""Reads and writes dictionaries of Mozc, Google, MS-IME, ATOK and SKK.

Formats are recognised by content. The first three have a line ``reading<TAB>surface<TAB>part of speech``, in UTF-8,
UTF-16 or Shift_JIS; lines that begin with ``!`` or ``#`` are headings. SKK has ``reading /surface;note/surface/``, in
EUC-JP or UTF-8. Entries of SKK whose reading ends in a Latin letter stand for inflected words and are left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from os import PathLike, fspath
from typing import NamedTuple

from epigram.errors import InputError
from epigram.files import read_bytes
from epigram.ime.kana import LONGEST_READING, is_hiragana, to_hiragana
from epigram.storage import write_atomically

WRITERS = {
    "mozc": ((), "utf-8", "\n"),
    "google": ((), "utf-8", "\n"),
    "ms-ime": (("!Microsoft IME Dictionary Tool",), "utf-16-le", "\r\n"),
    "atok": (("!!ATOK_TANGO_TEXT_HEADER_1",), "utf-16-le", "\r\n"),
    "skk": ((";; -*- coding: utf-8 -*-", ";; okuri-ari entries.", ";; okuri-nasi entries."), "utf-8", "\n"),
}
"""Formats that are written: heading, encoding, end of a line."""


class Entry(NamedTuple):
    """Word of a dictionary."""

    reading: str
    surface: str


def read_dictionary(path: str | PathLike[str]) -> list[Entry]:
    """Read the distinct words of a dictionary in order.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "words.txt"
    >>> _ = file.write_bytes("!Microsoft IME\\r\\nえぴぐらむ\\tEpigram\\t固有名詞\\r\\n".encode("utf-16"))
    >>> read_dictionary(file)
    [Entry(reading='えぴぐらむ', surface='Epigram')]
    """
    lines = _decoded(read_bytes(path), path).splitlines()
    skk = any(line.startswith(";; okuri-") for line in lines) or _all_skk(lines)
    read = _skk_line if skk else _tabbed_line
    entries: dict[Entry, None] = {}
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.startswith(";" if skk else ("!", "#")):
            entries |= dict.fromkeys(read(line, path, number))
    if not entries:
        raise InputError(
            "holds no words; expected a dictionary of Mozc, Google, MS-IME or ATOK "
            "(reading<TAB>surface<TAB>part of speech) or of SKK (reading /surface/)", path=path,
        )  # fmt: skip
    return list(entries)


def _all_skk(lines: Sequence[str]) -> bool:
    """Whether the first lines after comments are in SKK format."""
    first = [line for line in lines if line.strip() and not line.startswith(";")][:5]
    return bool(first) and all(" /" in line and line.rstrip().endswith("/") for line in first)


def _skk_line(line: str, path: str | PathLike[str], number: int) -> list[Entry]:
    reading, blank, rest = line.partition(" /")
    if not blank or not reading:
        raise InputError(f"expected reading /surface/, found {line[:40]!r}", path=path, line=number)
    if not is_hiragana(reading):
        return []  # inflected words, Latin and numeric headings
    surfaces = [_skk_surface(piece.partition(";")[0]) for piece in rest.rstrip("/ ").split("/")]
    return [Entry(reading, surface) for surface in surfaces if surface and not surface.startswith("(")]


def _skk_surface(written: str) -> str:
    """Surface of a candidate; ``(concat "1\\0572")`` is 1/2."""
    found = re.fullmatch(r'\(concat "(.*)"\)', written)
    return re.sub(r"\\(\d{3})", lambda octal: chr(int(octal[1], 8)), found[1]) if found else written


def write_dictionary(entries: Sequence[Entry], path: str | PathLike[str], kind: str) -> None:
    """Write words as a dictionary of another input method.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "words.txt"
    >>> write_dictionary([Entry("きろ", "km/h"), Entry("えぴ", "Epi")], file, "skk")
    >>> print(file.read_text().splitlines()[-1])
    きろ /(concat "km\\057h")/
    >>> read_dictionary(file)
    [Entry(reading='えぴ', surface='Epi'), Entry(reading='きろ', surface='km/h')]
    """
    if kind not in WRITERS:
        raise InputError(f"unknown format {kind!r}; formats are {', '.join(WRITERS)}")
    heading, encoding, newline = WRITERS[kind]
    lines = list(heading)
    if kind == "skk":
        surfaces: dict[str, list[str]] = {}
        for entry in entries:
            octal = re.sub(r'[/;"\\]', lambda char: f"\\{ord(char[0]):03o}", entry.surface)
            surfaces.setdefault(entry.reading, []).append(
                entry.surface if octal == entry.surface else f'(concat "{octal}")'
            )
        lines += [f"{reading} /{'/'.join(own)}/" for reading, own in sorted(surfaces.items())]
    else:
        lines += [f"{entry.reading}\t{entry.surface}\t名詞" for entry in entries]
    mark = b"\xff\xfe" if encoding == "utf-16-le" else b""
    write_atomically(path, mark + "".join(line + newline for line in lines).encode(encoding))


def _tabbed_line(line: str, path: str | PathLike[str], number: int) -> list[Entry]:
    fields = line.rstrip("\r\n").split("\t")
    if len(fields) < 2 or not fields[0].strip() or not fields[1].strip():
        raise InputError(
            f"expected reading<TAB>surface<TAB>part of speech, found {line[:40]!r}", path=path, line=number
        )
    reading, surface = to_hiragana(fields[0].strip()), fields[1].strip()
    if has_kanji(reading):
        swapped = "; are the columns swapped?" if is_hiragana(to_hiragana(surface)) else ""
        raise InputError(
            f"the reading {reading[:20]!r} (first column) has kanji in it{swapped}", path=path, line=number
        )
    if len(reading) > LONGEST_READING:
        raise InputError(
            f"the reading of {surface[:20]!r} has {len(reading)} characters; at most {LONGEST_READING} are allowed",
            path=path, line=number,
        )  # fmt: skip
    return [Entry(reading, surface)]


def has_kanji(text: str) -> bool:
    """Whether a text has a kanji.

    Examples
    --------
    >>> has_kanji("京と"), has_kanji("きょうト1")
    (True, False)
    """
    return any("一" <= char <= "鿿" or "㐀" <= char <= "䶿" for char in text)


def _decoded(raw: bytes, path: str | PathLike[str]) -> str:
    """Decode UTF-16 (by its mark), UTF-8, or EUC-JP or Shift_JIS, whichever gives more kana."""
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return raw.decode("utf-16", "replace")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        pass
    found = []
    for encoding in ("euc_jp", "cp932"):
        try:
            text = raw.decode(encoding)
        except UnicodeDecodeError:
            continue
        found.append((sum("ぁ" <= char <= "ん" for char in text), text))
    if not found:
        raise InputError(f"{fspath(path)} is no UTF-8, UTF-16, EUC-JP or Shift_JIS text")
    return max(found)[1]
