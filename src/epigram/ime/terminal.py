"""Runs the line editor in a terminal."""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Callable, Iterator

from epigram.errors import InputError
from epigram.ime.editor import (
    BACKSPACE,
    DOWN,
    ENTER,
    ESCAPE,
    LEFT,
    LONGER,
    QUIT,
    RIGHT,
    SHORTER,
    SPACE,
    TAB,
    UNDO,
    UP,
    Editor,
)

_CONTROL = {
    "\r": ENTER, "\n": ENTER, " ": SPACE, "　": SPACE, "\x7f": BACKSPACE, "\x08": BACKSPACE,
    "\t": TAB, "\x03": QUIT, "\x04": QUIT, "\x1a": UNDO, "\x1b": ESCAPE,
}  # fmt: skip
_ARROWS = {"A": UP, "B": DOWN, "C": RIGHT, "D": LEFT}
_SHIFTED = {"\x1b[1;2C": LONGER, "\x1b[1;2D": SHORTER}
_UNFINISHED = {"\x1bO"} | {key[:n] for key in _SHIFTED for n in range(1, 6)}
ESCAPE_WAIT = 0.05


def keys(read: Callable[[float | None], bytes]) -> Iterator[str]:
    """Decode keys from bytes; ``read(wait)`` returns none after ``wait`` seconds or at the end.

    Examples
    --------
    >>> pieces = iter([b"a", b"\\x1b[", b"C", b"\\xe3\\x81", b"\\x82", b""])
    >>> list(keys(lambda wait: next(pieces)))
    ['a', 'right', 'あ']
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    waiting = ""
    while True:
        chunk = read(None)
        if not chunk:
            return
        waiting += decoder.decode(chunk)
        while waiting:
            while waiting in _UNFINISHED:
                more = read(ESCAPE_WAIT)
                if not more:
                    break
                waiting += decoder.decode(more)
            if waiting[:6] in _SHIFTED:
                yield _SHIFTED[waiting[:6]]
                waiting = waiting[6:]
                continue
            if waiting[0] == "\x1b" and len(waiting) >= 3 and waiting[1] in "[O":
                if waiting[2] in _ARROWS:
                    yield _ARROWS[waiting[2]]
                waiting = waiting[3:]
                continue
            first, waiting = waiting[0], waiting[1:]
            if first in _CONTROL:
                yield _CONTROL[first]
            elif first.isprintable():
                yield first


def draw(editor: Editor) -> str:
    """Draw the line with the current segment in reverse video, then candidates or a message."""
    if not editor.segments:
        line, below = f"\x1b[4m{editor.reading}\x1b[0m", editor.message
    else:
        pieces = []
        for k, (segment, choice) in enumerate(zip(editor.segments, editor.chosen, strict=True)):
            text = segment.alternatives[choice]
            pieces.append(f"\x1b[7m{text}\x1b[0m" if k == editor.at else f"\x1b[4m{text}\x1b[0m")
        line = "|".join(pieces)
        here, mark = editor.segments[editor.at], editor.chosen[editor.at]
        ways = [f"[{way}]" if k == mark else way for k, way in enumerate(here.alternatives)]
        below = f"{here.reading}: {' '.join(ways)}"
    return f"\r\x1b[J> {line}\n\r\x1b[2m{below}\x1b[0m\x1b[A\r"


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

    try:
        tty.setraw(source)
        show(
            "space converts, tab predicts, arrows choose (with shift: resize), enter commits, Ctrl-Z forgets the last "
            "correction, Ctrl-D ends\r\n"
        )
        show(draw(editor))
        for key in keys(read):
            if key == QUIT:
                break
            text = editor.press(key)
            if text is not None:
                show(f"\r\x1b[J{text}\r\n")
            if text is not None or key == UNDO:
                learnt()
            show(draw(editor))
    finally:
        termios.tcsetattr(source, termios.TCSADRAIN, before)
        show("\r\x1b[J")
