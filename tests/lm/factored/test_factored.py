"""The class-factored model on a stream: as good as training on everything, with the classes it has."""

from __future__ import annotations

import numpy as np
import pytest
from small_texts import TEST, TEXT, WORDS

from epigram.lm.corpus import Corpus
from epigram.lm.factored.classes import WordClasses
from epigram.lm.factored.model import ClassFactoredLM
from epigram.lm.loglinear.penalties import PENALTIES

CLASSES = WordClasses.learn(Corpus.of(TEXT, WORDS), 8)


def make(**given):
    settings = {"classes": CLASSES, "order": 3, "budget": 0, "vocabulary": WORDS, "tolerance": 1e-5}
    return ClassFactoredLM(**{**settings, **given})


@pytest.mark.parametrize("penalty", sorted(PENALTIES))
def test_new_text_is_worth_as_much_as_old(penalty):
    whole = make(penalty=penalty).fit(TEXT)
    model = make(penalty=penalty).fit(TEXT[:500])
    before = model.perplexity(TEST)
    for first in range(500, 1000, 100):
        model.partial_fit(TEXT[first : first + 100])
        assert model.perplexity(TEST) < 1.01 * before
    assert model.perplexity(TEST) < 1.01 * whole.perplexity(TEST)
    assert model.corpus_.n_sentences == len(TEXT)


@pytest.mark.parametrize("bits", [0, 8])
def test_a_model_from_a_file_goes_on(tmp_path, bits):
    model = make().fit(TEXT[:800])
    model.save(tmp_path / "m", bits, text=True)
    again = ClassFactoredLM.load(tmp_path / "m").partial_fit(TEXT[800:])
    model.partial_fit(TEXT[800:])
    assert again.perplexity(TEST) == pytest.approx(model.perplexity(TEST), rel=5e-3)
    again.save(tmp_path / "m", bits, text=True)
    assert ClassFactoredLM.load(tmp_path / "m").perplexity(TEST) == pytest.approx(
        again.perplexity(TEST), rel=5e-3
    )


def test_a_new_word_joins_the_class_in_whose_place_it_is_seen():
    text = ["the cat sat", "the dog sat", "a cat ran", "a dog ran"] * 5
    model = ClassFactoredLM(classes=4, order=3, budget=0).fit(text)
    model.partial_fit(["the yak sat", "a yak ran"])
    classes = model.classes_
    assert classes.class_of[classes.vocabulary.id("yak")] == classes.class_of[classes.vocabulary.id("cat")]
    assert model.distribution("the").sum() == pytest.approx(1.0)
    assert model.distribution("the")[model.vocabulary_.id("yak")] > 0.01
    np.testing.assert_array_equal(classes.class_of[:-1], WordClasses.learn(Corpus.of(text), 4).class_of)


def test_new_words_are_unknown_where_the_vocabulary_has_that():
    text = ["the cat sat", "the dog sat", "a cat ran", "a dog ran"] * 5 + ["the gnu sat"]
    model = ClassFactoredLM(classes=4, order=3, budget=0, min_count=2).fit(text)
    before = len(model.vocabulary_)
    model.partial_fit(["the yak sat"])
    assert len(model.vocabulary_) == before


def test_first_call_fits_and_empty_text_changes_nothing():
    model = make().partial_fit(TEXT[:100])
    before = model.distribution("w1")
    np.testing.assert_array_equal(model.partial_fit([]).distribution("w1"), before)
