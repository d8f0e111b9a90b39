"""A converter from a dictionary alone: the search against all texts of a reading by their prices, and the command."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from sudachi_file import Given, write_sudachi

from epigram import KanaKanjiConverter
from epigram.ime.kana import split_token
from epigram.ime.lexicon.from_sudachi import CONNECTION, SCALE, STEP, Types, build_from_dictionary, prices
from epigram.ime.lexicon.sudachi import read_sudachi
from in_process import epigram

NOUN, NAME, VERB = "名詞-普通名詞-一般", "名詞-固有名詞-地名", "動詞-一般-五段-ラ行-終止形"
ENTRIES = [
    Given("橋", "ハシ", 1, 1, 4000, NOUN),
    Given("箸", "ハシ", 1, 1, 3900, NOUN),
    Given("ハシ", "ハシ", 1, 1, 4000, NOUN, normal=0),
    Given("端", "ハ", 1, 1, 5000, NOUN),
    Given("を", "ヲ", 2, 2, 3000, "助詞-格助詞"),
    Given("渡る", "ワタル", 3, 4, 4500, VERB),
    Given("亘", "ワタル", 1, 5, 4400, NAME),
    Given("亘", "ワタル", 5, 1, 4600, NOUN),
    Given("市", "シ", 5, 1, 4100, NAME),
    Given("使う", "ツカウ", 3, 4, 4500, VERB),
    Given("。", "キゴウ", 6, 6, 2000, "補助記号-句点"),
    *(
        Given(chr(0x4E00 + k), "ワタル", 5, 5, 11_000 + 50 * k, NAME) for k in range(8)
    ),  # too rare to be alone
]
READINGS = ("はしをわたる", "はし", "わたるしをわたる。", "はしはしをつかう")


@pytest.fixture(scope="module")
def dictionary(tmp_path_factory):
    costs = np.random.default_rng(5).integers(-2000, 2000, (7, 7))
    return read_sudachi(write_sudachi(tmp_path_factory.mktemp("sudachi") / "system.dic", ENTRIES, costs))


@pytest.fixture(scope="module")
def converter(dictionary):
    return KanaKanjiConverter(build_from_dictionary(dictionary).decoder)


def price_of(dictionary, tokens) -> float:
    """The price of a text by its definition: cheapest entries, and the least connection between each two words."""
    price = np.maximum(prices(dictionary), 0.0)
    mine = {"": [(0, 0, 0.0)]}
    for k, token in enumerate(dictionary.tokens):
        mine.setdefault(token, []).append((dictionary.left[k], dictionary.right[k], price[k]))
    least = {token: min(entry[2] for entry in entries) for token, entries in mine.items()}
    total = sum(least[token] for token in tokens)
    for v, w in pairwise(["", *tokens, ""]):
        total += min(
            CONNECTION * dictionary.connections[left, right] + rounded(p - least[w]) + rounded(q - least[v])
            for left, _, p in mine[w]
            for _, right, q in mine[v]
        )
    return total


def rounded(more: float) -> float:
    return STEP * np.rint(more / STEP)


def test_the_best_texts_are_those_of_the_least_price(dictionary, converter):
    """All ways to write each reading with words of the dictionary, by their prices; every type is a class."""
    tokens = [split_token(token) for token in dict.fromkeys(dictionary.tokens)]

    def ways(reading: str):
        if not reading:
            yield ()
        for surface, kana in tokens:
            if reading.startswith(kana):
                word = surface if surface == kana else f"{surface}/{kana}"
                yield from ((word, *rest) for rest in ways(reading[len(kana) :]))

    for reading in READINGS:
        cheapest: dict[str, float] = {}
        for way in ways(reading):
            text = "".join(split_token(word)[0] for word in way)
            cheapest[text] = min(cheapest.get(text, np.inf), price_of(dictionary, way) / SCALE)
        found = {}
        for way in converter.nbest(reading, 40):
            if all(word.id >= 0 for word in way.words):
                found[way.text] = -way.score
            else:  # kana may be cheaper as a word that no dictionary has
                cheapest.pop(way.text, None)
        assert len(found) > 1
        wanted = sorted(cheapest, key=lambda text: cheapest[text])[: len(found)]
        assert list(found.values()) == pytest.approx([cheapest[text] for text in wanted], abs=1e-3)
        assert list(found.values()) == pytest.approx([cheapest[text] for text in found], abs=1e-3)


def test_single_words_sum_to_one(converter):
    assert np.exp(converter.model.pair_logp).sum() == pytest.approx(1)


def test_types_beyond_the_most_take_the_nearest():
    """Types of one entry, ids 1 to 6: with three to choose, those with far connections are chosen, twins are not."""
    ids = np.arange(1, 7)
    costs = np.zeros((7, 7), np.float32)
    costs[[1, 2]], costs[[3, 4]] = 3000, -3000  # what 1 and 2 meet, and 3 and 4; 5 and 6 are as the edge is
    types = Types.of(ids, ids, ids, np.zeros(6), np.zeros(7))
    chosen, nearest = types.chosen(costs, 3)
    assert len(chosen) == 3
    assert chosen[0] == 0
    assert nearest[chosen].tolist() == [0, 1, 2]
    groups = [nearest[types.of_word[id]] for id in range(7)]
    assert groups[1] == groups[2] != groups[3] == groups[4]
    assert groups[5] == groups[6] == groups[0]
    every, own = types.chosen(np.random.default_rng(0).normal(size=(7, 7)).astype(np.float32), 100)
    assert sorted(every) == list(range(7))
    assert every[own].tolist() == list(range(7))


def test_such_a_converter_is_saved_adapted_and_taught(converter, tmp_path):
    for quantise in (False, True):
        converter.save(tmp_path / "c.epigram", quantise=quantise)
        again = KanaKanjiConverter.load(tmp_path / "c.epigram")
        assert [again.convert(reading) for reading in READINGS] == [converter.convert(r) for r in READINGS]
    adapted = converter.adapt([["端/はし", "を", "渡る/わたる"], ["端/はし", "だ"]] * 10)
    assert adapted.convert("はしをわたる") == "端を渡る"
    mine = converter.copy()
    mine.learn("はし", "端")
    assert mine.convert("はし") == "端"


def test_the_command_builds_from_the_dictionary_alone(monkeypatch, tmp_path):
    file = write_sudachi(tmp_path / "system.dic", ENTRIES, np.zeros((7, 7)))
    monkeypatch.setattr("epigram.ime.lexicon.sudachi.installed_dictionary", lambda: file)
    out = tmp_path / "ja.epigram"
    done = epigram("ime", "build", "--sudachi", "-o", out, "--json")
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["sentences"] == 0
    assert record["words"] == len({(e.surface, e.reading) for e in ENTRIES})
    assert epigram("ime", "convert", out, "はしを").stdout.decode() == "箸を\n"
    text = tmp_path / "text.txt"
    text.write_text("橋/はし を 渡る/わたる\n" * 3)
    done = epigram("ime", "build", text, "--sudachi", "-o", tmp_path / "both.epigram", "--json")
    assert json.loads(done.stdout)["words"] == record["words"]
    for wrong in ([], ["--sudachi", "--lexicon", text]):
        done = epigram("ime", "build", *wrong, "-o", out)
        assert done.returncode == 2
        assert b"no text to build from" in done.stderr
