"""Dates over month and year ends, numbers, the emoji table, and variants."""

from __future__ import annotations

import unicodedata
from datetime import datetime

import pytest

from epigram.ime.corrections import Lesson
from epigram.ime.kana import is_hiragana
from epigram.ime.segmentation import Segment
from epigram.ime.typing.candidates import arrange, chosen_last, emoji, is_fleeting, is_variant, times

NEW_YEAR = datetime(2027, 1, 1, 0, 7)


@pytest.mark.parametrize(
    ("reading", "text"),
    [
        ("きのう", "2026年12月31日"), ("おととい", "12月30日"), ("らいしゅう", "金曜日"), ("きょねん", "令和8年"),
        ("せんげつ", "2026年12月"), ("らいげつ", "2月"), ("いま", "0:07"),
    ],
)  # fmt: skip
def test_times_cross_the_ends_of_months_and_years(reading: str, text: str) -> None:
    assert text in times(reading, NEW_YEAR)
    assert is_fleeting(reading, text, NEW_YEAR)


def test_every_emoji_is_a_sign_with_a_kana_reading() -> None:
    for reading, signs in emoji().items():
        assert is_hiragana(reading), reading
        assert len(set(signs)) == len(signs)
        for sign in signs if reading != "かおもじ" else ():
            assert unicodedata.category(sign[0]) in ("So", "Sm", "Po"), (reading, sign)


def test_last_choices_then_variants_come_first() -> None:
    segment = Segment("とりくみ", "取り組み", ["取り組み", "鳥組み", "取組", "とりくみ"])
    assert arrange(segment, [], NEW_YEAR).alternatives == ["取り組み", "取組", "鳥組み", "とりくみ"]
    lessons = [Lesson("とりくみ", "とりくみ"), Lesson("とりくみ", "鳥組み"), Lesson("ほか", "他")]
    assert list(chosen_last("とりくみ", lessons)) == ["鳥組み", "とりくみ"]
    assert arrange(segment, lessons, NEW_YEAR).alternatives == ["取り組み", "鳥組み", "とりくみ", "取組"]


def test_kana_and_other_kanji_are_no_variants() -> None:
    assert not is_variant("子供", "こども")
    assert not is_variant("暑い", "熱い")
    assert not is_variant("箸で", "箸デ")
