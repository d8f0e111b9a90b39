"""Dictionaries of other input methods, words that win, predictions, and the editor's newer keys."""

from __future__ import annotations

import pytest

from epigram import KanaKanjiConverter
from epigram.errors import InputError
from epigram.ime.lexicon.dictionary_formats import read_dictionary
from epigram.ime.lexicon.wordlist import read_word_list
from epigram.ime.typing.editor import DOWN, ENTER, LONGER, SHORTER, SPACE, TAB, Editor
from epigram.ime.typing.terminal import keys
from in_process import epigram

ENTRIES = [("えぴぐらむ", "Epigram"), ("はし", "端"), ("きょうと", "京都")]
TABBED = "".join(f"{reading}\t{surface}\t名詞\n" for reading, surface in ENTRIES)
SKK = ";; okuri-ari entries.\nわるk /悪/\n;; okuri-nasi entries.\n" + "".join(
    f"{reading} /{surface};note/\n" for reading, surface in ENTRIES
)
FILES = {
    "mozc": TABBED.encode(),
    "google": ("# words\n" + TABBED).encode("utf-8-sig"),
    "ms-ime": ("!Microsoft IME Dictionary Tool\r\n" + TABBED.replace("\n", "\r\n")).encode("utf-16"),
    "ms-ime-sjis": ("!Microsoft IME Dictionary Tool 98\r\n" + TABBED).encode("cp932"),
    "atok": ("!!ATOK_TANGO_TEXT_HEADER_1\r\n" + TABBED).encode("utf-16-le", "strict"),
    "skk": SKK.encode("euc_jp"),
    "skk-utf8": SKK.encode(),
}
FILES["atok"] = b"\xff\xfe" + FILES["atok"]


@pytest.fixture
def converter() -> KanaKanjiConverter:
    return KanaKanjiConverter.build(
        ["この 橋/はし を 渡る/わたる", *["京都/きょうと の 橋/はし"] * 3, "今日/きょう は 行く/いく"]
    )


@pytest.mark.parametrize("name", FILES)
def test_every_format_gives_the_same_words(tmp_path, name):
    file = tmp_path / "words.txt"
    file.write_bytes(FILES[name])
    assert read_dictionary(file) == ENTRIES


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("きょうと\t京都\n京都\tきょうと\n", r"words.txt:2: the reading '京都' .* columns swapped"),
        ("きょうと\t京都\n奈良\n", r"words.txt:2: expected reading<TAB>surface"),
        ("きょうと\t\n", "words.txt:1: expected"),
        (";; okuri-nasi entries.\nきょうと\n", "words.txt:2: expected reading /surface/"),
        ("\n", "holds no words"),
    ],
)
def test_a_bad_line_is_named(tmp_path, content, message):
    file = tmp_path / "words.txt"
    file.write_text(content)
    with pytest.raises(InputError, match=message):
        read_dictionary(file)


def test_a_dictionary_of_mozc_is_no_word_list(tmp_path):
    file = tmp_path / "words.txt"
    file.write_text(TABBED)
    with pytest.raises(InputError, match=r"words.txt:2: the reading '端' .* columns swapped"):
        read_word_list(file)


def test_imported_words_win_survive_and_are_removed(converter, tmp_path):
    converter.add_words(ENTRIES)
    assert converter.convert("はしをわたる") == "端を渡る"
    assert converter.convert("えぴぐらむを") == "Epigramを"
    converter.save(tmp_path / "a.epigram")
    loaded = KanaKanjiConverter.load(tmp_path / "a.epigram")
    adapted = loaded.adapt([["新語/しんご", "を", "渡る/わたる"]] * 10)
    for other in (loaded, adapted, converter.copy()):
        assert other.user_dictionary == ENTRIES
        assert other.convert("えぴぐらむを") == "Epigramを"
    converter.remove_words([("はし", "端")])
    assert converter.convert("はしをわたる") == "橋を渡る"
    with pytest.raises(InputError, match="'端' read 'はし' is no word of the user's dictionary"):
        converter.remove_words([("はし", "端")])


def test_corrections_and_words_live_in_one_file(converter, tmp_path):
    from epigram.ime.corrections import Journal

    converter.add_words(ENTRIES)
    converter.learn("いく", "逝く")
    converter.journal.save(tmp_path / "user.jsonl")
    journal = Journal.load(converter.copy().decoder, tmp_path / "user.jsonl")
    assert list(journal.words) == ENTRIES
    assert journal.lessons == converter.journal.lessons


def test_the_command_takes_lists_and_removes_words(tmp_path):
    (tmp_path / "words.txt").write_bytes(FILES["skk"])
    user = tmp_path / "user.jsonl"

    def run(*words):
        return epigram("ime", "words", "--user", user, *words).stdout.decode()

    assert "3 words taken" in run(tmp_path / "words.txt")
    assert "1 removed, 2 in" in run("--remove", "端/はし")
    assert run() == "Epigram\tえぴぐらむ\n京都\tきょうと\n"


def test_predictions_of_words_history_and_mistakes(converter):
    assert [way.text for way in converter.predict("きょ")] == ["京都", "今日"]
    assert converter.predict("きょうとのは")[0].text == "京都の橋"
    assert converter.predict("ぎょうと")[0].text == "京都"
    converter.add_words([("きょうりゅう", "恐竜")])
    assert "恐竜" in [way.text for way in converter.predict("きょ")]
    assert converter.predict("きょうりゅ")[0].text == "恐竜"
    converter.learn("きょう", "京")
    assert converter.predict("きょ", k=2)[0].text == "京"
    assert converter.predict("") == []
    assert len(converter.predict("は", before="この", k=1)) == 1


def test_the_editor_resizes_predicts_and_remembers(converter):
    editor = Editor(converter)
    for key in [*"hashiwo", SPACE]:
        editor.press(key)
    assert [len(piece.reading) for piece in editor.segments] == [3]
    editor.press(SHORTER)
    assert [len(piece.reading) for piece in editor.segments] == [2, 1]
    editor.press(LONGER)
    assert [len(piece.reading) for piece in editor.segments] == [3]
    assert editor.press(ENTER) == editor.before == "橋を"
    for key in [*"kyo", TAB]:
        editor.press(key)
    first = editor.text
    editor.press(DOWN)
    assert {first, editor.press(ENTER)} == {"京都", "今日"}
    assert [lesson.phrases for lesson in converter.journal.lessons] == [[]]


def test_shifted_arrows_and_tab_of_a_terminal():
    pieces = iter([b"\x1b[1;2C", b"\x1b[1", b";2D", b"\t", b"\x1b[C", b""])
    assert list(keys(lambda wait: next(pieces))) == [LONGER, SHORTER, TAB, "right"]
