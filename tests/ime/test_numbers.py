"""Numbers by their reading, the text before the caret, and that the search stays exact with both."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from epigram import KanaKanjiConverter
from epigram.ime.decoder import Decoder, Word
from epigram.ime.numbers import NumberForms, form_of, read_numbers, ways_to_write

TEXT = [
    "12/じゅうに 月/がつ 15/じゅうご 日/にち",
    "二十/にじゅう 本/ほん の 木/き",
    "荷/に 重/じゅう の 気/き",
] * 6


@pytest.fixture(scope="module")
def converter() -> KanaKanjiConverter:
    return KanaKanjiConverter.build(TEXT)


@pytest.mark.parametrize(
    ("reading", "value"),
    [
        ("じゅう", 10), ("じゅっ", 10), ("にじゅうさん", 23), ("ひゃく", 100), ("さんびゃく", 300),
        ("ろっぴゃくはち", 608), ("せんきゅうひゃくはちじゅうよ", 1984), ("はっせん", 8000), ("いちまんにせん", 12_000),
        ("さんおくごせんまん", 350_000_000), ("いっちょう", 10**12),
    ],
)  # fmt: skip
def test_readings_of_numbers(reading, value):
    assert [number.value for number in read_numbers(reading, 0) if number.end == len(reading)] == [value]


@pytest.mark.parametrize("reading", ["に", "ごご", "まん", "ひゃくひゃく", "じゅうせん", "おくまん"])
def test_what_is_no_number_of_ten_and_more_is_none(reading):
    assert all(number.end < len(reading) for number in read_numbers(reading, 0))


def test_every_form_of_a_number_is_found_again():
    for reading, value in (("にせんにじゅうろく", 2026), ("いちまんにせん", 12_000), ("じゅうご", 15)):
        for form, text in ways_to_write(value).items():
            assert form_of(text, reading) == form
    assert ways_to_write(350_000_000)["mixed"] == "3億5000万"
    assert form_of("本", "ほん") is None


def test_numbers_the_text_never_has_are_written_in_its_forms(converter):
    assert converter.convert("さんじゅうなながつ") == "37月"
    texts = [way.text for way in converter.nbest("さんじゅうななほん", 6)]
    assert {"37本", "三十七本"} <= set(texts)


def test_forms_survive_the_file(converter, tmp_path):
    converter.save(tmp_path / "a.epigram")
    loaded = KanaKanjiConverter.load(tmp_path / "a.epigram")
    assert loaded.decoder.numbers == converter.decoder.numbers != NumberForms()
    assert loaded.best("さんじゅうななほん") == converter.best("さんじゅうななほん")


def every_way(decoder: Decoder, reading: str, start: int = 0) -> Iterator[tuple[Word, ...]]:
    """All ways to write a reading by the edges of its lattice."""
    if start == len(reading):
        yield ()
        return
    edges = decoder.edges(reading)
    heads = [
        Word(start, int(edges.end[e]), decoder.lexicon.surface(word), word)
        for e in range(int(edges.ptr[start]), int(edges.ptr[start + 1]))
        for word in range(int(edges.low[e]), int(edges.high[e]))
    ]
    heads += [
        Word(start, int(edges.special_end[e]), decoder.special_text(reading, start, e, edges), -1)
        for e in range(int(edges.special_ptr[start]), int(edges.special_ptr[start + 1]))
    ]
    for head in heads:
        for rest in every_way(decoder, reading, head.end):
            yield (head, *rest)


@pytest.mark.parametrize("before", ["", "12月", "荷重の気。二十本"])
@pytest.mark.parametrize("reading", ["じゅうに", "にじゅう"])
def test_the_search_is_exact_with_numbers_and_the_text_before(converter, before, reading):
    decoder = converter.decoder.following(before) if before else converter.decoder
    best: dict[str, float] = {}
    for words in every_way(decoder, reading):
        text = "".join(word.surface for word in words)
        best[text] = max(best.get(text, -1e9), decoder.score(reading, words))
    expected = sorted(best.values(), reverse=True)[:8]
    found = decoder.k_best(reading, 8)
    assert [way.score for way in found] == pytest.approx(expected, abs=1e-3)
    assert decoder.best(reading).score == pytest.approx(expected[0], abs=1e-3)


def test_the_text_before_chooses_among_homophones():
    converter = KanaKanjiConverter.build(
        [
            "石/いし の 橋/はし",
            "木/き の 箸/はし",
            "木/き の 箸/はし",
            "橋/はし が",
            "箸/はし が",
            "箸/はし が",
        ]
    )
    assert converter.convert("はし", before="石の") == "橋"
    assert converter.convert("はし", before="木の") == "箸"
    assert converter.nbest("はし", 1, before="石の")[0].text == "橋"
    assert converter.segments("はし", before="石の")[0].surface == "橋"
    assert converter.convert("はしが") == "箸が"
    assert converter.convert("はしが", before="石の橋。") == "橋が"  # written before, written again
    assert converter.convert("はし", before="読めない漢字の") in ("箸", "橋")
    converter.learn("はし", "端", before="石の")
    assert converter.journal.lessons[-1].before == "石の"
    assert converter.convert("はし", before="石の") == "端"


def test_two_numbers_side_by_side_never_write_another() -> None:
    """30 and 2億 are no 302億; typed digits and a nought that is read alone may stand side by side."""
    words = ["30/さんじゅう", "2億/におく", "2/に", "0/ぜろ", "9/きゅう", "3/さん"]
    text = (
        ["2億/におく 円/えん"] * 9
        + ["30/さんじゅう 円/えん"] * 9
        + ["0/ぜろ 9/きゅう 0/ぜろ"] * 9
        + ["3/さん", "2/に"] * 9
    )
    for rescore in (False, True):
        converter = KanaKanjiConverter.build(text, words, rescore=rescore)
        for reading, wrong in (
            ("さんじゅうにおくえん", "302億"),
            ("さんじゅうにおくえん", "30二"),
            ("さんにえん", "32円"),
        ):
            assert wrong not in converter.convert(reading)
            assert wrong not in converter.convert_many([reading])[0]
            assert not [way.text for way in converter.nbest(reading, 20) if wrong in way.text]
        assert converter.convert("ぜろきゅうぜろ") == "090"
        assert converter.convert("39.8えん") == "39.8円"
