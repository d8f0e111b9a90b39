"""Requests to an editor without a socket: the words of another process, forgetting, views after text."""

from __future__ import annotations

from pathlib import Path

import pytest

from epigram import KanaKanjiConverter
from epigram.errors import InputError
from epigram.ime.typing.session import EditorSession, EditorState
from epigram.ime.user.settings import UserSettings

TEXT = ["橋/はし を 渡る/わたる", "箸/はし", "箸/はし", "石/いし の 橋/はし"]


def press(session: EditorSession, *keys: str) -> str:
    return "".join(session.answer({"key": key})["commit"] or "" for key in keys)


def test_corrections_are_stored_after_each_one_and_forgotten(tmp_path: Path) -> None:
    state = EditorState(KanaKanjiConverter.build(TEXT), tmp_path / "journal", tmp_path / "settings")
    session = EditorSession(state)
    assert press(session, *"hashi", "space", "down", "enter") == "橋"
    again = KanaKanjiConverter.build(TEXT)
    again.open_journal(tmp_path / "journal")
    assert again.convert("はし") == "橋"
    assert session.answer({"lessons": True}) == {"lessons": [["はし", "橋"]]}
    with pytest.raises(InputError, match="0 to 0, not 1"):
        session.answer({"forget": 1})
    session.answer({"forget": 0})
    assert (tmp_path / "journal").read_bytes() == b""


def test_settings_of_one_session_hold_in_the_next(tmp_path: Path) -> None:
    converter = KanaKanjiConverter.build(TEXT)
    one = EditorSession(EditorState(converter, None, tmp_path / "settings"))
    shown = one.answer({"set": {"layout": "kana"}, "key": "f"})
    assert (shown["preedit"], shown["reading"], shown["settings"]["layout"]) == (["は"], "は", "kana")
    two = EditorSession(EditorState(converter, None, tmp_path / "settings"))
    assert two.answer({"key": "d"})["preedit"] == ["し"]
    assert UserSettings.load(tmp_path / "settings").layout == "kana"


def test_the_text_before_the_caret_is_the_context_of_a_key() -> None:
    session = EditorSession(EditorState(KanaKanjiConverter.build(TEXT), None, None))
    session.answer({"before": "石の", "key": "h"})
    assert press(session, *"ashi", "space", "enter") == "橋"
