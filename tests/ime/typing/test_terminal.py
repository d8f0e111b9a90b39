"""Keys of terminals, also torn ones, and drawing at any width."""

from __future__ import annotations

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
