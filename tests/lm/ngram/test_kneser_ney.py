"""Kneser-Ney equals the dictionary twin, sums to one, never fails, and reproduces published figures."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from epigram.errors import InputError
from epigram.lm.corpus import Corpus
from epigram.lm.ngram.kneser_ney import KneserNeyLM, discounts
from epigram.lm.vocabulary import Vocabulary
from reference.kneser_ney import KneserNey

SENTENCES = st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=7), min_size=1, max_size=10)


@settings(max_examples=60, deadline=None)
@given(SENTENCES, st.integers(1, 5), st.booleans(), st.sampled_from([None, [0, 0, 1, 1, 2], [0, 1, 1, 1, 1]]))
def test_probabilities_equal_the_twin_and_sum_to_one(sentences, order, modified, prune):
    model = KneserNeyLM(order, modified, prune=prune or 0).fit(sentences)
    twin = KneserNey(sentences, model.vocabulary_.words, order, modified, prune)
    contexts = [(), ("<s>",), ("a",), ("a", "b"), ("<s>", "c", "a"), ("b", "a", "b", "d"), tuple("abcdab")]
    for context in contexts:
        p = model.distribution(context)
        assert abs(p.sum() - 1) < 1e-9
        np.testing.assert_allclose(p, [twin.p(context, u) for u in model.vocabulary_], rtol=1e-9)


def test_order_beyond_every_sentence_changes_nothing():
    sentences = ["a b", "b a b"]
    long, longer = KneserNeyLM(5).fit(sentences), KneserNeyLM(50).fit(sentences)
    np.testing.assert_array_equal(long.word_scores("a b a"), longer.word_scores("a b a"))
    assert longer.backoff_.order <= 5


@pytest.mark.parametrize("modified", [True, False])
def test_one_word_corpus_and_closed_vocabularies_never_fail(modified):
    model = KneserNeyLM(3, modified).fit(["a"])
    assert model.distribution("<s>").sum() == pytest.approx(1)
    assert model.next_words("<s>", 1)[0][0] == "a"
    digits = [" ".join(str((k * 7 + j) % 10) for j in range(20)) for k in range(50)]
    closed = KneserNeyLM(4, modified).fit(digits)
    assert closed.perplexity(digits) < 10
    assert all(np.all(d[1:] > 0) for d in closed.discounts_)


def test_words_of_a_given_list_that_never_occur_still_have_probability():
    model = KneserNeyLM(2, vocabulary=Vocabulary(["a", "b", "never"])).fit(["a b a", "a c"])
    assert "<unk>" in model.vocabulary_
    assert math.isfinite(model.word_scores("never")[0])
    assert model.distribution("a").sum() == pytest.approx(1)


def test_discounts_fall_back_as_documented():
    assert discounts(np.array([0, 2, 1, 0, 0, 0]), modified=True).tolist() == [0, 0.5, 1, 1.5]
    assert discounts(np.array([0, 2, 2, 1, 3, 0]), modified=True).tolist() == [0, 0.5, 1, 1.5]
    assert discounts(np.array([0, 0, 0, 2, 0, 0]), modified=False).tolist() == [0, 0.5, 0.5, 0.5]


def test_test_words_outside_the_vocabulary_cut_the_context():
    for open_vocabulary in (True, False):
        model = KneserNeyLM(3, open_vocabulary=open_vocabulary).fit(["a b c", "b c a"])
        after_cut = model.word_scores("zebra c")
        assert math.isnan(after_cut[0]) is not open_vocabulary
        assert after_cut[1] == pytest.approx(math.log(model.distribution("")[model.vocabulary_.id("c")]))


def test_bad_settings_and_empty_text_are_refused():
    with pytest.raises(InputError, match="no words"):
        KneserNeyLM().fit([])
    with pytest.raises(InputError, match="whole number >= 1"):
        KneserNeyLM(order=0).fit(["a"])
    with pytest.raises(InputError, match="prune"):
        KneserNeyLM(prune=[0, 2, 1]).fit(["a"])
    with pytest.raises(InputError, match="not fitted"):
        KneserNeyLM().perplexity(["a"])


def test_parameters_are_those_of_an_estimator():
    model = clone(KneserNeyLM(order=3, prune=1))
    assert model.get_params()["order"] == 3
    assert not hasattr(model, "backoff_")


PTB = {
    False: {2: 186.80, 3: 150.60, 4: 145.10, 5: 143.51, 6: 143.13, 8: 143.01, 12: 143.04},
    True: {2: 185.70, 3: 148.28, 4: 142.72, 5: 141.19, 6: 140.84, 8: 140.75, 12: 140.81},
}
AP = {
    False: {2: 160.12, 3: 146.66, 4: 144.61, 5: 144.11, 6: 144.00, 8: 143.99, 12: 143.99},
    True: {2: 159.17, 3: 145.11, 4: 142.99, 5: 142.50, 6: 142.40, 8: 142.38, 12: 142.36},
}


@pytest.mark.slow
@pytest.mark.parametrize("modified", [True, False])
def test_ptb_figures(data, modified):
    train = Corpus.read(data / "ptb" / "ptb.train.txt.gz")
    test = Corpus.read(data / "ptb" / "ptb.test.txt", train.vocabulary)
    found = {n: KneserNeyLM(n, modified).fit(train).perplexity(test) for n in PTB[modified]}
    assert found == pytest.approx(PTB[modified], abs=0.01)


@pytest.mark.parametrize("modified", [True, False])
def test_mean_of_the_ap_splits(data, modified):
    sums = dict.fromkeys(AP[modified], 0.0)
    for split in range(4):
        stem = data / "lm-splits" / f"apnews.s{split}"
        train = Corpus.read(f"{stem}.train.txt.gz")
        test = Corpus.read(f"{stem}.test.txt.gz", train.vocabulary)
        for n in sums:
            sums[n] += KneserNeyLM(n, modified).fit(train).perplexity(test) / 4
    assert sums == pytest.approx(AP[modified], abs=0.01)
