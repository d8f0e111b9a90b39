"""Words, readings, word lists with bad lines, words outside the lexicon."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from epigram._core import bindings
from epigram.errors import InputError
from epigram.ime.kana import from_romaji, join_token, romaji_table, split_token, to_hiragana, to_katakana
from epigram.ime.lexicon.lexicon import Lexicon
from epigram.ime.lexicon.unknown_words import CLASSES, UnknownWords, class_of, classify
from epigram.ime.lexicon.wordlist import read_word_list

READINGS = st.text("かきくけこー", min_size=1, max_size=4)
WORDS = st.sets(st.tuples(st.text("木気/機A", min_size=1, max_size=3), READINGS), max_size=30)


@given(WORDS)
def test_lexicon_finds_exactly_its_words(words):
    tokens = {join_token(surface, reading) for surface, reading in words}
    lexicon = Lexicon.of(tokens)
    assert set(lexicon.tokens()) == tokens
    assert [lexicon.token(k) for k in range(1, len(lexicon))] == list(lexicon.tokens())
    for token in tokens:
        surface, reading = split_token(token)
        assert lexicon.token(lexicon.find(surface, reading)) == token
    assert lexicon.find("無", "かか") == -1
    assert len(lexicon.words_of("")) == 0


@given(WORDS, READINGS)
def test_words_of_a_reading_are_one_range(words, reading):
    lexicon = Lexicon.of(join_token(*pair) for pair in words)
    expected = {pair[0] for pair in map(split_token, lexicon.tokens()) if pair[1] == reading}
    assert {lexicon.surface(k) for k in lexicon.words_of(reading)} == expected
    assert lexicon.word_length.tolist() == [len(lexicon.reading(k)) for k in range(len(lexicon))]


@given(st.sets(st.text("かきーA", min_size=1, max_size=5), max_size=40), st.text("かきくーA", max_size=12))
def test_words_that_start_at_a_position_are_those_of_its_beginnings(readings, text):
    lexicon = Lexicon.of(f"{surface}/{reading}" for reading in readings for surface in "木気")
    ptr, ends, lows, highs = lexicon.edges(np.frombuffer(text.encode("utf-32-le"), np.int32))
    for start in range(len(text)):
        edges = range(int(ptr[start]), int(ptr[start + 1]))
        found = [(int(ends[e]), [lexicon.token(k) for k in range(lows[e], highs[e])]) for e in edges]
        assert found == [
            (end, [join_token(surface, text[start:end]) for surface in "木気"])
            for end in range(start + 1, len(text) + 1)
            if text[start:end] in readings
        ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("京都\tきょうと\n奈良\n", r"words.tsv:2: expected surface<TAB>reading, found '奈良'"),
        ("京都\t\n", "words.tsv:1: the reading is empty"),
        ("\tきょうと\n", "words.tsv:1: the surface is empty"),
        ("京 都\tきょうと\n", "words.tsv:1: the surface '京 都' has a blank"),
        ("京都\t" + "き" * 65 + "\n", "words.tsv:1: the reading of '京都' has 65 characters"),
        ("\n\n", "holds no words"),
    ],
)
def test_bad_lines_of_a_word_list_are_named(tmp_path, content, message):
    file = tmp_path / "words.tsv"
    file.write_text(content)
    with pytest.raises(InputError, match=message):
        read_word_list(file)


def test_unsegmented_text_is_refused():
    with pytest.raises(InputError, match="expected tokens surface/reading between blanks"):
        Lexicon.of(["これはくぎられていない" * 10])


def test_a_damaged_lexicon_is_refused():
    lexicon = Lexicon.of(["木/き"])
    with pytest.raises(InputError, match="do not fit together"):
        Lexicon(
            lexicon.surface_raw,
            np.array([9], np.uint32),
            lexicon.reading_chars,
            np.array([1], np.uint32),
            np.array([1], np.uint32),
        )


def test_spelling_of_unknown_words_sums_to_one_and_masses_are_good_turing():
    model = UnknownWords.estimate({"は": 6, "ペン": 1, "トリ": 1, "すし": 1, "木": 1})
    np.testing.assert_allclose(np.exp(model.hiragana).sum(axis=1), 1)
    np.testing.assert_allclose(np.exp(model.katakana).sum(axis=1), 1)
    assert np.exp(model.class_logp[CLASSES.index("katakana")]) == pytest.approx(2 * 2 / 10)
    assert model.log_probability("木", "き") < 0


def test_classes_of_words_and_characters():
    words = ["ペン", "すし", "2026", "abc", "木"]
    assert [class_of(word) for word in words] == ["katakana", "kana", "digits", "latin", "other"]
    assert classify(np.array([ord(c) for c in "あー1aZア木😀"], np.int32))[0].tolist() == [
        0,
        0,
        1,
        2,
        2,
        3,
        4,
        4,
    ]


@given(st.lists(st.sampled_from(sorted(romaji_table().items())), max_size=6))
def test_syllables_of_romaji_join(pairs):
    typed = "".join(latin for latin, _ in pairs)
    if not any(latin[0] in "n'" or latin in ("nn", "xn") for latin, _ in pairs):
        assert from_romaji(typed) == "".join(kana for _, kana in pairs)


@given(st.text("あいゔーんゃアA1"))
def test_kana_there_and_back(text):
    assert to_hiragana(to_katakana(text)) == to_hiragana(text)


@given(st.lists(st.binary(max_size=6) | st.text(max_size=3).map(str.encode), max_size=6))
def test_bytes_are_texts_if_each_can_be_decoded(pieces):
    def is_text(piece):
        try:
            return piece.decode() is not None
        except UnicodeDecodeError:
            return False

    raw = np.frombuffer(b"".join(pieces), np.uint8)
    ptr = np.cumsum([0, *map(len, pieces)])
    assert bindings.ime_are_texts(ptr, raw) == all(map(is_text, pieces))


@pytest.mark.parametrize(
    "raw", [b"\xed\xa0\x80", b"\xe0\x9f\xbf", b"\xf4\x90\x80\x80", b"\xc1\xbf", b"\xf0\x8f\xbf\xbf"]
)
def test_halves_and_long_forms_are_no_text(raw):
    content = np.frombuffer(raw, np.uint8)
    assert not bindings.ime_are_texts(np.array([0, content.size]), content)
