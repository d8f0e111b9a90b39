"""The rescorer: scores by characters are those of the model, lists are resorted by both, the user's words stand."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np
import pytest

from epigram import KanaKanjiConverter
from epigram.errors import ModelFileError
from epigram.ime.rescoring import (
    CHARACTERS,
    DOUBT,
    DROPPED,
    ORDER,
    PAIRS,
    STRAY,
    WINDOW,
    Cooccurrence,
    Rescorer,
    by_character,
)
from epigram.ime.storage import to_model_file
from epigram.lm import KneserNeyLM
from epigram.lm.corpus import Corpus
from epigram.storage.file import loads
from reference.ime import pair_worth

TEXT = [
    "橋/はし を 渡る/わたる",
    "箸/はし を 使う/つかう",
    "箸/はし を 持つ/もつ",
    "箸/はし",
    "石橋/いしばし を 渡る/わたる",
    "木橋/きばし を 渡る/わたる",
    "石/いし の 箸/はし",
    "気/き を 使う/つかう",
]


@pytest.fixture(scope="module")
def converter() -> KanaKanjiConverter:
    return KanaKanjiConverter.build(TEXT, rescore=True)


@pytest.fixture(scope="module")
def with_pairs() -> KanaKanjiConverter:
    """Equally good by trigrams and characters: only the pair, four words apart, tells 火口 from 加工."""
    lines = [
        "火山/かざん で とても 大きな/おおきな 火口/かこう",
        "食品/しょくひん で とても 大きな/おおきな 加工/かこう",
    ]
    return KanaKanjiConverter.build(lines * 6, rescore=True)


def written(line: str) -> list[str]:
    """The characters that a line of tokens writes."""
    return list("".join(token.partition("/")[0] for token in line.split()))


def test_the_text_by_characters_is_what_it_writes():
    corpus = Corpus.of(["橋/はし を 橋/はし", "を", "石橋/いしばし"])
    surfaces = [word.partition("/")[0] if k else "" for k, word in enumerate(corpus.vocabulary.words)]
    text = by_character(corpus, surfaces)
    words = text.vocabulary.words
    ptr = text.sentence_ptr
    lines = [[words[id] for id in text.ids[ptr[k] : ptr[k + 1]]] for k in range(3)]
    assert lines == [["橋", "を", "橋"], ["を"], ["石", "橋"]]


def test_scores_are_those_of_a_model_of_characters(converter):
    """Word by word through the public interface of a model that is trained on the same characters."""
    plain = KneserNeyLM(order=ORDER, open_vocabulary=False).fit([written(line) for line in TEXT])

    def expected(text: str, before: str = "") -> float:
        state, total = plain.start(), 0.0
        for place, char in enumerate([*before, *text, "</s>"]):
            if char not in plain.vocabulary_:
                state, logp = plain.step(state, -1)[0], STRAY
            else:
                state, logp = plain.step(state, plain.vocabulary_.id(char))
            total += logp if place >= len(before) else 0.0
        return total

    look = converter.rescorer
    texts = ["橋を渡る", "箸", "石橋", "猫を持つ", "🙂"]
    np.testing.assert_allclose(look.scores(texts), [expected(text) for text in texts], atol=1e-9)
    np.testing.assert_allclose(
        look.after("箸。石橋を").scores(texts), [expected(text, "石橋を") for text in texts], atol=1e-9
    )


def test_lists_are_sorted_by_words_and_characters(converter):
    for reading in ("はしをわたる", "いしのはしをつかう", "きをもつ"):
        first = converter.decoder.k_best(reading, 20)
        words = [[word.surface for word in way.words] for way in first]
        both = [way.score for way in first] + converter.rescorer.gains(words)
        found = converter.nbest(reading, 20)
        np.testing.assert_allclose([way.score for way in found], sorted(both, reverse=True), atol=1e-9)
        assert {way.text for way in found} == {way.text for way in first}
        assert converter.convert(reading) == found[0].text == first[int(np.argmax(both))].text


def test_gains_are_those_of_characters_and_pairs_one_by_one(converter):
    """Characters by the model's own scores of a stream, pairs by lists of units; also after a text."""
    ways = [["橋", "を", "渡る", "\U0001f600"], [], ["箸", "で"], ["渡り", "、", "橋", "ペン"]]
    for before in ("", "木の橋。箸で橋を"):
        look = converter.rescorer.after(before)
        open_sentence = look.before.tolist()
        expected = []
        for surfaces in ways:
            ids = [converter.rescorer.model.vocabulary_.id(char) for char in "".join(surfaces)]
            logp = look.model.score_stream(np.array([*open_sentence, *ids, 0], np.int32))[
                len(open_sentence) :
            ]
            expected.append(CHARACTERS * np.where(np.isnan(logp), STRAY, logp).sum())
        np.testing.assert_allclose(look.gains(ways), expected + PAIRS * look.pairs.scores(ways))
        np.testing.assert_allclose(look.gains([ways[3]]), look.gains(ways)[3:])


def test_a_file_keeps_the_rescorer(converter, tmp_path):
    for quantise in (False, True):
        converter.save(tmp_path / "c.epigram", quantise=quantise)
        again = KanaKanjiConverter.load(tmp_path / "c.epigram")
        texts = ["橋を渡る", "石の箸", "猫"]
        wanted = converter.rescorer.scores(texts)
        np.testing.assert_allclose(again.rescorer.scores(texts), wanted, rtol=2e-3)
    assert KanaKanjiConverter.build(TEXT).rescorer is None


def test_words_of_the_user_stand_against_the_rescorer(converter):
    mine = converter.copy()
    other = next(way.text for way in mine.nbest("はしをわたる", 5)[1:])
    mine.learn("はしをわたる", other)
    assert mine.convert("はしをわたる") == other
    mine.undo()
    assert mine.convert("はしをわたる") == converter.convert("はしをわたる")
    mine.add_words([("えぴ", "氏氏氏氏")])
    own, usual = mine.rescorer.scores(["氏氏氏氏を渡る", "えぴを渡る"])
    assert CHARACTERS * (usual - own) > 10
    assert mine.convert("えぴをわたる") == "氏氏氏氏を渡る"


def test_a_longer_text_leaves_rare_n_grams_out(monkeypatch):
    corpus = Corpus.of(TEXT * 3)
    surfaces = ["", *(word.partition("/")[0] for word in corpus.vocabulary.words[1:])]
    everything = Rescorer.learn(corpus, surfaces).model.n_ngrams
    monkeypatch.setattr("epigram.ime.rescoring.CHARACTERS_PER_COUNT", (20, 20, 20, 20))
    assert Rescorer.learn(corpus, surfaces).model.n_ngrams < everything


def test_an_adapted_converter_mixes_characters_as_its_held_out_text_likes_best(converter, tmp_path):
    """Against the two models, asked apart: each character of what the domain has is their weighted sum."""
    domain = ["橋/はし を 作る/つくる", "端/はし を 切る/きる"] * 3
    held = ["橋/はし を 切る/きる", "箸/はし を 使う/つかう"]
    adapted = converter.adapt([line.split() for line in domain], [line.split() for line in held])
    both = [
        KneserNeyLM(order=ORDER, open_vocabulary=False).fit([written(line) for line in lines])
        for lines in (TEXT, domain)
    ]

    def apart(text: str) -> np.ndarray:
        """Probabilities of each character and the end, a row for each model; 0 where a model lacks it."""
        rows = []
        for model in both:
            ids = [model.vocabulary_.id(char) if char in model.vocabulary_ else -1 for char in text]
            rows.append(model.score_stream(np.array([*ids, 0], np.int32)))
        return np.exp(np.where(np.isnan(rows), -np.inf, rows))

    kept = np.concatenate([apart("".join(written(line))) for line in held], axis=1)
    shares = np.linspace(0, 1, 10_001)[1:-1]
    best = shares[np.argmax(np.log(np.outer(shares, kept[0]) + np.outer(1 - shares, kept[1])).sum(axis=1))]
    for text in ("橋を作る", "端を切る", "箸を使う"):
        wanted = np.log(best * apart(text)[0] + (1 - best) * apart(text)[1]).sum()
        assert adapted.rescorer.scores([text])[0] == pytest.approx(wanted, abs=1e-3)
    adapted.save(tmp_path / "adapted.epigram")
    again = KanaKanjiConverter.load(tmp_path / "adapted.epigram")
    assert again.convert("はしをつくる") == adapted.convert("はしをつくる") == "橋を作る"
    assert converter.adapt([line.split() for line in domain], method="boosting").rescorer is None


UNITS = ["火山", "火口", "加工", "食品", "見", "の", "大き", "カメラ", "猫"]


def units_of(surfaces: list[str]) -> list[str]:
    """Without the hiragana at the end, "" where nothing is left."""
    return [surface.rstrip("きのるた") for surface in surfaces]


def random_sentences(seed: int, n: int) -> list[list[str]]:
    """Words of UNITS with endings, some of them often together."""
    rng = np.random.default_rng(seed)
    words = [
        [unit, unit + "る", unit + "た"][k % 3] if unit != "の" else unit for k, unit in enumerate(UNITS * 3)
    ]
    return [[words[k] for k in rng.zipf(1.4, rng.integers(1, 25)) % len(words)] for _ in range(n)]


@pytest.mark.parametrize("seldom", [0, 1])
def test_pairs_are_worth_what_counting_them_one_by_one_says(seldom, monkeypatch):
    text = [*random_sentences(seldom, 30), ["火山", "犬"]]
    corpus = Corpus.of([" ".join(f"{word}/よみ" for word in line) for line in text])
    if seldom:
        monkeypatch.setattr("epigram.ime.rescoring.LONG", 100)
    pairs = Cooccurrence.learn(corpus, [word.partition("/")[0] for word in corpus.vocabulary.words])
    units = [units_of(line) for line in text]
    assert len(pairs.units) < len({unit for line in units for unit in line} - {""})  # one is too rare

    dropped = DROPPED * (int(pairs.counts.min()) - 1)

    @cache
    def worth(a: str, b: str) -> float:
        return pair_worth(units, a, b, WINDOW, DOUBT, 5, seldom, dropped)

    def wanted(line: list[str], before: list[str]) -> float:
        known = [unit for unit in units_of(line) if unit in pairs.units]
        whole = [*before, *known]
        return sum(
            worth(whole[a], whole[b])
            for a, b in combinations(range(len(whole)), 2)
            if b - a <= WINDOW and b >= len(before)
        )

    lists = [*random_sentences(9, 4), [], ["の"], ["火山"], ["見る", "見た"]]
    np.testing.assert_allclose(pairs.scores(lists), [wanted(line, []) for line in lists], atol=1e-9)
    after = pairs.after("猫、火山の火口を。食品")
    before = [unit for unit in ("猫", "火山", "火口", "食品") if unit in pairs.units]
    np.testing.assert_allclose(after.scores(lists), [wanted(line, before) for line in lists], atol=1e-9)
    assert pairs.scores([]).size == 0


def test_words_that_stand_together_choose_a_homophone(with_pairs):
    first = {"かざん": "火山", "しょくひん": "食品"}
    for reading, last in (("かざん", "火口"), ("しょくひん", "加工")):
        assert (
            with_pairs.convert(f"{reading}でとてもおおきなかこう") == f"{first[reading]}でとても大きな{last}"
        )
        assert with_pairs.convert("とてもおおきなかこう", before=f"{first[reading]}。").endswith(last)
    words = ["火山", "で", "とても", "大きな", "火口"]
    look = with_pairs.rescorer
    gain = CHARACTERS * look.scores(["".join(words)]) + PAIRS * look.pairs.scores([words])
    np.testing.assert_allclose(look.gains([words]), gain)


@pytest.mark.parametrize("quantise", [False, True])
def test_damaged_pairs_are_refused_and_files_without_them_read(quantise, with_pairs):
    whole = to_model_file(with_pairs, quantise=quantise)
    names = [name for name in whole.tensors if name.startswith("pairs.")]
    for name in names:
        file = to_model_file(with_pairs, quantise=quantise)
        file.tensors[name] = file.tensors[name][:-1]
        with pytest.raises(ModelFileError):
            loads(file.to_bytes())
    lists = [["火山", "の", "火口"], ["橋"], ["食品", "火口"]]
    wanted = with_pairs.rescorer.pairs.scores(lists)
    assert (wanted != 0).tolist() == [True, False, True]
    found = loads(whole.to_bytes()).rescorer.pairs.scores(lists)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=np.log(1.4) if quantise else 0)
    file = to_model_file(with_pairs, quantise=quantise)
    for name in names:
        del file.tensors[name]
    look = loads(file.to_bytes()).rescorer
    assert look.pairs.scores(lists).tolist() == [0.0, 0.0, 0.0]


def test_pairs_of_two_texts_are_those_of_both_together():
    one, two = random_sentences(1, 40), [*random_sentences(2, 20), ["犬", "猫"] * 5]
    texts = [
        Corpus.of([" ".join(f"{word}/よみ" for word in line) for line in text])
        for text in (one, two, one + two)
    ]
    surfaces = [[word.partition("/")[0] for word in text.vocabulary.words] for text in texts]
    first, _, whole = (Cooccurrence.learn(text, words) for text, words in zip(texts, surfaces, strict=True))
    both = first.with_text(texts[1], surfaces[1])
    assert set(both.units) == set(whole.units) > set(first.units)
    lists = random_sentences(3, 9)
    np.testing.assert_allclose(both.scores(lists), whole.scores(lists), atol=1e-9)
