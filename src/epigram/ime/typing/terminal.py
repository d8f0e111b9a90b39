"""Runs the line editor in a terminal."""

from __future__ import annotations

import codecs
import os
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator

from epigram.errors import InputError
from epigram.ime.typing.editor import (
    BACKSPACE,
    DOWN,
    ENTER,
    ESCAPE,
    FORMS,
    LEFT,
    LONGER,
    PAGE_DOWN,
    PAGE_UP,
    QUIT,
    RECONVERT,
    RIGHT,
    SHORTER,
    SPACE,
    TAB,
    UNDO,
    UP,
    Editor,
)

_CONTROL = {
    "\r": ENTER, "\n": ENTER, " ": SPACE, "　": SPACE, "\x7f": BACKSPACE, "\x08": BACKSPACE, "\t": TAB,
    "\x03": QUIT, "\x04": QUIT, "\x1a": UNDO, "\x12": RECONVERT, "\x1b": ESCAPE,
}  # fmt: skip
_ARROWS = (UP, DOWN, RIGHT, LEFT)
_SEQUENCES = {
    **{f"\x1b{kind}{arrow}": key for kind in "[O" for arrow, key in zip("ABCD", _ARROWS, strict=True)},
    **{f"\x1b[{number}~": key for number, key in zip((17, 18, 19, 20, 21), FORMS, strict=True)},
    "\x1b[1;2C": LONGER, "\x1b[1;2D": SHORTER, "\x1b[5~": PAGE_UP, "\x1b[6~": PAGE_DOWN,
}  # fmt: skip
_WHOLE = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|O.)")
_PART = re.compile(r"\x1b(\[[0-?]*[ -/]*|O)?$")
_STYLE = re.compile(r"\x1b\[\d*m")
ESCAPE_WAIT = 0.05
IDLE = "space converts, tab predicts, F6 to F10 write kana, katakana, Latin; Ctrl-Z takes back, Ctrl-D ends"
CHOOSING = (
    "arrows: phrase and candidate, shift: resize, 1-9 choose, esc: back to kana, enter or a letter commits"
)


def keys(read: Callable[[float | None], bytes]) -> Iterator[str]:
    """Decode keys from bytes; ``read(wait)`` returns none after ``wait`` seconds or at the end.

    Escape sequences of other keys give nothing.

    Examples
    --------
    >>> pieces = iter([b"a", b"\\x1b[", b"C", b"\\xe3\\x81", b"\\x82", b"\\x1b[18~\\x1b[99~", b""])
    >>> list(keys(lambda wait: next(pieces)))
    ['a', 'right', 'あ', 'f7']
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    waiting = ""
    while True:
        chunk = read(None)
        if not chunk:
            return
        waiting += decoder.decode(chunk)
        while waiting:
            while _PART.fullmatch(waiting):
                more = read(ESCAPE_WAIT)
                if not more:
                    break
                waiting += decoder.decode(more)
            if sequence := _WHOLE.match(waiting):
                waiting = waiting[sequence.end() :]
                if sequence[0] in _SEQUENCES:
                    yield _SEQUENCES[sequence[0]]
                continue
            first, waiting = waiting[0], waiting[1:]
            if first in _CONTROL:
                yield _CONTROL[first]
            elif first.isprintable():
                yield first


def draw(editor: Editor, columns: int = 80) -> str:
    """Draw the line with the current phrase in reverse video, candidates or a message, and help.

    The cursor ends where it began, whatever lines the terminal wrapped.
    """
    if not editor.segments:
        lines = [f"> \x1b[4m{editor.reading}\x1b[0m", editor.message, IDLE]
    else:
        marked = [f"\x1b[{7 if k == editor.at else 4}m{text}\x1b[0m" for k, text in enumerate(editor.texts)]
        ways, choice = editor.page
        shown = [f"[{k} {way}]" if k - 1 == choice else f"{k} {way}" for k, way in enumerate(ways, 1)]
        view = editor.view()
        pages = f"  ({view['page'] + 1}/{view['pages']})" if view["pages"] > 1 else ""
        lines = [
            "> " + "|".join(marked),
            f"{editor.segments[editor.at].reading}: {' '.join(shown)}{pages}",
            CHOOSING,
        ]
    up = sum(rows_of(line, columns) for line in lines) - 1
    dim = [lines[0], *(f"\x1b[2m{line}\x1b[0m" for line in lines[1:])]
    return "\r\x1b[J" + "\r\n".join(dim) + f"\x1b[{up}A\r"


def rows_of(line: str, columns: int) -> int:
    """Rows that a terminal needs for a line.

    Examples
    --------
    >>> rows_of("> \\x1b[4mああ\\x1b[0m", 6), rows_of("ああああ", 5), rows_of("", 5)
    (1, 2, 1)
    """
    rows, at = 1, 0
    for char in _STYLE.sub("", line):
        width = 0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        if at + width > columns:
            rows, at = rows + 1, 0
        at += width
    return rows


def run(editor: Editor, learnt: Callable[[], None]) -> None:
    """Edit lines until Ctrl-D or Ctrl-C; calls ``learnt`` after each line, to store corrections."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InputError("typing needs a terminal; convert text from a pipe with: epigram ime convert MODEL")
    import select
    import termios
    import tty

    source = sys.stdin.fileno()
    before = termios.tcgetattr(source)

    def read(wait: float | None) -> bytes:
        ready, _, _ = select.select([source], [], [], wait)
        return os.read(source, 1024) if ready else b""

    def show(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    def show_line() -> None:
        # Of the terminal itself: the variable COLUMNS may be that of another one.
        show(draw(editor, os.get_terminal_size(sys.stdout.fileno()).columns))

    def press(key: str) -> None:
        text = editor.press(key)
        if text is not None:
            show(f"\r\x1b[J{text}\r\n")
        if text is not None or key == UNDO:
            learnt()

    try:
        tty.setraw(source)
        show_line()
        for key in keys(read):
            press(ENTER if key == QUIT else key)
            if key == QUIT:
                break
            show_line()
    finally:
        termios.tcsetattr(source, termios.TCSADRAIN, before)
        show("\r\x1b[J")
