"""Semi-Markov models against every labelling written down, against the chain, and with every solver."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from epigram import OWLQN, SGD, AdaGrad, CRFTagger, ElasticNet
from epigram.errors import InputError
from epigram.tagging import SegmentTagger
from reference.segment import SlowSegments, segments

CHAIN = "# outside: drop\nU0:%x[0,0]\nU1:%x[-1,0]\nB\n"
TEMPLATE = CHAIN + (
    "S0:%x[all,0|lower]\nS1:%x[before,0]/%x[length]\nS2:%x[first,0]/%x[last,0]\nS3:%x[after,0]\n"
)
WITHOUT_TRANSITIONS = TEMPLATE.replace("B\n", "")
KINDS = ("x", "y")


def sentences(n: int, seed: int) -> tuple[list[list[str]], list[list[str]]]:
    rng = random.Random(seed)
    X, y = [], []
    for _ in range(n):
        labels: list[str] = []
        while len(labels) < rng.randint(2, 4):
            kind, length = rng.choice((*KINDS, "")), rng.randint(1, 3)
            labels += ["O"] if not kind else [f"B-{kind}", *[f"I-{kind}"] * (length - 1)]
        X.append([rng.choice("abAC") for _ in labels[:4]])
        y.append(labels[:4])
    return X, y


def random_problem(template: str, seed: int) -> tuple[Any, np.ndarray, list[list[str]], list[list[str]]]:
    X, y = sentences(5, seed)
    problem = SegmentTagger(template).problem(X, y)
    return problem, np.random.default_rng(seed).normal(size=problem.loss.n_weights), X, y


@pytest.mark.parametrize("template", [TEMPLATE, WITHOUT_TRANSITIONS])
@pytest.mark.parametrize("seed", range(3))
def test_loss_gradient_and_probabilities_equal_brute_force(template: str, seed: int) -> None:
    problem, w, X, y = random_problem(template, seed)
    longest = max(length for labels in y for _, length, _ in segments(tuple(labels)))

    def by_hand(at: np.ndarray) -> float:
        slow = SlowSegments(problem.model(at), longest)
        return sum(
            slow.log_z(words) - slow.score(words, tuple(labels)) for words, labels in zip(X, y, strict=True)
        )

    gradient = np.empty_like(w)
    assert problem.loss.value_and_gradient(w, gradient) == pytest.approx(by_hand(w), abs=1e-9)
    for k in np.random.default_rng(seed).choice(len(w), 25, replace=False):
        step = np.zeros_like(w)
        step[k] = 1e-5
        assert gradient[k] == pytest.approx((by_hand(w + step) - by_hand(w - step)) / 2e-5, abs=1e-6)


@pytest.mark.parametrize("template", [TEMPLATE, WITHOUT_TRANSITIONS])
@pytest.mark.parametrize("seed", range(3))
def test_decoding_equals_brute_force(template: str, seed: int) -> None:
    problem, w, X, _ = random_problem(template, seed)
    model = problem.model(w)
    slow = SlowSegments(model, model.layout.types.longest)
    sequences = model.encode([*X, []])
    nodes, _, log_z = model.marginals(sequences)
    lists = model.n_best(sequences, 7)
    at = 0
    for s, words in enumerate(X):
        scores = slow.labellings(words)
        z = slow.log_z(words)
        assert log_z[s] == pytest.approx(z, abs=1e-9)
        best = sorted(scores, key=lambda labels: -scores[labels])[:7]
        assert [tuple(model.labels[j] for j in labels) for labels, _ in lists[s]] == best
        assert [p for _, p in lists[s]] == pytest.approx([np.exp(scores[labels] - z) for labels in best])
        for t in range(len(words)):
            for j, label in enumerate(model.labels):
                p = sum(np.exp(v - z) for labels, v in scores.items() if labels[t] == label)
                assert nodes[at + t, j] == pytest.approx(p, abs=1e-9)
        at += len(words)
    assert lists[-1] == []
    assert at == len(nodes)


def test_without_features_of_segments_it_is_the_chain() -> None:
    X, y = sentences(20, 3)
    chain = CRFTagger(CHAIN, constrain="iob2").problem(X, y)
    segmented = SegmentTagger(CHAIN, longest=4).problem(X, y)
    w = np.random.default_rng(0).normal(size=chain.loss.n_weights)
    gradients = np.empty_like(w), np.empty_like(w)
    # sentences that begin inside a segment are none: the chain alone gives them probability
    scores = chain.model(w), segmented.model(w)
    chain.loss.value_and_gradient(w, gradients[0]), segmented.loss.value_and_gradient(w, gradients[1])
    sequences = [model.encode(X) for model in scores]
    for allowed in (None, [[["O", "B-x"], *[None] * (len(words) - 1)] for words in X]):
        nodes = [model.marginals(s, allowed) for model, s in zip(scores, sequences, strict=True)]
        np.testing.assert_allclose(nodes[0][0], nodes[1][0], atol=1e-10)
        np.testing.assert_allclose(nodes[0][2], nodes[1][2], atol=1e-10)
        np.testing.assert_array_equal(
            *(model.decode(s, allowed) for model, s in zip(scores, sequences, strict=True))
        )


def test_tags_that_are_no_segments_are_the_chain() -> None:
    X, _ = sentences(10, 1)
    y = [[word.upper() for word in words] for words in X]
    chain, segmented = (kind(TEMPLATE_OF[kind]).problem(X, y) for kind in (CRFTagger, SegmentTagger))
    w = np.random.default_rng(0).normal(size=chain.loss.n_weights)
    out = np.empty_like(w), np.empty_like(w)
    assert chain.loss.value_and_gradient(w, out[0]) == segmented.loss.value_and_gradient(w, out[1])
    np.testing.assert_array_equal(*out)


TEMPLATE_OF = {CRFTagger: CHAIN, SegmentTagger: TEMPLATE}


@pytest.mark.parametrize("dropped", ["", "B\n"])
@pytest.mark.parametrize(
    "settings",
    [
        {"l1": 0.05, "solver": SGD(passes=20)},
        {"l1": 0.05, "solver": SGD("lazy", passes=20)},
        {"l1": 0.05, "solver": AdaGrad(passes=20)},
        {"l1": 0.05, "solver": OWLQN()},
        {"l1": 0.0, "l2": 0.01},
        {"penalty": ElasticNet(0.02, 0.01)},
    ],
)
def test_every_solver_learns_and_the_file_keeps_it(settings: dict[str, Any], dropped: str) -> None:
    X, y = sentences(30, 5)
    tagger = SegmentTagger(TEMPLATE.replace(dropped, ""), **settings).fit(X, y, dev=(X, y))
    chain = CRFTagger(CHAIN, constrain="iob2", **settings).fit(X, y)
    assert tagger.fit_["objective"] < chain.fit_["objective"]
    assert tagger.score(X, y) > chain.score(X, y)
    again = SegmentTagger.from_bytes(tagger.to_bytes())
    assert again.predict(X) == tagger.predict(X)
    assert again.longest is None
    assert again.predict_nbest(X[:3], 2)[0][0][1] == pytest.approx(
        tagger.predict_nbest(X[:3], 2)[0][0][1], rel=1e-4
    )
    both = tagger.predict_marginals(X[:2]), tagger.confidence(X[:1], [[(0, [tagger.predict(X[:1])[0][0]])]])
    label = tagger.predict(X[:1])[0][0]
    assert both[0][0][0][label] == pytest.approx(both[1][0][0], abs=1e-9)


def test_partly_known_answers() -> None:
    X, y = sentences(30, 5)
    tagger = SegmentTagger(TEMPLATE, l1=0.1).fit(X, y)
    found = tagger.predict([["a", "b", "A"]], allowed=[[["B-y"], ["I-y"], ["O"]]])
    assert found == [["B-y", "I-y", "O"]]
    with pytest.raises(InputError, match="no labelling"):
        tagger.predict([["a", "b"]], allowed=[[["O"], ["I-y"]]])


def test_explanations_sum_to_the_lead() -> None:
    X, y = sentences(30, 5)
    tagger = SegmentTagger(TEMPLATE, l1=0.1).fit(X, y)
    slow = SlowSegments(tagger.model_, tagger.model_.layout.types.longest)
    features = set()
    for words in X[:4]:
        for t in range(len(words)):
            why = tagger.explain(words, t)
            features |= {term.feature for term in why.terms}
            rivals = [score for labels, score in slow.labellings(words).items() if labels[t] != why.label]
            best = max(slow.labellings(words).values())
            assert why.lead == pytest.approx(best - max(rivals), abs=1e-9)
    assert any(feature.startswith("S") for feature in features)


def test_refuses() -> None:
    X, y = sentences(10, 1)
    with pytest.raises(InputError, match="longest is 1, but a segment of the answers has"):
        SegmentTagger(TEMPLATE, longest=1).fit(X, y)
    with pytest.raises(ValueError, match="needs a template, whose B lines have no cells"):
        SegmentTagger(CHAIN + "B1:%x[0,0]\n").fit(X, y)
    with pytest.raises(InputError, match="places are all, first"):
        SegmentTagger(CHAIN + "S:%x[0,0]\n").fit(X, y)
    with pytest.raises(InputError, match="train it anew"):
        SegmentTagger(TEMPLATE).fit(X, y).partial_fit(X, y)
    with pytest.raises(InputError, match="forbidden by"):
        SegmentTagger(CHAIN).fit([["a", "b"]], [["O", "I-x"]])
