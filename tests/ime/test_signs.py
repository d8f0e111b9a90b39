"""Signs and abbreviations by their reading: offered, written in sentences, and never in the way of words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference.ime_special as reference
from epigram import KanaKanjiConverter
from epigram.ime.kana import is_hiragana
from epigram.ime.numbers import NumberForms, ways_to_write
from epigram.ime.signs import LETTERS, SIGNS, signs_of, special_edges, special_texts

TEXT = ["矢印/やじるし を 見る/みる", "括弧/かっこ を 見る/みる", "愛/あい を 得る/える"]


@pytest.fixture(scope="module")
def converter() -> KanaKanjiConverter:
    return KanaKanjiConverter.build(TEXT * 3)


def test_the_table_holds_each_sign_once_and_readings_in_kana():
    for reading, signs in SIGNS.items():
        assert is_hiragana(reading), reading
        assert len(set(signs)) == len(signs), reading
    assert sorted(set(LETTERS.values())) == [chr(ord("A") + k) for k in range(26)]


def test_signs_are_offered_behind_the_words_of_their_reading(converter):
    texts = [way.text for way in converter.nbest("やじるし", 5)]
    assert texts[0] == "矢印"
    assert "→" in texts
    offered = converter.segments("かっこ")[0].alternatives
    assert offered[0] == "括弧"
    assert {"（", "）"} <= set(offered)
    assert offered[-2:] == ["かっこ", "カッコ"]


def test_edges_are_those_that_a_search_for_every_piece_finds():
    reading = "まるかっことえーぴーあいをみるやじるし"
    pieces = {reading[i:j] for i in range(len(reading)) for j in range(i + 1, len(reading) + 1)}
    wanted = {(piece, sign) for piece in pieces for sign in SIGNS.get(piece, "")}
    found = {
        (reading[edge.start : edge.end], edge.text) for edge in special_edges(special_texts(None), reading)
    }
    assert wanted == {pair for pair in found if len(pair[1]) == 1}
    assert {text for _, text in found if len(text) > 1} == {"AP", "API", "PI"}


@pytest.mark.parametrize(
    ("reading", "text"),
    [("えーぴーあい", "API"), ("しーでぃーをみる", "CDを見る"), ("ゆーえすびー", "USB")],
)
def test_letters_that_are_spelled_out_are_abbreviations(converter, reading, text):
    assert converter.convert(reading) == text


def test_words_that_sound_like_letters_stay_words(converter):
    assert converter.convert("あいをえる") == "愛を得る"
    assert signs_of("あいえる") == []
    assert signs_of("はし") == []


FORMS = NumberForms(logp=-4.5, classes={"digits": 3, "kanji": 2})
TEXTS = special_texts(FORMS)
PIECES = [*reference.ONES, *reference.UNITS, *reference.LARGE, *SIGNS, *LETTERS, "さんぼん", "を", "a", "😀"]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_edges_are_those_of_the_reference(reading):
    found, expected = special_edges(TEXTS, reading), reference.special_edges(reading, FORMS)
    assert [edge[:3] + edge[4:] for edge in found] == [edge[:3] + edge[4:] for edge in expected]
    assert all(abs(one.logp - other.logp) < 1e-12 for one, other in zip(found, expected, strict=True))


def test_the_longest_number_is_read_whole():
    group = "きゅうせんきゅうひゃくきゅうじゅうきゅう"
    reading = f"{group}ちょう{group}おく{group}まん{group}"
    texts = {edge.text for edge in special_edges(TEXTS, reading) if edge.end == len(reading)}
    assert set(reference.ways_to_write(10**16 - 1).values()) <= texts


@given(st.integers(1, 10**16 - 1))
def test_numbers_are_written_as_in_the_reference(value):
    assert ways_to_write(value) == reference.ways_to_write(value)
