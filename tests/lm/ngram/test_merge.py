"""Any model as a table of n-grams: stored n-grams have its probabilities, distributions sum to one, the command."""

import numpy as np
import pytest

from epigram import ClassFactoredLM, KneserNeyLM
from epigram.lm.mixture import InterpolatedLM
from epigram.lm.ngram.merge import approximate

TEXT = ["a b c a", "b b c", "c a d e", "d d a b", "e f a", "f e c b", "g a"]


@pytest.fixture(scope="module")
def model():
    return ClassFactoredLM(classes=4, order=3, budget=0).fit(TEXT)


def test_stored_ngrams_have_the_probabilities_of_the_model(model, monkeypatch):
    monkeypatch.setattr("epigram.lm.ngram.merge.AT_ONCE", 3)
    like = KneserNeyLM(3).fit([*TEXT, "zebra a b"])  # a word that the model does not know
    table = approximate(model, like.backoff_)
    assert table.vocabulary_.words == model.vocabulary_.words
    for sentence in TEXT:
        words = ["<s>", *sentence.split(), "</s>"]
        for k in range(1, len(words)):
            for length in range(min(k, 2) + 1):
                context = words[k - length : k]
                want = model.distribution(context)[model.vocabulary_.id(words[k])]
                found = table.distribution(context)[table.vocabulary_.id(words[k])]
                assert found == pytest.approx(want, rel=1e-9)
    for context in ([], ["a"], ["g", "d"], ["<s>"], ["<s>", "f"]):
        assert table.distribution(context).sum() == pytest.approx(1, abs=1e-9)


def test_mixtures_too(model):
    mixture = InterpolatedLM([model, KneserNeyLM(2).fit(TEXT)], [0.5, 0.5])
    table = approximate(mixture, KneserNeyLM(3).fit(TEXT).backoff_)
    np.testing.assert_allclose(table.distribution("<s> a")[1:4], mixture.distribution("<s> a")[1:4], rtol=0.5)
    assert table.perplexity(TEXT) == pytest.approx(mixture.perplexity(TEXT), rel=0.1)
