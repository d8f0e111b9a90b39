"""The kana layout against the printed keys of a Japanese keyboard."""

from __future__ import annotations

from epigram.ime.kana import HIRAGANA
from epigram.ime.typing.layouts import KEYS, from_kana_keys


def test_every_kana_can_be_typed() -> None:
    reached = {from_kana_keys(key + mark) for key in KEYS for mark in ("", "@", "[")}
    rare = set("ゎゐゑゕゖ")
    assert {chr(code) for code in HIRAGANA} - rare <= reached


def test_words_of_the_kana_layout() -> None:
    assert from_kana_keys("a(4#e") == "ちゅうぁい"
    assert from_kana_keys("k/a>") == "のめち。"
    assert from_kana_keys("漢字") == "漢字"
