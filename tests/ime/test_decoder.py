"""The decoder is exact: against all ways to write short readings, in Kneser-Ney and in arbitrary models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from epigram.errors import InputError
from epigram.ime.build import build
from epigram.ime.decoder import LONGEST_INPUT, Decoder
from epigram.ime.scorer import Scorer
from epigram.ime.user.words import UserWord
from reference.ime import best_texts, fits

KANA = "あいう"
TOKENS = st.builds(
    lambda surface, reading: f"{surface}/{reading}",
    st.sampled_from("木気機器期記基"),
    st.text(KANA, min_size=1, max_size=2),
)
SENTENCES = st.lists(st.lists(TOKENS, min_size=1, max_size=5).map(" ".join), min_size=1, max_size=8)


def close(found: list, expected: list[tuple[str, float]]) -> None:
    """The same scores in order, and every text with its own score (ties may stand in any order)."""
    want = expected[: len(found)]
    np.testing.assert_allclose([way.score for way in found], [score for _, score in want], atol=2e-4)
    scores = dict(expected)
    assert all(abs(scores[way.text] - way.score) < 2e-4 for way in found)
    assert len({way.text for way in found}) == len(found) == min(len(expected), len(found))


SCORER = build(["木/あ 気/い", "気/い 機/う 木/あ"]).decoder.scorer
NUMBERS = ("node_pair", "pair_ptr", "pair_word", "pair_next", "node_parent")


@example("pair_ptr", 1, 5)  # every number leads somewhere, but one word has a class and no pair
@given(st.sampled_from(NUMBERS), st.integers(0, 100), st.integers(-3, 30))
def test_a_model_whose_numbers_lead_nowhere_does_not_fit(name, place, value):
    array = (SCORER.node_pair if name == "node_pair" else getattr(SCORER.tables, name)).copy()
    array[place % array.size] = value
    if name == "node_pair":
        changed = replace(SCORER, node_pair=array)
    else:
        changed = replace(SCORER, tables=SCORER.tables._replace(**{name: array}))
    assert changed.fits == fits(changed)


def test_a_model_with_a_missing_number_or_a_wrong_start_does_not_fit():
    assert SCORER.fits
    for name in SCORER.tables._fields:
        short = SCORER.tables._replace(**{name: getattr(SCORER.tables, name)[:-1].copy()})
        assert not replace(SCORER, tables=short).fits
    assert not replace(SCORER, gain=SCORER.gain[:-1].copy()).fits
    assert not replace(SCORER, start=SCORER.node_pair.size).fits
    assert not replace(SCORER, start=-1).fits


@settings(max_examples=40)
@given(SENTENCES, st.lists(TOKENS, max_size=4), st.text(KANA, min_size=1, max_size=5))
def test_best_and_k_best_equal_exhaustive_search(sentences, words, reading):
    background = build(sentences, words)
    expected = best_texts(background.decoder, background.model, reading)
    close([background.decoder.best(reading)], expected)
    found = background.decoder.k_best(reading, 20)
    assert len(found) == min(20, len(expected))
    close(found, expected)


@settings(max_examples=40)
@given(SENTENCES, st.text(KANA, min_size=1, max_size=5), st.integers(0, 2**32 - 1))
def test_search_is_exact_where_stored_words_may_fall_below_backing_off(sentences, reading, seed):
    background = build(sentences)
    rng = np.random.default_rng(seed)
    model = background.model
    model.pair_logp[:] = -6 * rng.random(model.pair_logp.size)
    model.node_bow[1:] = -3 * rng.random(model.node_bow.size - 1)
    decoder = Decoder(background.decoder.lexicon, Scorer.of(model), background.decoder.unknown)
    expected = best_texts(decoder, model, reading)
    close(decoder.k_best(reading, 10), expected)
    close([decoder.best(reading)], expected)


def test_one_pass_is_redone_where_its_bound_is_not_reached():
    """Skipping a stored word to save a later back-off weight is no path of the model: such bests are searched again."""
    rng = np.random.default_rng(0)
    words = [
        f"{surface}/{reading}" for reading in ("あ", "い", "う", "あい", "いう") for surface in "木気機器期記"
    ]
    background = build([" ".join(rng.choice(words, size=8)) for _ in range(100)])
    model = background.model
    model.node_bow[1:] = -3 * rng.random(model.node_bow.size - 1)
    decoder = Decoder(background.decoder.lexicon, Scorer.of(model), background.decoder.unknown)
    readings = ["".join(rng.choice(list(KANA), size=12)) for _ in range(60)]
    exact = [decoder.k_best(reading, 2)[0].score for reading in readings]
    found = [decoder.best(reading) for reading in readings]
    np.testing.assert_allclose([way.score for way in found], exact, atol=1e-6)
    np.testing.assert_allclose([decoder.score(way.reading, way.words) for way in found], exact, atol=1e-4)


@settings(max_examples=25)
@given(SENTENCES, st.lists(st.text(KANA + "じゅうにー2a", max_size=8), max_size=5), st.integers(1, 5))
def test_readings_are_converted_together_as_alone(sentences, readings, k):
    decoder = build(sentences).decoder
    decoder.user_words.set([UserWord("あう", "会う", 1.0)], [])
    together = decoder.conversions(readings, decoder.ways(readings, k))
    alone = [way for reading in readings if reading for way in decoder.k_best(reading, k)]
    assert together == alone
    assert [way.text for way in together] == ["".join(word.surface for word in way.words) for way in together]
    assert all(way.words[-1].end == len(way.reading) for way in together)


@settings(max_examples=25)
@given(SENTENCES, st.text(KANA, min_size=1, max_size=6), st.integers(0, 2**32 - 1))
def test_bonuses_are_part_of_the_search(sentences, reading, seed):
    background = build(sentences)
    decoder = background.decoder
    decoder.bonus[1:] = np.random.default_rng(seed).normal(size=len(decoder.lexicon) - 1)
    best = decoder.best(reading)
    assert best.score == pytest.approx(decoder.k_best(reading, 1)[0].score, abs=1e-3)
    assert best.score == pytest.approx(decoder.score(reading, best.words), abs=1e-3)


def test_words_of_the_user_compete_with_the_lexicon():
    decoder = build(["木/あい を", "気/あ 機/い"]).decoder
    decoder.user_words.set([UserWord("あい", "愛", 2.0)], [])
    assert decoder.best("あい").text == "愛"
    assert decoder.k_best("あいを", 2)[0].text == "愛を"
    assert decoder.score("あい", decoder.best("あい").words) == pytest.approx(
        decoder.best("あい").score, abs=1e-4
    )


@pytest.mark.parametrize("text", ["Latin text", "😀", "123", "あA1😀ー", "漢字", "ｶﾅ", "カタカナ", "\ud800"])
def test_what_is_no_kana_stays_as_it_is(text):
    decoder = build(["木/き を 見る/みる"]).decoder
    assert "".join(way for way in decoder.best(text).text) in (text, text.replace("あ", "ア"))
    assert text in [way.text for way in decoder.k_best(text, 5)]


def test_long_readings():
    decoder = build(["木/き を 見る/みる", "木/き は 無い/ない"]).decoder
    assert decoder.best("きをみる" * 125).text == "木を見る" * 125
    with pytest.raises(InputError, match="100,000 characters; at most 2,000"):
        decoder.best("き" * 100_000)
    assert len(decoder.best("き" * LONGEST_INPUT).text) == LONGEST_INPUT


def test_k_must_be_positive():
    with pytest.raises(InputError, match="at least 1, not 0"):
        build(["木/き"]).decoder.k_best("き", 0)


def test_models_of_higher_order_are_refused():
    from epigram.lm.ngram.kneser_ney import KneserNeyLM

    with pytest.raises(InputError, match="up to order 3, not 4"):
        Scorer.of(KneserNeyLM(order=4).fit(["a b c d"]).backoff_)
