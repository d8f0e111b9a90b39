"""The editor as a typist uses it: nothing typed is lost, phrases move, choices are learnt and taken back."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epigram import KanaKanjiConverter
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
    RECONVERT,
    RIGHT,
    SHORTER,
    SPACE,
    TAB,
    UNDO,
    UP,
    Editor,
)
from epigram.ime.user.settings import UserSettings

TEXT = [
    *["東京/とうきょう に 住ん/すん で いる", "橋/はし を 渡る/わたる"] * 2,
    *["箸/はし を 使う/つかう", "箸/はし を 持つ/もつ"] * 2,
    "今日/きょう は 雨/あめ です", "飴/あめ です", "有難う/ありがとう", "有り体/ありてい", "有田/ありた",
]  # fmt: skip
KEYS = [
    *"abehiknortuyA1.",
    SPACE,
    ENTER,
    BACKSPACE,
    ESCAPE,
    TAB,
    UP,
    DOWN,
    LEFT,
    RIGHT,
    LONGER,
    SHORTER,
    UNDO,
    *FORMS,
]


@pytest.fixture(scope="module")
def shared() -> KanaKanjiConverter:
    return KanaKanjiConverter.build(TEXT)


@pytest.fixture
def editor(shared: KanaKanjiConverter) -> Editor:
    return Editor(shared.copy())


def press(editor: Editor, *keys: str) -> list[str]:
    """Press keys; returns what was committed."""
    return [text for key in keys if (text := editor.press(key)) is not None]


def test_a_letter_while_candidates_show_commits_and_goes_on(editor: Editor) -> None:
    assert press(editor, *"kyouha", SPACE, *"ame", ENTER) == ["今日は", "あめ"]
    shown = press(editor, *"ame", SPACE) or editor.text
    assert press(editor, ".") == [shown]
    assert editor.text == "。"


@pytest.mark.parametrize(
    ("typed", "forms"),
    [
        ("gakkou", ["がっこう", "ガッコウ", "ｶﾞｯｺｳ", "ｇａｋｋｏｕ", "gakkou"]),
        ("Pen", ["Pen", "Pen", "Pen", "Ｐｅｎ", "Pen"]),
    ],
)
def test_function_keys_write_other_forms(editor: Editor, typed: str, forms: list[str]) -> None:
    for key, form in zip(FORMS, forms, strict=True):
        assert press(editor, *typed, key, ENTER) == [form]
    press(editor, *typed, "f7", "f10")
    assert editor.text == typed
    assert press(editor, FORMS[0]) == []
    assert not editor.converter.journal.lessons


def test_a_capital_switches_to_latin(editor: Editor) -> None:
    assert press(editor, *"Python", ENTER) == ["Python"]
    assert press(editor, *"korehaPython", ENTER) == ["これはPython"]
    press(editor, *"haPyth", BACKSPACE)
    assert editor.text == "はPyt"
    assert press(editor, SPACE, ENTER) == ["はPyt"]


def test_an_open_consonant_predicts_over_its_row(editor: Editor) -> None:
    press(editor, *"arigat", TAB)
    assert editor.texts == ["有難う"]
    press(editor, ESCAPE, ESCAPE, *"arit", TAB)
    assert {"有り体", "有田"} <= set(editor.segments[0].alternatives)
    assert not any(char.isascii() for text in editor.segments[0].alternatives for char in text)
    assert press(editor, ENTER)[0] in editor.before


def test_arrows_move_by_phrases_and_shift_resizes_them(editor: Editor) -> None:
    press(editor, *"toukyounisundeiru", SPACE)
    assert editor.texts == ["東京に", "住んでいる"]
    press(editor, RIGHT)
    assert editor.at == 1
    press(editor, RIGHT, SHORTER)
    assert editor.segments[0].reading == "とうきょう"
    press(editor, LONGER)
    assert editor.segments[0].reading == "とうきょうに"
    assert press(editor, ENTER) == ["東京に住んでいる"]


def test_digits_choose_candidates_of_the_page(editor: Editor) -> None:
    press(editor, *"hashi", SPACE)
    ways = editor.segments[0].alternatives
    press(editor, "2")
    assert editor.texts == [ways[1]]
    press(editor, "9")
    assert editor.texts == [ways[1]]
    editor.segments[0] = editor.segments[0]._replace(alternatives=[str(k) for k in range(20)])
    press(editor, PAGE_DOWN, "3")
    assert (editor.texts, editor.page, editor.view()["pages"]) == (
        ["11"],
        ([str(k) for k in range(9, 18)], 2),
        3,
    )


def test_undo_takes_back_an_abandoned_line_and_a_commit(editor: Editor) -> None:
    press(editor, *"hashi", ESCAPE, UNDO)
    assert editor.text == "はし"
    press(editor, SPACE, DOWN)
    chosen = editor.text
    assert press(editor, ENTER) == [chosen]
    assert editor.converter.convert("はし") == chosen
    press(editor, UNDO)
    assert (editor.erase, editor.before, editor.message) == (len(chosen), "", "forgot the last correction")
    assert editor.converter.convert("はし") == "箸" == editor.text
    press(editor, ESCAPE, ESCAPE, UNDO)
    assert editor.text == "はし"


def test_reconversion_keeps_what_was_learnt(editor: Editor) -> None:
    press(editor, *"hashi", SPACE, DOWN, ENTER, RECONVERT)
    assert (editor.text, editor.erase, len(editor.converter.journal.lessons)) == ("橋", 1, 1)


def test_the_last_choice_stands_first_among_candidates(editor: Editor) -> None:
    press(editor, *"hashiwowataru", SPACE)
    before = editor.segments[0].alternatives
    assert before[1] != "ハシ"
    editor.converter.learn("はし", "ハシ")
    press(editor, ESCAPE, SPACE, SHORTER)
    assert editor.segments[0].alternatives[1] == "ハシ"


def test_private_typing_and_forms_teach_nothing(editor: Editor) -> None:
    for private in (True, False):
        editor.private, editor.settings.private = private, not private
        press(editor, *"hashi", SPACE, DOWN, ENTER, *"ari", TAB, DOWN, ENTER)
        assert not editor.converter.journal.lessons


def test_dates_are_candidates(editor: Editor) -> None:
    press(editor, *"kyou", SPACE)
    today = date.today()
    assert f"{today.year}年{today.month}月{today.day}日" in editor.segments[0].alternatives


def test_punctuation_follows_the_setting(shared: KanaKanjiConverter) -> None:
    editor = Editor(shared.copy(), settings=UserSettings(punctuation="，．"))
    assert press(editor, *"ha,ha.", ENTER) == ["は，は．"]


def test_backspace_deletes_a_kana_or_an_open_letter(editor: Editor) -> None:
    for typed, left in (("kya", ""), ("aky", "あk"), ("kakk", "かk"), ("shin", "し"), ("onna", "おん")):
        press(editor, *typed, BACKSPACE)
        assert editor.text == left, typed
        press(editor, ESCAPE)


@settings(max_examples=60, deadline=None)
@given(keys=st.lists(st.sampled_from(KEYS), max_size=25))
def test_any_keys_lose_no_text(shared: KanaKanjiConverter, keys: list[str]) -> None:
    """What is committed is what was shown, and a character is never swallowed while candidates show."""
    editor, committed = Editor(shared.copy()), ""
    for key in keys:
        shown, showing = editor.text, bool(editor.segments)
        text = editor.press(key)
        if editor.erase:
            assert len(committed) >= editor.erase
            committed = committed[: len(committed) - editor.erase]
        if text is not None:
            assert key in (ENTER, SPACE) or showing
            assert text in (shown, "　") or not showing
            committed += text
        if len(key) == 1 and not (showing and key.isdigit()):
            assert editor.typed.endswith(key)
        assert editor.view()["preedit"] == (
            editor.texts if editor.segments else [editor.reading] * bool(editor.typed)
        )
    assert committed[-300:] == editor.before


def test_a_function_key_writes_one_phrase_of_several(editor: Editor) -> None:
    press(editor, *"toukyounisundeiru", SPACE, RIGHT, "f7")
    assert editor.texts == ["東京に", "スンデイル"]
    press(editor, "f10")
    assert editor.texts == ["東京に", "sundeiru"]
    press(editor, LEFT, "f9")
    assert editor.texts == ["ｔｏｕｋｙｏｕｎｉ", "sundeiru"]


def test_only_the_current_phrase_has_its_alternatives_searched(editor: Editor) -> None:
    press(editor, *"toukyounisundeiru", SPACE)
    assert [len(one.alternatives) > 1 for one in editor.segments] == [True, False]
    press(editor, RIGHT)
    assert [len(one.alternatives) > 1 for one in editor.segments] == [True, True]


def test_a_date_teaches_nothing(editor: Editor) -> None:
    press(editor, *"kyou", SPACE)
    today = f"{date.today():%Y/%m/%d}"
    while editor.texts != [today]:
        press(editor, DOWN)
    assert press(editor, ENTER) == [today]
    assert not editor.converter.journal.lessons


def test_typed_digits_keep_their_marks_and_have_other_forms(editor: Editor) -> None:
    assert press(editor, *"3.14.", ENTER) == ["3.14。"]
    press(editor, *"1500", SPACE)
    assert {"1,500", "千五百", "１５００"} <= set(editor.segments[0].alternatives)
    press(editor, ENTER)
    assert press(editor, *"2026-11-19", SPACE, ENTER) == ["2026-11-19"]


def test_emoji_are_candidates_of_their_reading(editor: Editor) -> None:
    press(editor, *"ame", SPACE)
    assert "☔" in editor.segments[0].alternatives[:9]


def test_an_accepted_prediction_stands_first_next_time(editor: Editor) -> None:
    press(editor, *"ari", TAB)
    last = editor.segments[0].alternatives[-1]
    while editor.texts != [last]:
        press(editor, DOWN)
    press(editor, ENTER, *"ari", TAB)
    assert editor.texts == [last]
    assert editor.converter.convert("はしをわたる") == "橋を渡る"
    press(editor, ENTER, *"ari", TAB, ENTER)
    assert len(editor.converter.journal.lessons) == 1


def test_kana_layout_and_full_width(shared: KanaKanjiConverter) -> None:
    editor = Editor(shared.copy(), settings=UserSettings(layout="kana", width="full"))
    assert press(editor, *"fd", SPACE, ENTER) == ["箸"]
    assert press(editor, *"t@Zb4Python", ENTER) == ["がっこうＰｙｔｈｏｎ"]
    assert press(Editor(shared.copy(), settings=UserSettings(width="half")), SPACE) == [" "]


def test_a_text_of_the_document_is_converted_again(editor: Editor) -> None:
    editor.reconvert("橋を渡る")
    assert (editor.reading, [one.reading for one in editor.segments]) == (
        "はしをわたる",
        ["はしを", "わたる"],
    )
    with pytest.raises(InputError, match="no reading known for '鬱'"):
        editor.reconvert("鬱")
    assert editor.text == "橋を渡る"
