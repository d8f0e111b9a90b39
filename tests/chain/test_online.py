"""Learning from a stream: nothing is forgotten, what is new is learnt, files and pickles go on where they were."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from epigram import LBFGS, OWLQN, SGD, CRFTagger, MaxentClassifier, MaxentTagger
from epigram.chain import memory as memory_module
from epigram.chain import online as online_module
from epigram.errors import InputError
from epigram.features.sequences import Sequences
from reference.chain_data import TEMPLATE, part

ROWS, LABELS = part("train", 400)
TEST_ROWS, TEST_LABELS = part("test", 100)
HALF = 200


def by_name(tagger: Any) -> dict[tuple[str, ...], float]:
    model = tagger.model_
    weights, square = model.weights, model.weights.transitions
    names = model.table.names(weights.attributes.tolist())
    states = zip(names, weights.labels.tolist(), weights.values.tolist(), strict=True)
    found = {(name, model.labels[k]): v for name, k, v in states}
    for i, k in np.argwhere(square).tolist():
        found["->", model.labels[i], model.labels[k]] = float(square[i, k])
    return found


def stream(tagger: Any, first: int, last: int, size: int) -> Any:
    for k in range(first, last, size):
        tagger.partial_fit(ROWS[k : min(k + size, last)], LABELS[k : min(k + size, last)])
    return tagger


@pytest.fixture(scope="module", params=["crf", "history", "owlqn"])
def fitted(request: pytest.FixtureRequest) -> Any:
    kind = MaxentTagger if request.param == "history" else CRFTagger
    solver = OWLQN() if request.param == "owlqn" else SGD(passes=10)
    return kind(TEMPLATE, l1=0.3, solver=solver).fit(ROWS[:HALF], LABELS[:HALF])


@pytest.mark.parametrize(("k", "size"), [(1, 1), (5, 5), (50, 50), (200, 200), (200, 20)])
@pytest.mark.parametrize("stored", [False, True])
def test_going_on_forgets_nothing(fitted: Any, k: int, size: int, stored: bool) -> None:
    """The first rate again, or one found for the sentences of the call, would cost several points."""
    copy = type(fitted).from_bytes(fitted.to_bytes()) if stored else pickle.loads(pickle.dumps(fitted))
    before = fitted.score(TEST_ROWS, TEST_LABELS)
    assert stream(copy, HALF, HALF + k, size).score(TEST_ROWS, TEST_LABELS) > before - 0.005
    assert copy.fit_["samples"] == fitted.fit_["samples"] + (
        k if isinstance(fitted, CRFTagger) else sum(map(len, LABELS[HALF : HALF + k]))
    )


def test_old_weights_that_do_not_occur_again_stay(fitted: Any) -> None:
    """The penalty on them was paid in ``fit``: more text does not make it due again.

    Where the old sentences are not met again, that is, as for a model from a file.
    """
    if not isinstance(fitted, CRFTagger):
        pytest.skip("of one kind")
    stored = CRFTagger.from_bytes(fitted.to_bytes())
    before = by_name(stored)
    after = by_name(stream(stored, HALF, 2 * HALF, 50))
    new_words = {word for sentence in ROWS[HALF:] for word, _ in sentence}
    unseen = [key for key in before if key[0].startswith("U0:") and key[0][3:] not in new_words]
    assert unseen
    assert all(after[key] == pytest.approx(before[key], rel=1e-12) for key in unseen)


def test_weights_with_a_past_move_less_than_new_ones() -> None:
    X, y = [[["old"]], [["other"]]], [["a"], ["b"]]
    tagger = CRFTagger(l1=0.1).fit(X * 200, y * 200)
    before = by_name(tagger)
    tagger.partial_fit([[["old"]], [["new"]]], [["b"], ["c"]])
    after = by_name(tagger)
    assert tagger.predict([[["new"]], [["old"]], [["other"]]]) == [["c"], ["a"], ["b"]]
    assert abs(after["old", "a"] - before["old", "a"]) < 0.2 * after["new", "c"]


@pytest.mark.parametrize("kind", [CRFTagger, MaxentTagger])
@pytest.mark.parametrize("size", [1, 20, 400])
def test_a_stream_without_fit_comes_close_to_fit(kind: Any, size: int) -> None:
    """Features and labels keep coming; the sentences with the rarest labels come last."""
    n = 100 if size == 1 else 400
    whole = kind(TEMPLATE, l1=0.3).fit(ROWS[:n], LABELS[:n]).score(TEST_ROWS, TEST_LABELS)
    order = sorted(range(n), key=lambda k: len(set(LABELS[k])))
    tagger = kind(TEMPLATE, l1=0.3)
    for k in range(0, n, size):
        chosen = order[k : k + size]
        tagger.partial_fit([ROWS[s] for s in chosen], [LABELS[s] for s in chosen])
    assert tagger.score(TEST_ROWS, TEST_LABELS) > whole - 0.03
    assert tagger.classes_.tolist() == sorted({label for y in LABELS[:n] for label in y})
    assert tagger.fit_["calls"] == -(-n // size)


def test_late_features_are_learnt_after_much_text() -> None:
    tagger = CRFTagger(l1=2.0)
    for _ in range(30):
        tagger.partial_fit([[["old"]], [["other"]]] * 100, [["a"], ["b"]] * 100)
    tagger.partial_fit([[["new"]]] * 20, [["c"]] * 20)
    assert tagger.predict([[["new"]], [["old"]], [["other"]]]) == [["c"], ["a"], ["b"]]


def test_more_than_eight_labels_one_at_a_time() -> None:
    """Rows of weights change their form as labels come: dense to sparse, and to longer ones."""
    tagger = CRFTagger(l1=0.01)
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


def test_a_file_goes_on_where_the_tagger_was(fitted: Any) -> None:
    loaded, kept = type(fitted).from_bytes(fitted.to_bytes()), pickle.loads(pickle.dumps(fitted))
    kept._state = None  # what a file does not have: memories of weights that are zero
    ours, theirs = (by_name(stream(one, HALF, HALF + 20, 20)) for one in (loaded, kept))
    common = ours.keys() & theirs.keys()
    assert len(common) > 0.99 * len(theirs)
    np.testing.assert_allclose(
        [ours[key] for key in common], [theirs[key] for key in common], atol=2e-3, rtol=2e-3
    )


def test_a_file_without_squares_goes_on_too() -> None:
    tagger = CRFTagger(TEMPLATE, l1=0.3, solver=SGD(passes=5)).fit(ROWS[:HALF], LABELS[:HALF])
    before = tagger.score(TEST_ROWS, TEST_LABELS)
    object.__setattr__(tagger.model_, "squares", None)
    old = CRFTagger.from_bytes(tagger.to_bytes())
    assert old.model_.squares is None
    assert stream(old, HALF, HALF + 20, 20).score(TEST_ROWS, TEST_LABELS) > before - 0.01


def test_names_survive_when_old_corpora_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    taggers = []
    for kept in (1, 1000):
        monkeypatch.setattr(online_module, "CALLS_KEPT", kept)
        taggers.append(by_name(stream(CRFTagger(TEMPLATE, l1=0.3), 0, 60, 20)))
    assert taggers[0] == taggers[1]


def test_edges_and_constraints_grow_too() -> None:
    text = TEMPLATE.replace("B\n", "") + "B1:%x[0,1]\n"
    tagger = stream(CRFTagger(text, l1=0.1, constrain="iob2"), 0, 200, 50)
    assert not tagger.model_.weights.transitions.any()
    assert len(tagger.model_.weights.edge_values)
    again = stream(CRFTagger.from_bytes(tagger.to_bytes()), 200, 250, 50)
    for one in (tagger, again):
        assert one.score(TEST_ROWS, TEST_LABELS) > 0.85
    for labels in again.predict(TEST_ROWS):
        for before, label in zip(["O", *labels], labels, strict=False):
            assert not label.startswith("I-") or before[2:] == label[2:]


def test_classifiers_learn_from_matrices_and_names() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    y = np.array(["b", "a"])[(X @ np.arange(-2, 3) > 0).astype(int)]
    classifier = MaxentClassifier(l1=0.1)
    for k in range(0, 600, 50):
        classifier.partial_fit(X[k : k + 50], y[k : k + 50], classes=["a", "b"])
    assert classifier.score(X, y) > 0.95
    assert classifier.classes_.tolist() == ["a", "b"]
    assert classifier.coef_.shape == (2, 5)
    named = MaxentClassifier(l1=0.1)
    for k in range(0, 600, 50):
        rows = [{f"f{j}": v for j, v in enumerate(row)} for row in X[k : k + 50].tolist()]
        named.partial_fit(rows, y[k : k + 50])
    assert named.score([{f"f{j}": v for j, v in enumerate(row)} for row in X.tolist()], y) > 0.95
    whole = MaxentClassifier(l1=0.1).fit(X, y)
    before = whole.score(X, y)
    loaded = MaxentClassifier.from_bytes(whole.to_bytes())
    for one in (whole, loaded):
        assert one.partial_fit(X[:1], y[:1]).score(X, y) > before - 0.005


@pytest.mark.parametrize("settings", [{"solver": OWLQN()}, {"solver": LBFGS(), "l1": 0.0, "l2": 0.1}])
def test_it_is_there_for_every_solver_and_penalty(settings: dict[str, Any]) -> None:
    tagger = CRFTagger(TEMPLATE, **settings).fit(ROWS[:HALF], LABELS[:HALF])
    before = tagger.score(TEST_ROWS, TEST_LABELS)
    assert stream(tagger, HALF, HALF + 20, 20).score(TEST_ROWS, TEST_LABELS) > before - 0.01


def test_nothing_to_learn_from_is_an_error() -> None:
    with pytest.raises(InputError, match="no tokens to train on"):
        CRFTagger().partial_fit([], [])


def test_old_sentences_are_met_again() -> None:
    """Without them, a stream that changes ends at what came last."""
    tagger, without = (
        CRFTagger(TEMPLATE, l1=0.3, solver=SGD(passes=10)).fit(ROWS[:HALF], LABELS[:HALF]) for _ in range(2)
    )
    without._state.memory.parts = []
    change = [["O"] * len(labels) for labels in LABELS[HALF:]]
    for copy in (tagger, without):
        for k in range(0, HALF, 20):
            copy.partial_fit(ROWS[HALF + k : HALF + k + 20], change[k : k + 20])
    test = LABELS[:HALF]
    assert tagger.score(ROWS[:HALF], test) > without.score(ROWS[:HALF], test) + 0.02


def test_the_memory_is_a_fair_sample_of_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_module, "TOKENS_KEPT", 300)
    monkeypatch.setattr(memory_module, "PARTS_KEPT", 5)
    memory = memory_module.Memory()
    for k in range(100):
        ids = np.arange(20 * k, 20 * k + 20)
        lengths = np.full(20, 2)
        sequences = Sequences.of(
            np.concatenate([[0], lengths.cumsum()]), np.arange(41), np.repeat(ids, 2), np.repeat(ids / 7.0, 2)
        )
        memory.add(
            memory_module.KeptSentences(sequences, np.repeat(ids, 2).astype(np.int32), ids.astype(float))
        )
        assert len(memory.parts) <= 5
        assert sum(part.sequences.n_tokens for part in memory.parts) <= 300
    drawn = memory_module.joined([part for _ in range(20) for part in memory.draw(100, 2000)])
    assert not memory.draw(10, 10**9)
    assert drawn.weights is not None
    np.testing.assert_array_equal(drawn.labels, drawn.sequences.attributes)
    np.testing.assert_array_equal(drawn.labels[::2], drawn.weights)
    np.testing.assert_array_equal(drawn.sequences.values, drawn.labels / 7.0)
    kept = np.unique(drawn.weights)
    assert kept.size > 60
    assert abs(kept.mean() - 1000) < 4 * 577 / kept.size**0.5
