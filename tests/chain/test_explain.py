"""The terms of an explanation sum to what the two labellings differ by, as their probabilities tell."""

from __future__ import annotations

import math
from typing import Any

import pytest

from epigram import CRFTagger, InputError
from epigram.datasets import sample

TEMPLATES = {
    "states and transitions": "U0:%x[0,0]\nU1:%x[-1,0]\nU2:%x[1,0]\nB\n",
    "observed transitions": "U0:%x[0,0]\nB0:%x[0,0]\nB\n",
    "tokens alone": "U0:%x[0,0]\nU1:%x[-1,0]/%x[0,0]\n",
}


def data(n: int = 60) -> tuple[list[Any], list[list[str]]]:
    sentences = sample.tagged("train", n)
    rows = [[(word,) for word, _, _ in one] for one in sentences]
    return rows, [[chunk for _, _, chunk in one] for one in sentences]


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=list(TEMPLATES))
@pytest.mark.parametrize("constrain", [None, "iob2"])
def test_terms_sum_to_the_log_odds_of_the_labellings(template: str, constrain: str | None) -> None:
    if constrain and "B" not in template:
        pytest.skip("constraints need transitions")
    X, y = data()
    tagger = CRFTagger(template, l2=0.1, l1=0.0, constrain=constrain).fit(X, y)
    for sentence in X[:4]:
        n = len(sentence)
        for token in (0, n // 2, n - 1):
            why = tagger.explain(sentence, token)
            assert why.other is not None
            assert why.label != why.other
            assert list(why.labels) == tagger.predict([sentence])[0]
            spans = [(0, list(why.labels)), (0, list(why.other_labels))]
            best, rival = tagger.confidence([sentence], [spans])[0]
            assert why.lead == pytest.approx(math.log(best / rival), abs=1e-9)
            assert sum(term.lift for term in why.terms) == pytest.approx(why.lead, abs=1e-9)


def test_the_runner_up_is_the_best_labelling_with_another_label() -> None:
    X, y = data()
    tagger = CRFTagger(TEMPLATES["states and transitions"], l2=1.0, l1=0.0).fit(X, y)
    sentence = X[0][:4]
    ranked = tagger.predict_nbest([sentence], k=10_000)[0]
    for token in range(4):
        why = tagger.explain(sentence, token)
        first = next(labels for labels, _ in ranked if labels[token] != why.label)
        assert list(why.other_labels) == first


def test_values_count_and_wrong_tokens_are_refused() -> None:
    X = [[{"length": 3.0, "w": "cat"}, {"length": 0.5, "w": "x"}]] * 3
    tagger = CRFTagger(l1=0.0, l2=0.1).fit(X, [["N", "S"]] * 3)
    why = tagger.explain(X[0], 0)
    assert {term.feature for term in why.terms} >= {"length", "w:cat"}
    best, rival = tagger.confidence([X[0]], [[(0, list(why.labels)), (0, list(why.other_labels))]])[0]
    assert why.lead == pytest.approx(math.log(best / rival))
    with pytest.raises(InputError, match="token 2 does not exist"):
        tagger.explain(X[0], 2)


def test_a_single_label_has_no_runner_up() -> None:
    tagger = CRFTagger(l1=0.01).fit([[["a"], ["b"]]], [["X", "X"]])
    assert tagger.explain([["a"]], 0).other is None
