"""Why a word is likely, over HTTP: the terms of every kind of language model add up to its log-probability."""

import math

import pytest

pytest.importorskip("starlette")

from epigram import ClassFactoredLM, KneserNeyLM, LogLinearLM
from epigram.lm import CachedLM, DocumentLM, InterpolatedLM
from epigram.serve.language import explain_word

TEXT = ["a b c a", "b b c", "c a d", "d d a b"]


def test_terms_add_up_for_every_kind_of_model():
    plain = LogLinearLM(order=3, strength=0.1, depth_weight=1.2, ridge=0.01).fit(TEXT)
    factored = ClassFactoredLM(classes=3, order=2, budget=0).fit(TEXT)
    counted = KneserNeyLM(2).fit(TEXT)
    mixture = InterpolatedLM([counted, plain], [0.5, 0.5])
    models = [plain, factored, DocumentLM.chosen(factored, TEXT), mixture, CachedLM(mixture, 3, 0.2)]
    for model in models:
        told = explain_word(model, "<s> a b", "c")
        want = float(model.distribution("<s> a b")[model.vocabulary_.id("c")])
        assert told["probability"] == pytest.approx(want)
        total = sum(term["weight"] for term in told["terms"]) - told["log_normaliser"]
        assert math.exp(total) == pytest.approx(want)
        assert len(told["terms"]) >= 3
    assert explain_word(plain, "<s> a b", "c")["log_normaliser"] == pytest.approx(
        plain.explain("<s> a b", "c").log_normaliser
    )
    assert explain_word(InterpolatedLM([counted, counted], [0.5, 0.5]), "a", "b")["terms"] == []
