"""SudachiDict: files of its format are read as SudachiPy reads them, and a converter is built from one without text."""

from __future__ import annotations

import numpy as np
import pytest
from sudachi_file import Given, write_sudachi

from epigram.errors import InputError
from epigram.ime.lexicon.sudachi import installed_dictionary, read_sudachi

LONG = "とても長い名前の会社の人事部の部長の椅子の脚"
ENTRIES = [
    Given("橋", "ハシ", 1, 1, 4000, "名詞-普通名詞-一般"),
    Given("箸", "ハシ", 1, 1, 5000, "名詞-普通名詞-一般"),
    Given("ハシ", "ハシ", 1, 1, 4000, "名詞-普通名詞-一般", normal=0),
    Given("を", "ヲ", 2, 2, 3000, "助詞-格助詞"),
    Given("渡る", "ワタル", 3, 3, 4500, "動詞-一般-五段-ラ行-終止形"),
    Given("私", "ワタクシ", 1, 1, 4000, "代名詞"),
    Given("。", "キゴウ", 4, 4, 1000, "補助記号-句点"),
    Given("API", "エーピーアイ", 1, 1, 1000, "名詞-普通名詞-一般"),
    Given("渡る", "ワタル", -1, -1, 0, "動詞-一般-五段-ラ行-連体形"),
    Given(LONG, "ナガイ" * 11, 1, 1, 9000, "名詞-固有名詞-一般"),
    Given("で", "デ", 2, 2, 3000, "助詞-格助詞"),
    Given("で", "デ", 5, 5, 4000, "助動詞"),
]
CONNECTIONS = np.arange(36).reshape(6, 6) * 10


@pytest.fixture
def file(tmp_path):
    return write_sudachi(tmp_path / "system.dic", ENTRIES, CONNECTIONS)


def test_words_that_can_be_typed_are_read_with_all_that_is_said_of_them(file):
    found = read_sudachi(file)
    long = f"{LONG}/{'ながい' * 11}"
    typed = ["橋/はし", "箸/はし", "ハシ/はし", "を", "渡る/わたる", "私/わたし", "。", long, "で", "で"]
    assert found.tokens == typed
    kept = [
        entry for k, entry in enumerate(ENTRIES) if k not in (7, 8)
    ]  # API is not typed so; 8 has no left id
    assert found.parts == [entry.part for entry in kept]
    assert found.left.tolist() == [entry.left for entry in kept]
    assert found.right.tolist() == [entry.right for entry in kept]
    assert found.costs.tolist() == [entry.cost for entry in kept]
    assert found.normal[:3] == ["橋", "箸", "橋"]
    np.testing.assert_array_equal(found.connections, CONNECTIONS)
    words = found.words()
    assert list(words) == typed[:-1]
    assert words.costs[-1] == 3000
    assert words.parts[-1] == "助詞-格助詞"


@pytest.mark.parametrize("length", [1, 19, 20, 21, 22, 23, 26, 27, 34, 35, 50])
def test_strings_of_any_length(tmp_path, length):
    text = "".join(chr(0x4E00 + k) for k in range(length))
    entry = Given(text, "ア", 1, 1, 10, "名詞")
    found = read_sudachi(write_sudachi(tmp_path / "d.dic", [*ENTRIES[:3], entry], CONNECTIONS))
    assert found.tokens[-1] == f"{text}/あ"


def test_what_is_no_such_file_is_refused_with_a_way_out(tmp_path, file):
    with pytest.raises(InputError, match=r"no SudachiDict of format 1.*pip install"):
        read_sudachi(write_sudachi(tmp_path / "old.dic", ENTRIES, CONNECTIONS, version=0))
    raw = file.read_bytes()
    for wrong in (raw[:60], raw[:4200], raw[: len(raw) - 400], b""):
        (tmp_path / "cut.dic").write_bytes(wrong)
        with pytest.raises(InputError):
            read_sudachi(tmp_path / "cut.dic")
    with pytest.raises(InputError, match=r"^[^:]*ids\.dic: corrupt SudachiDict: a word has an id without"):
        read_sudachi(write_sudachi(tmp_path / "ids.dic", ENTRIES, CONNECTIONS[:4, :4]))


def test_damaged_files_are_read_or_refused(file, tmp_path):
    rng, raw = np.random.default_rng(3), np.frombuffer(file.read_bytes(), np.uint8)
    used = np.flatnonzero(raw)
    refused = 0
    for _ in range(400):
        wrong = raw.copy()
        wrong[rng.choice(used, 3)] = rng.choice([0, 1, 127, 128, 255, int(rng.integers(256))], 3)
        (tmp_path / "wrong.dic").write_bytes(wrong.tobytes())
        try:
            read_sudachi(tmp_path / "wrong.dic")
        except InputError:
            refused += 1
    assert 50 < refused < 400


def test_without_the_dictionary_one_sentence_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr("epigram.ime.lexicon.sudachi.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install '\.\[japanese\]'"):
        installed_dictionary()


@pytest.mark.slow
def test_sudachipy_reads_the_installed_dictionary_alike():
    """All its words of some surfaces are found among ours, with their reading and part of speech."""
    sudachipy = pytest.importorskip("sudachipy", reason="the extra 'japanese' is not installed")
    ours = read_sudachi()
    known = dict.fromkeys(zip(ours.tokens, ours.parts, strict=True))
    for surface, reading in (
        ("京都", "きょうと"),
        ("渡る", "わたる"),
        ("食べれ", "たべれ"),
        ("ペン", "ぺん"),
    ):
        for morpheme in sudachipy.Dictionary().lookup(surface):
            part = "-".join(piece for piece in morpheme.part_of_speech() if piece != "*")
            assert (f"{surface}/{reading}", part) in known
