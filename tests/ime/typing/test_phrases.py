"""Phrases end before content words, with and without parts of speech."""

from __future__ import annotations

import itertools

import numpy as np

from epigram.ime.build import build
from epigram.ime.decoder import Decoder
from epigram.ime.lexicon.wordlist import WordList
from epigram.ime.typing.phrases import part_of, phrase_ends

TEXT = ["お 寺/てら へ 行っ/いっ た", "10 月/がつ に これ を 見/み た"] * 3
PARTS = {
    "お": "接頭辞", "寺/てら": "名詞", "へ": "助詞", "行っ/いっ": "動詞", "た": "助動詞", "月/がつ": "接尾辞",
    "に": "助詞", "これ": "代名詞", "を": "助詞", "見/み": "動詞",
}  # fmt: skip


def phrases(decoder: Decoder, reading: str) -> list[str]:
    words = decoder.best(reading).words
    ends = [0, *phrase_ends(decoder, words)]
    return ["".join(word.surface for word in words[a:b]) for a, b in itertools.pairwise(ends)]


def test_without_parts_of_speech_hiragana_follows() -> None:
    decoder = build(TEXT).decoder
    assert phrases(decoder, "おてらへいった。") == ["お寺へ", "行った。"]
    assert phrases(decoder, "10がつにみた") == ["10月に", "見た"]
    assert phrase_ends(decoder, ()) == []


def test_parts_of_speech_tell_content_in_hiragana() -> None:
    words = WordList(list(PARTS), np.full(len(PARTS), 1000.0), list(PARTS.values()))
    decoder = build(TEXT * 100, words).decoder
    best = decoder.best("これをみた")
    assert part_of(decoder, best.words[1]).startswith("助詞")
    assert phrases(decoder, "10がつにこれをみた") == ["10月に", "これを", "見た"]
