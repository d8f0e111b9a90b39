"""Interpolated models against the formula, word by word; weights and widened lexicons."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epigram.errors import InputError
from epigram.ime.adapt import adapt_by_map, cross_entropy
from epigram.ime.build import build
from epigram.ime.mixture import best_weight, map_mixture, mixture, widen
from epigram.lm.corpus import Corpus
from epigram.lm.ngram.kneser_ney import KneserNeyLM
from epigram.lm.vocabulary import Vocabulary

SENTENCES = st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=6), min_size=2, max_size=12)
HISTORIES = [[], ["<s>"], ["a"], ["b"], ["a", "b"], ["<s>", "a"], ["c", "c"], ["d", "a"]]
VOCABULARY = Vocabulary("abcd")


def fitted(sentences):
    return KneserNeyLM(order=3, open_vocabulary=False).fit(Corpus.of(sentences, VOCABULARY)).backoff_


@settings(max_examples=30)
@given(SENTENCES, SENTENCES, st.floats(0.05, 0.95))
def test_mixture_is_the_weighted_mean_wherever_a_model_stores_the_ngram(one, other, weight):
    models = fitted(one), fitted(other)
    mixed = mixture(*models, weight)
    wrapped = [["<s>", *sentence, "</s>"] for sentence in (*one, *other)]
    seen = {tuple(s[k : k + 3]) for s in wrapped for k in range(len(s) - 2)}
    for first, second, third in seen:
        word = VOCABULARY.id(third)
        parts = [float(model.distribution([first, second])[word]) for model in models]
        expected = weight * parts[0] + (1 - weight) * parts[1]
        got = float(mixed.distribution([first, second])[word])
        assert got >= expected - 1e-9
        lower = float(mixed.distribution([second])[word]) * np.exp(
            mixed.node_bow[mixed.state([first, second])]
        )
        assert got == pytest.approx(max(expected, lower), abs=1e-9)


@settings(max_examples=30)
@given(SENTENCES, SENTENCES, st.floats(0.05, 0.95))
def test_map_with_relative_frequencies_is_exact(background, text, weight):
    model = fitted(background)
    mixed = map_mixture(model, Corpus.of(text, VOCABULARY), weight)
    wrapped = [["<s>", *sentence, "</s>"] for sentence in text]
    for history in [h for h in HISTORIES if len(h) == 2 or h == ["<s>"]]:
        n = len(history)
        after = [s[k + n] for s in wrapped for k in range(len(s) - n) if s[k : k + n] == history]
        expected = model.distribution(history)
        if after:
            frequency = np.bincount(VOCABULARY.ids(after), minlength=len(VOCABULARY)) / len(after)
            expected = weight * expected + (1 - weight) * frequency
        np.testing.assert_allclose(mixed.distribution(history), expected, atol=1e-9)


def test_widening_keeps_every_probability_of_the_old_words():
    model = fitted([list("abca"), list("dcb")])
    wide = Vocabulary("aXbcdY")
    new_id = wide.ids(VOCABULARY.words)
    logp = np.full(len(wide), -7.0)
    widened = widen(model, wide, new_id, logp)
    for history in HISTORIES:
        old = model.distribution(history)
        np.testing.assert_allclose(widened.distribution(history)[new_id], old, atol=1e-12)
    assert widened.step(0, wide.id("X"))[1] == pytest.approx(-7.0)


def test_best_weight_maximises_the_likelihood():
    rng = np.random.default_rng(0)
    p, q = np.log(rng.random((2, 50)))
    weight = best_weight(p, q)
    grid = np.linspace(0.01, 0.99, 99)
    values = [np.log(w * np.exp(p) + (1 - w) * np.exp(q)).sum() for w in grid]
    assert abs(weight - grid[int(np.argmax(values))]) < 0.011


@pytest.mark.parametrize("smoothing", ["map", "map-kn"])
def test_adaptation_learns_the_words_of_the_domain(smoothing):
    background = build(["橋/はし を 渡る/わたる"] * 6 + ["端/はし を 歩く/あるく"] * 3)
    text = Corpus.of(["箸/はし を 使う/つかう", "箸/はし で 食べる/たべる"] * 10)
    adapted = adapt_by_map(background.decoder, background.model, text, None, smoothing)
    assert 0 < adapted.weight < 1
    assert background.decoder.best("はしでたべる").text != "箸で食べる"
    assert adapted.decoder.best("はしでたべる").text == "箸で食べる"
    half = adapt_by_map(background.decoder, background.model, text, None, smoothing, weight=0.9)
    assert half.decoder.best("はしをわたる").text == "橋を渡る"


def test_unknown_smoothing_is_named():
    background = build(["木/き"])
    with pytest.raises(InputError, match="unknown smoothing 'ml'; use one of map, map-kn"):
        adapt_by_map(background.decoder, background.model, Corpus.of(["木/き"]), None, "ml")


def test_cross_entropy_counts_bits_a_word():
    corpus = Corpus.of(["a b", "b"], VOCABULARY)
    model = fitted([list("ab")])
    logps = model.score_stream(corpus.stream())[1:]
    assert cross_entropy(model, corpus) == pytest.approx(-np.log2(np.exp(logps)).mean())
