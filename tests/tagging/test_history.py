"""MaxentTagger: maxent on left tags, against logistic regression on spelt-out features and exhaustive search."""

from __future__ import annotations

import itertools
import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

from epigram import LBFGS, OWLQN, SGD, MaxentTagger
from epigram.chain.metrics import evaluate
from epigram.errors import InputError
from epigram.tagging import history as history_module
from reference.chain_data import TEMPLATE, features, part

ROWS, LABELS = part("train", 120)
TEST_ROWS, TEST_LABELS = part("test", 40)
FAST = SGD(passes=8, eta0=0.3)


@pytest.fixture(scope="module")
def tagger() -> MaxentTagger:
    return MaxentTagger(TEMPLATE, l1=0.3, solver=FAST).fit(ROWS, LABELS)


def weights_by_name(tagger: MaxentTagger) -> dict[tuple[str, str], float]:
    model = tagger.model_
    names = model.table.names(model.weights.attributes.tolist())
    found = zip(names, model.weights.labels.tolist(), model.weights.values.tolist(), strict=True)
    return {(name, model.labels[j]): w for name, j, w in found}


def chance(weights: dict[tuple[str, str], float], labels: list[str], names: list[str], label: str) -> float:
    """log p(label | features), by hand."""
    scores = {j: sum(weights.get((name, j), 0.0) for name in names) for j in labels}
    top = max(scores.values())
    return scores[label] - top - math.log(sum(math.exp(s - top) for s in scores.values()))


def log_p(
    weights: dict[tuple[str, str], float], labels: list[str], tokens: list[list[str]], y: tuple[str, ...]
) -> float:
    """log p of a labelling: the product of the tokens' maxent models, each given the two labels before."""
    left = ["(start)", "(start)"]
    total = 0.0
    for token, label in zip(tokens, y, strict=True):
        names = [*token, f"tag[-1]={left[1]}", f"tag[-2,-1]={left[0]} {left[1]}"]
        total += chance(weights, labels, names, label)
        left = [left[1], label]
    return total


def small(seed: int) -> tuple[list[list[list[str]]], list[list[str]]]:
    rng = np.random.default_rng(seed)
    X = [[[f"w{rng.integers(4)}"] for _ in range(4)] for _ in range(30)]
    y = [[str(rng.choice(["a", "b", "c"], p=[0.5, 0.3, 0.2])) for _ in sentence] for sentence in X]
    return X, y


@pytest.mark.parametrize("seed", range(3))
def test_a_wide_beam_finds_the_best_of_all_labellings(seed: int) -> None:
    X, y = small(seed)
    tagger = MaxentTagger(l1=0.1, solver=OWLQN(), beam=16).fit(X, y)
    weights, labels = weights_by_name(tagger), tagger.classes_.tolist()
    for tokens, found in zip(X[:10], tagger.predict(X[:10]), strict=True):
        best = max(itertools.product(labels, repeat=4), key=lambda one: log_p(weights, labels, tokens, one))
        assert log_p(weights, labels, tokens, tuple(found)) == pytest.approx(
            log_p(weights, labels, tokens, best)
        )
        allowed: list[Any] = [None, ["b", "c"], None, "a"]
        kept = tagger.predict([tokens], allowed=[allowed])[0]
        choices = [labels, ["b", "c"], labels, ["a"]]
        restricted = max(
            itertools.product(*choices), key=lambda one: constrained(weights, labels, tokens, one, choices)
        )
        assert constrained(weights, labels, tokens, tuple(kept), choices) == pytest.approx(
            constrained(weights, labels, tokens, restricted, choices)
        )


def constrained(
    weights: dict[tuple[str, str], float],
    labels: list[str],
    tokens: list[list[str]],
    y: tuple[str, ...],
    choices: list[list[str]],
) -> float:
    """The same where each token chooses among some labels only."""
    left, total = ["(start)", "(start)"], 0.0
    for token, label, some in zip(tokens, y, choices, strict=True):
        names = [*token, f"tag[-1]={left[1]}", f"tag[-2,-1]={left[0]} {left[1]}"]
        total += chance(weights, some, names, label)
        left = [left[1], label]
    return total


def test_its_objective_is_the_sum_over_tokens() -> None:
    X, y = small(0)
    tagger = MaxentTagger(l1=0.2, solver=OWLQN(tolerance=1e-6)).fit(X, y)
    weights, labels = weights_by_name(tagger), tagger.classes_.tolist()
    loss = -sum(log_p(weights, labels, tokens, tuple(one)) for tokens, one in zip(X, y, strict=True))
    price = 0.2 * sum(abs(w) for w in weights.values())
    assert tagger.fit_["objective"] == pytest.approx(loss + price, rel=1e-9)


@pytest.mark.parametrize(
    ("l1", "l2", "solver"),
    [(0.3, 0.0, None), (0.3, 0.0, OWLQN(tolerance=1e-3)), (0.0, 0.3, LBFGS(tolerance=1e-3))],
)
def test_it_learns(l1: float, l2: float, solver: Any) -> None:
    tagger = MaxentTagger(TEMPLATE, l1=l1, l2=l2, solver=solver).fit(ROWS, LABELS)
    assert tagger.score(TEST_ROWS, TEST_LABELS) > 0.9


def test_features_by_name_and_generators() -> None:
    dicts = features(ROWS)
    lists = MaxentTagger(l1=0.3, solver=FAST).fit(dicts, LABELS)
    streamed = MaxentTagger(l1=0.3, solver=FAST).fit((one for one in dicts), (y for y in LABELS))
    assert streamed.model_.w.tobytes() == lists.model_.w.tobytes()
    assert lists.score(features(TEST_ROWS), TEST_LABELS) > 0.9


def test_threads_files_and_pickles_change_nothing(tagger: MaxentTagger) -> None:
    expected = tagger.predict(TEST_ROWS)
    many = clone(tagger).set_params(threads=3)
    many.model_, many.classes_ = tagger.model_, tagger.classes_
    assert many.predict(TEST_ROWS) == expected
    assert pickle.loads(pickle.dumps(tagger)).predict(TEST_ROWS) == expected
    again = MaxentTagger.from_bytes(tagger.to_bytes())
    assert again.predict(TEST_ROWS) == expected
    assert again.beam == tagger.beam
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: tagger.predict(TEST_ROWS), range(8)):
            assert found == expected


def test_odd_sentences(tagger: MaxentTagger) -> None:
    assert tagger.predict([]) == []
    assert tagger.predict([[], TEST_ROWS[0]]) == [[], tagger.predict(TEST_ROWS[:1])[0]]
    assert len(tagger.predict([[("qqq", "???")]])[0]) == 1
    assert len(tagger.predict([[row for sentence in ROWS for row in sentence] * 10])[0]) > 10_000
    assert tagger.score([], []) == 0.0
    MaxentTagger(TEMPLATE, l1=0.3, solver=FAST).fit([[], *ROWS], [[], *LABELS])


def test_held_out_sentences_choose_the_best() -> None:
    scores: list[float] = []
    tagger = MaxentTagger(TEMPLATE, l1=0.3, patience=2, solver=SGD(passes=40, eta0=0.3)).fit(
        ROWS[:30], LABELS[:30], dev=(TEST_ROWS, TEST_LABELS), callback=lambda e: scores.append(e["dev_score"])
    )
    assert len(scores) == int(np.argmax(scores)) + 3
    assert evaluate(TEST_LABELS, tagger.predict(TEST_ROWS)).overall.f1 == pytest.approx(max(scores))


def test_weights_of_sentences_and_classes() -> None:
    X, y = small(1)
    solver = OWLQN(tolerance=1e-7)
    weights = np.ones(30)
    weights[:5] = 2.0
    weighted = MaxentTagger(l1=0.2, solver=solver).fit(X, y, sample_weight=weights)
    doubled = MaxentTagger(l1=0.2, solver=solver).fit(X + X[:5], y + y[:5])
    assert weighted.fit_["objective"] == pytest.approx(doubled.fit_["objective"], rel=1e-7)
    heavy = MaxentTagger(l1=0.2, solver=solver, class_weight={"c": 50.0}).fit(X, y)
    assert sum(label == "c" for one in heavy.predict(X) for label in one) > sum(
        label == "c" for one in y for label in one
    )
    with pytest.raises(ValueError, match=r"sample_weight has shape \(2,\), not \(30,\)"):
        MaxentTagger().fit(X, y, sample_weight=[1.0, 2.0])
    right = np.array([found == one for found, one in zip(weighted.predict(X), y, strict=True)])
    only = np.where(right, 1.0, 0.0)
    if right.any():
        assert weighted.score(X, y, sample_weight=only) == 1.0


def test_many_labels_do_without_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_module, "MOST_LABELS", 2)
    X, y = small(0)
    tagger = MaxentTagger(l1=0.1, solver=OWLQN()).fit(X, y)
    assert not any(name.startswith("tag[-2") for name, _ in weights_by_name(tagger))
    assert any(name.startswith("tag[-1") for name, _ in weights_by_name(tagger))
    assert len(tagger.predict(X)) == len(X)


def test_grid_search_and_cross_validation() -> None:
    search = GridSearchCV(MaxentTagger(TEMPLATE, solver=FAST), {"l1": [0.3, 5000.0], "beam": [1, 3]}, cv=2)
    assert search.fit(ROWS, LABELS).best_params_["l1"] == 0.3
    assert cross_val_score(MaxentTagger(TEMPLATE, l1=0.3, solver=FAST), ROWS, LABELS, cv=2).min() > 0.8


def test_errors_are_named(tagger: MaxentTagger) -> None:
    with pytest.raises(NotFittedError):
        MaxentTagger().predict([])
    with pytest.raises(ValueError, match="beam must be at least 1, not 0"):
        MaxentTagger(beam=0).fit(*small(0))
    broken = clone(tagger).set_params(beam=0)
    broken.model_, broken.classes_ = tagger.model_, tagger.classes_
    with pytest.raises(ValueError, match="beam must be at least 1, not 0"):
        broken.predict(TEST_ROWS)
    with pytest.raises(InputError, match="1 lists of labels for 2 sentences"):
        MaxentTagger(TEMPLATE).fit(ROWS[:2], LABELS[:1])
    with pytest.raises(InputError, match="y is None"):
        MaxentTagger(TEMPLATE).fit(ROWS[:2], None)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no tokens to train on"):
        MaxentTagger(TEMPLATE).fit([], [])


def test_values_beyond_all_measure_do_not_crash() -> None:
    tagger = MaxentTagger(l1=0.01, solver=FAST).fit([[{"x": 1.0}, {"x": -1.0}]] * 3, [["a", "b"]] * 3)
    for value in (1e30, -1e300, 1.7e308):
        assert set(tagger.predict([[{"x": value, "y": 1.0}] * 5])[0]) <= {"a", "b"}
