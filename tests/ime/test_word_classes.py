"""Classes of words: backing off through parts of speech, words by cost, and the search over both."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epigram import KanaKanjiConverter
from epigram.ime.build import build
from epigram.ime.lexicon.wordlist import WordList
from epigram.ime.scorer import Scorer
from reference.ime import best_texts

KANA = "あいう"
WORDS = [f"{surface}/{reading}" for reading in ("あ", "い", "う", "あい", "いう") for surface in "木気機"]
PARTS = ["名詞", "動詞", "助詞"]
SENTENCES = st.lists(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join), min_size=1, max_size=8
)


def a_list(seed: int) -> WordList:
    """All words with random costs and parts of speech."""
    rng = np.random.default_rng(seed)
    return WordList(WORDS, 20_000 * rng.random(len(WORDS)), rng.choice(PARTS, size=len(WORDS)).tolist())


@settings(max_examples=30)
@given(SENTENCES, st.text(KANA, min_size=1, max_size=4), st.integers(0, 2**32 - 1))
def test_the_search_over_classes_equals_exhaustive_search(sentences, reading, seed):
    background = build(sentences, a_list(seed))
    decoder, classes = background.decoder, background.decoder.scorer.classes
    assert len(classes.names) > 2
    expected = best_texts(decoder, background.model, reading, classes)
    found = decoder.k_best(reading, 12)
    assert len(found) == min(12, len(expected))
    np.testing.assert_allclose(
        [way.score for way in found], [score for _, score in expected[: len(found)]], atol=3e-4
    )
    scores = dict(expected)
    assert all(abs(scores[way.text] - way.score) < 3e-4 for way in found)
    best = decoder.best(reading)
    assert best.score == pytest.approx(expected[0][1], abs=3e-4)
    assert decoder.score(reading, best.words) == pytest.approx(best.score, abs=3e-4)


@given(SENTENCES, st.integers(0, 2**32 - 1))
@settings(max_examples=15)
def test_probabilities_sum_to_one_after_every_context(sentences, seed):
    scorer = build(sentences, a_list(seed)).decoder.scorer
    for node in range(scorer.node_pair.size):
        total = sum(np.exp(scorer.step(node, word)[0]) for word in range(scorer.n_words))
        assert total == pytest.approx(1.0, abs=1e-4)


def test_a_model_without_its_classes_is_the_one_it_was_made_of():
    background = build(["木/あ 気/い 機/う", "気/い 木/あ 気/い"], a_list(0))
    scorer = background.decoder.scorer
    plain = scorer.backoff(background.decoder.lexicon.vocabulary())
    np.testing.assert_allclose(plain.pair_logp, background.model.pair_logp, atol=1e-3)
    again = Scorer.of(plain, scorer.classes)
    np.testing.assert_allclose(again.tables.pair_logp, scorer.tables.pair_logp, atol=1e-3)
    np.testing.assert_allclose(again.class_logp, scorer.class_logp, atol=1e-5)


TEXT = [f"{name}/{kana} さん が {verb}/{read}" for name, kana in (("佐藤", "さとう"), ("鈴木", "すずき"))
        for verb, read in (("来る", "くる"), ("行く", "いく"))]  # fmt: skip
LIST = WordList(
    [
        "佐藤/さとう",
        "鈴木/すずき",
        "さん",
        "が",
        "来る/くる",
        "行く/いく",
        "多名/たな",
        "棚/たな",
        "田な/たな",
    ],
    np.array([3000.0, 3000, 2000, 1000, 4000, 4000, 9000, 3000, 12000]),
    ["人名", "人名", "接尾", "助詞", "動詞", "動詞", "人名", "名詞", "名詞"],
)


def test_an_unseen_word_is_chosen_by_what_stands_beside_it():
    converter = KanaKanjiConverter.build(TEXT * 3, LIST)
    assert converter.convert("たなさん") == "多名さん"
    assert KanaKanjiConverter.build(TEXT * 3, LIST.tokens).convert("たなさん") != "多名さん"


def test_classes_survive_the_file_and_adaptation(tmp_path):
    converter = KanaKanjiConverter.build(TEXT * 3, LIST)
    converter.save(tmp_path / "a.epigram")
    loaded = KanaKanjiConverter.load(tmp_path / "a.epigram")
    assert loaded.decoder.scorer.class_names == converter.decoder.scorer.class_names
    assert loaded.best("たなさんがくる") == converter.best("たなさんがくる")
    adapted = loaded.adapt([["新語/しんご", "が", "来る/くる"]] * 10)
    assert adapted.convert("しんごがくる") == "新語が来る"
    assert adapted.convert("たなさん") == "多名さん"


def test_a_decoder_of_classes_that_do_not_fit_is_refused():
    scorer = build(TEXT, LIST).decoder.scorer
    assert scorer.fits
    assert not replace(scorer, word_class=np.full(scorer.n_words, 200, np.uint16)).fits
    assert not replace(scorer, class_names=scorer.class_names[1:]).fits
