"""Keys of terminals, also torn ones, drawing at any width, and a recorded session in tmux."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from epigram import KanaKanjiConverter
from epigram.ime.typing.editor import BACKSPACE, DOWN, ENTER, ESCAPE, LONGER, PAGE_DOWN, SPACE, UP, Editor
from epigram.ime.typing.terminal import draw, keys, rows_of


def test_keys_survive_torn_bytes():
    stream = "aあ\x1b[A\x1bOB\x1b[18~\x1b[1;2C\x1b[6~\x1b[24;5~\x7f\r　\x1b".encode()
    pieces = [stream[k : k + 1] for k in range(len(stream))] + [b"", b""]
    turn = iter(pieces)
    expected = ["a", "あ", UP, DOWN, "f7", LONGER, PAGE_DOWN, BACKSPACE, ENTER, SPACE, ESCAPE]
    assert list(keys(lambda wait: next(turn))) == expected


@pytest.mark.parametrize("columns", [20, 60, 100])
def test_the_cursor_goes_up_as_many_rows_as_were_drawn(columns: int) -> None:
    editor = Editor(KanaKanjiConverter.build(["橋/はし を 渡る/わたる", "箸/はし"]))
    for key in [*"hashiwowataru" * 5, SPACE]:
        editor.press(key)
    drawn = draw(editor, columns)
    body, _, up = drawn.removeprefix("\r\x1b[J").removesuffix("A\r").rpartition("\x1b[")
    assert int(up) == sum(rows_of(line, columns) for line in body.split("\r\n")) - 1
    assert "[1 " in drawn


LIMIT = 60
"""Seconds until a terminal that shows nothing new counts as stuck."""


class Screen:
    """A terminal of tmux in which a command runs."""

    def __init__(self, folder: Path, columns: int, *command: str) -> None:
        self.tmux = ["tmux", "-f", "/dev/null", "-S", str(folder / "tmux")]
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
        environment["COLUMNS"] = "17"  # of no terminal here
        size = ["-x", str(columns), "-y", "16"]
        started = ["new-session", "-d", *size, shlex.join(command)]
        subprocess.run([*self.tmux, *started], env=environment, check=True, timeout=LIMIT)

    def press(self, *keys: str) -> None:
        subprocess.run([*self.tmux, "send-keys", *keys], check=True, timeout=LIMIT)

    def lines(self) -> list[str]:
        shown = subprocess.run(
            [*self.tmux, "capture-pane", "-p"], capture_output=True, check=True, timeout=LIMIT
        )
        return [line.rstrip() for line in shown.stdout.decode().rstrip().split("\n")]

    def wait(self, *expected: str, then: str = "") -> None:
        """Wait until the screen begins with these lines, and goes on with ``then``."""
        end, before = time.monotonic() + LIMIT, [""]
        shown = "\n".join((*expected, then))
        while not ("\n".join(lines := self.lines()) + "\n").startswith(shown):
            if lines != before:
                end, before = time.monotonic() + LIMIT, lines
            assert time.monotonic() < end, lines
            time.sleep(0.1)

    def end(self) -> None:
        subprocess.run([*self.tmux, "kill-server"], check=False, timeout=LIMIT)


@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
@pytest.mark.parametrize("columns", [100, 30])
def test_a_recorded_session_in_tmux(tmp_path: Path, columns: int) -> None:
    text = ["橋/はし を 渡る/わたる", *["箸/はし を 持つ/もつ"] * 2, "有難う/ありがとう"]
    KanaKanjiConverter.build(text).save(tmp_path / "m.epigram")
    command = [sys.executable, "-m", "epigram", "ime", "type", str(tmp_path / "m.epigram")]
    screen = Screen(tmp_path, columns, *command)
    try:
        screen.wait(">")
        screen.press(*"hashiwomotsu")
        screen.wait("> はしをもつ")
        screen.press("Space")
        screen.wait("> 箸を|持つ", then="はしを: [1 箸を] 2 橋を")
        screen.press("Down")
        screen.wait("> 橋を|持つ")
        screen.press("S-Left")
        screen.wait("> 箸|を|持つ")
        screen.press("Escape")
        screen.wait("> はしをもつ")
        screen.press("Space", "Down", *"arigat")  # a letter commits and goes on
        screen.wait("橋を持つ", "> ありがt")
        screen.press("Tab")
        screen.wait("橋を持つ", "> 有難う")
        screen.press("Enter", *"hashi", "F7")
        screen.wait("橋を持つ", "有難う", "> ハシ")
        screen.press("Enter", *"Python", "Enter", "C-z")
        screen.wait("橋を持つ", "有難う", "ハシ", "Python", "> Python")
        screen.press("Enter", *"hashiwomotsu", "Space")
        screen.wait("橋を持つ", "有難う", "ハシ", "Python", "Python", "> 橋を|持つ")  # as corrected
        screen.press("Enter", "C-d")
    finally:
        screen.end()
    lessons = [json.loads(line) for line in (tmp_path / "m.corrections.jsonl").read_text().splitlines()]
    assert [lesson["chosen"] for lesson in lessons] == ["橋を持つ", "有難う"]
