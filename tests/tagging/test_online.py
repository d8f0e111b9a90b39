"""partial_fit: the same as fit on the same data, and sensible on streams with new features and new labels."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from epigram import LBFGS, OWLQN, SGD, CRFTagger, MaxentClassifier
from epigram.errors import InputError
from epigram.tagging import online as online_module
from reference.chain_data import TEMPLATE, part

ROWS, LABELS = part("train", 200)
TEST_ROWS, TEST_LABELS = part("test", 60)
METHODS = ["cumulative", "lazy", "clipping", "naive"]


def by_name(tagger: CRFTagger) -> dict[tuple[str, ...], float]:
    model = tagger.model_
    a, j, w = model.layout.states(model.w)
    names = model.table.names(a.tolist())
    found = {(name, model.labels[k]): float(v) for name, k, v in zip(names, j.tolist(), w, strict=True)}
    square = model.layout.transitions(model.w)
    for i, k in np.argwhere(square).tolist():
        found["->", model.labels[i], model.labels[k]] = float(square[i, k])
    return found


@pytest.mark.parametrize("method", METHODS)
def test_calls_on_all_the_data_are_passes_of_fit(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(online_module, "SMALLEST", 1)
    solver = SGD(method, eta0=0.5, passes=4, random_state=3)
    whole = CRFTagger(TEMPLATE, l1=0.5, solver=solver).fit(ROWS[:60], LABELS[:60])
    parts = CRFTagger(TEMPLATE, l1=0.5, solver=solver)
    for _ in range(4):
        assert parts.partial_fit(ROWS[:60], LABELS[:60]) is parts
    ours, theirs = by_name(parts), by_name(whole)
    assert ours.keys() == theirs.keys()
    np.testing.assert_allclose([ours[key] for key in theirs], list(theirs.values()), atol=1e-9)
    assert parts.classes_.tolist() == whole.classes_.tolist()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", [1, 20])
def test_a_stream_of_small_calls_reaches_a_sensible_model(method: str, size: int) -> None:
    """Features and labels keep coming; the sentences with the rarest labels come last."""
    order = sorted(range(len(ROWS)), key=lambda k: len(set(LABELS[k])))
    tagger = CRFTagger(TEMPLATE, l1=0.3, solver=SGD(method, eta0=0.5))
    for k in range(0, len(order), size):
        chosen = order[k : k + size]
        tagger.partial_fit([ROWS[s] for s in chosen], [LABELS[s] for s in chosen])
    assert tagger.score(TEST_ROWS, TEST_LABELS) > 0.85
    assert tagger.classes_.tolist() == sorted({label for y in LABELS for label in y})
    assert tagger.fit_["samples"] == len(ROWS)
    assert tagger.fit_["calls"] == len(ROWS) // size


def test_late_features_are_learnt_after_many_passes() -> None:
    """What the cumulative penalty would have taken so far is not held against weights that are new."""
    tagger = CRFTagger(l1=2.0, solver=SGD(eta0=0.5))
    for _ in range(30):
        tagger.partial_fit([[["old"]], [["other"]]] * 100, [["a"], ["b"]] * 100)
    for _ in range(5):
        tagger.partial_fit([[["new"]]] * 100, [["c"]] * 100)
    assert tagger.predict([[["new"]], [["old"]], [["other"]]]) == [["c"], ["a"], ["b"]]


def test_more_than_eight_labels_one_at_a_time() -> None:
    """Rows of weights change their form as labels come: dense to sparse, and to longer ones."""
    tagger = CRFTagger(l1=0.01, solver=SGD("lazy", eta0=0.5))
    names = [f"y{j:02d}" for j in range(20)]
    for _ in range(3):
        for name in names:
            tagger.partial_fit([[["all"], [f"w={name}"]]] * 20, [[name, name]] * 20)
    assert tagger.predict([[["all"], [f"w={name}"]] for name in names]) == [[name, name] for name in names]
    assert tagger.classes_.tolist() == names


def test_classes_can_be_announced() -> None:
    tagger = CRFTagger(l1=0.1).partial_fit([[["x"]]], [["b"]], classes=np.array(["c", "a", "b"]))
    assert tagger.classes_.tolist() == ["a", "b", "c"]
    assert tagger.predict([[["x"]]]) == [["b"]]
    classifier = MaxentClassifier(l1=0.1).partial_fit([["x"]], [7], classes=[9, 7])
    assert classifier.classes_.tolist() == [7, 9]
    assert classifier.predict([["x"]]).tolist() == [7]


def test_it_goes_on_from_fit_and_from_a_file() -> None:
    fitted = CRFTagger(TEMPLATE, l1=0.3, solver=SGD(passes=5, eta0=0.5)).fit(ROWS[:100], LABELS[:100])
    before = fitted.score(TEST_ROWS, TEST_LABELS)
    loaded = CRFTagger.from_bytes(fitted.to_bytes())
    for tagger in (fitted, loaded, pickle.loads(pickle.dumps(fitted))):
        tagger.solver = SGD(eta0=1e-6)
        tagger.partial_fit(ROWS[100:110], LABELS[100:110])
        assert tagger.score(TEST_ROWS, TEST_LABELS) == pytest.approx(before, abs=0.02)


def test_a_pickle_between_calls_changes_nothing() -> None:
    solver = SGD(eta0=0.5)
    straight, interrupted = (CRFTagger(TEMPLATE, l1=0.3, solver=solver) for _ in range(2))
    for k in range(0, 60, 20):
        straight.partial_fit(ROWS[k : k + 20], LABELS[k : k + 20])
        interrupted.partial_fit(ROWS[k : k + 20], LABELS[k : k + 20])
        interrupted = pickle.loads(pickle.dumps(interrupted))
    assert by_name(straight) == by_name(interrupted)


def test_names_survive_when_old_corpora_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    taggers = []
    for kept in (1, 1000):
        monkeypatch.setattr(online_module, "CALLS_KEPT", kept)
        tagger = CRFTagger(TEMPLATE, l1=0.3, solver=SGD(eta0=0.5))
        for k in range(0, 60, 20):
            tagger.partial_fit(ROWS[k : k + 20], LABELS[k : k + 20])
        taggers.append(by_name(tagger))
    assert taggers[0] == taggers[1]


def test_edges_and_constraints_grow_too() -> None:
    text = TEMPLATE.replace("B\n", "") + "B1:%x[0,1]\n"
    tagger = CRFTagger(text, l1=0.1, constrain="iob2", solver=SGD(eta0=0.5))
    for k in range(0, 200, 50):
        tagger.partial_fit(ROWS[k : k + 50], LABELS[k : k + 50])
    assert not tagger.model_.layout.transitions(tagger.model_.w).any()
    assert len(tagger.model_.layout.edges(tagger.model_.w)[3])
    assert tagger.score(TEST_ROWS, TEST_LABELS) > 0.85
    for labels in tagger.predict(TEST_ROWS):
        for before, label in zip(["O", *labels], labels, strict=False):
            assert not label.startswith("I-") or before[2:] == label[2:]


def test_classifiers_learn_from_matrices_and_names() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    y = np.array(["b", "a"])[(X @ np.arange(-2, 3) > 0).astype(int)]
    classifier = MaxentClassifier(l1=0.1, solver=SGD(eta0=0.5))
    for k in range(0, 600, 50):
        classifier.partial_fit(X[k : k + 50], y[k : k + 50], classes=["a", "b"])
    assert classifier.score(X, y) > 0.9
    assert classifier.classes_.tolist() == ["a", "b"]
    assert classifier.coef_.shape == (2, 5)
    named = MaxentClassifier(l1=0.1, solver=SGD(eta0=0.5))
    for k in range(0, 600, 50):
        rows = [{f"f{j}": v for j, v in enumerate(row)} for row in X[k : k + 50].tolist()]
        named.partial_fit(rows, y[k : k + 50])
    assert named.score([{f"f{j}": v for j, v in enumerate(row)} for row in X.tolist()], y) > 0.9


@pytest.mark.parametrize("kind", [CRFTagger, MaxentClassifier])
def test_where_it_cannot_learn_online_it_says_so(kind: Any) -> None:
    for settings, said in (
        ({"solver": OWLQN()}, "partial_fit needs SGD; OWLQN is not that"),
        ({"solver": LBFGS()}, "partial_fit needs SGD; LBFGS is not that"),
        ({"l2": 1.0}, "partial_fit needs an l1 penalty alone, not l2=1.0"),
    ):
        estimator = kind(**settings)
        assert not hasattr(estimator, "partial_fit")
        with pytest.raises(AttributeError) as error:
            _ = estimator.partial_fit
        assert said in str(error.value.__cause__)
    with pytest.raises(InputError, match="no tokens to train on"):
        CRFTagger().partial_fit([], [])
