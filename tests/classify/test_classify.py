"""TextClassifier: predictions, what is chosen, several labels, files, explanations and measures."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import epigram
from epigram import Checkpoint, TextClassifier
from epigram.classify import evaluate
from epigram.classify.explain import explain_text
from epigram.classify.model import probabilities_of
from epigram.classify.selection import Selection, candidates_for, folds_of
from epigram.classify.training import fit_columns, log_count_ratios, scaled
from epigram.errors import DataWarning, InputError, ModelFileError
from epigram.features.grams import GramSpec, learn_grams
from tests.reference.grams import values_of

POSITIVE, NEGATIVE = ["good", "great", "fine", "lovely", "superb"], ["bad", "poor", "awful", "dull", "boring"]
FILLER = [
    "the",
    "film",
    "was",
    "a",
    "story",
    "of",
    "people",
    "in",
    "town",
    "with",
    "some",
    "music",
    "and",
    "light",
]


def reviews(n: int, seed: int = 0, noise: float = 0.1) -> tuple[list[str], list[str]]:
    rng = random.Random(seed)
    texts, labels = [], []
    for k in range(n):
        label = ("pos", "neg")[k % 2]
        right = rng.random() > noise
        marked = rng.choice(POSITIVE if (label == "pos") == right else NEGATIVE)
        words = [*rng.choices(FILLER, k=8), marked]
        rng.shuffle(words)
        texts.append(" ".join(words))
        labels.append(label)
    return texts, labels


@pytest.fixture(scope="module")
def classifier() -> TextClassifier:
    return TextClassifier(budget=5.0).fit(*reviews(400))


def test_what_is_left_open_is_chosen_and_found_labels_are_right(classifier: TextClassifier) -> None:
    texts, labels = reviews(300, seed=1, noise=0.0)
    assert classifier.score(texts, labels) > 0.97
    assert classifier.fit_["held_out_score"] > 0.8
    assert len({(t["words"], t["chars"] and tuple(t["chars"])) for t in classifier.fit_["trials"]}) > 1


def test_scores_are_those_of_the_reference(classifier: TextClassifier) -> None:
    model, spec = classifier.model_, classifier.model_.spec
    by_print = {p: k for k, p in enumerate(model.prints.tolist())}
    for text in ("A good film, truly.", "", "dull dull dull", "グッド good"):
        values = values_of(text, spec)
        wanted = float(model.bias[0])
        for key, value in values.items():
            if key >> 32 in by_print:
                r = by_print[key >> 32]
                wanted += value * float(model.weights[model.row_ptr[r] : model.row_ptr[r + 1]].sum())
        assert classifier.decision_function([text])[0] == pytest.approx(wanted, abs=1e-5)


def test_probabilities_sum_to_one_and_are_calibrated(classifier: TextClassifier) -> None:
    texts, labels = reviews(600, seed=2)
    p = classifier.predict_proba(texts)
    assert np.allclose(p.sum(axis=1), 1.0)
    assert classifier.classes_.tolist() == ["neg", "pos"]
    report = evaluate(labels, classifier.predict(texts).tolist(), p.max(axis=1))
    assert report.ece is not None
    assert report.ece < 0.08


def test_several_classes_and_threads_change_nothing() -> None:
    texts, labels = reviews(300)
    classes = [label if k % 5 else "other" for k, label in enumerate(labels)]
    texts = [text if k % 5 else f"{text} ticket invoice" for k, text in enumerate(texts)]
    one = TextClassifier(words=1, l2=0.03, threads=1).fit(texts, classes)
    two = TextClassifier(words=1, l2=0.03, threads=2).fit(texts, classes)
    assert one.score(texts, classes) > 0.85
    assert one.predict_proba(texts).tolist() == two.predict_proba(texts).tolist()
    assert one.decision_function(texts[:3]).shape == (3, 3)


def test_several_labels_a_text() -> None:
    texts, labels = reviews(300, noise=0.0)
    sets = [(label, "long") if k % 3 == 0 else (label,) for k, label in enumerate(labels)]
    texts = [
        f"{text} chapter after chapter" if "long" in names else text
        for text, names in zip(texts, sets, strict=True)
    ]
    classifier = TextClassifier(words=1, budget=5.0).fit(texts, sets)
    assert classifier.score(texts, [tuple(sorted(names)) for names in sets]) > 0.95
    classifier.set_thresholds(texts, sets, precision=0.99)
    assert set(classifier.thresholds_) == {"long", "neg", "pos"}


def test_a_file_holds_the_model(classifier: TextClassifier, tmp_path: Path) -> None:
    texts, _ = reviews(200, seed=3)
    full = TextClassifier(words=2, l2=0.03, bits=0).fit(*reviews(400))
    full.save(tmp_path / "full.epigram")
    again = epigram.load(tmp_path / "full.epigram")
    assert again.predict_proba(texts).tolist() == full.predict_proba(texts).tolist()
    assert again.get_params() == full.get_params()
    classifier.save(tmp_path / "small.epigram")
    small = epigram.load(tmp_path / "small.epigram")
    assert np.abs(small.predict_proba(texts) - classifier.predict_proba(texts)).max() < 0.02
    assert small.strongest_ == classifier.strongest_
    corrupt = small.to_bytes()[:-20]
    with pytest.raises(ModelFileError):
        TextClassifier.from_bytes(corrupt)


@pytest.mark.parametrize("labels", [[0, 1, 2, 1], [True, False, True, False], ["a", "b", "a", "b"]])
def test_labels_keep_their_type(labels: list[object]) -> None:
    texts = ["one word", "two words", "three things", "two words again"] * 5
    classifier = TextClassifier(words=1, l2=0.01).fit(texts, labels * 5)
    again = TextClassifier.from_bytes(classifier.to_bytes())
    assert again.classes_.tolist() == sorted(set(labels))  # type: ignore[type-var]
    assert again.predict(texts).tolist() == classifier.predict(texts).tolist()


def test_pruning_keeps_the_number_asked_for() -> None:
    texts, labels = reviews(400)
    classifier = TextClassifier(words=2, l2=0.03, max_features=20).fit(texts, labels)
    assert len(classifier.model_.weights) == 20
    assert classifier.score(texts, labels) > 0.8


@pytest.mark.parametrize("scale", ["idf", "ratios", "none"])
def test_factors_are_part_of_the_weights(scale: str) -> None:
    texts, labels = reviews(200)
    spec, is_in = GramSpec(words=1), np.array([[label == "pos"] for label in labels])
    _, rows = learn_grams(texts, spec)
    seen = np.bincount(rows.ids, minlength=rows.n_columns)
    factors = {
        "idf": (1 + np.log((1 + len(texts)) / (1 + seen))) / 6,
        "ratios": log_count_ratios(rows, is_in[:, 0]),
        "none": np.ones(rows.n_columns),
    }[scale]
    wanted = fit_columns(scaled(rows, factors), is_in, 0.001, 0.03).scores(scaled(rows, factors))[:, 0]
    found = TextClassifier(words=1, l1=0.001, l2=0.03, scale=scale, bits=0, max_features=0).fit(texts, labels)
    assert found.decision_function(texts) == pytest.approx(wanted, abs=0.02 * np.abs(wanted).max())


def test_small_models_have_few_weights() -> None:
    texts, labels = reviews(400)
    small = TextClassifier(words=2, l1=0.5, l2=0.0).fit(texts, labels)
    full = TextClassifier(words=2, l2=0.03).fit(texts, labels)
    assert len(small.model_.weights) < len(full.model_.weights) / 3


def test_weights_of_samples_and_classes() -> None:
    texts, labels = ["a b", "a c"] * 20, ["x", "y", "x", "x"] * 10
    heavy = TextClassifier(words=1, l2=0.1).fit(texts, labels, sample_weight=[1.0, 5.0, 1.0, 1.0] * 10)
    light = TextClassifier(words=1, l2=0.1).fit(texts, labels)
    assert heavy.predict_proba(["a c"])[0, 1] > light.predict_proba(["a c"])[0, 1]
    balanced = TextClassifier(words=1, l2=0.1, class_weight="balanced").fit(texts, labels)
    assert balanced.predict_proba(["a c"])[0, 1] > light.predict_proba(["a c"])[0, 1]


def test_copies_are_in_one_fold_and_blocks_follow_the_file() -> None:
    texts = ["a", "b", "c", "d", "a", "e"]
    folds = folds_of(texts, np.array([0, 0, 0, 0, 1, 1]), 2)
    assert folds[0] == folds[4]
    assert folds[:4].tolist() == [0, 0, 1, 1]


def test_a_budget_of_nothing_still_trains() -> None:
    texts, labels = reviews(100)
    assert TextClassifier(budget=0.0).fit(texts, labels).score(texts, labels) > 0.8


def test_tiny_and_copied_training_sets() -> None:
    assert TextClassifier().fit(["good", "bad"], ["p", "n"]).predict(["good"]).tolist() == ["p"]
    assert TextClassifier().fit(["good", "bad"] * 10, ["p", "n"] * 10).predict(["good"]).tolist() == ["p"]
    with pytest.warns(DataWarning, match="one training text only"):
        TextClassifier(words=1).fit(["good", "bad", "odd"] * 4 + ["rare"], ["p", "n", "o"] * 4 + ["r"])


def test_what_cannot_be_trained_on_is_refused() -> None:
    for X, y, said in (
        (["a", "b"], ["x", "x"], "at least two kinds"),
        (["a"], ["x", "y"], "every text needs its own"),
        ("a text", ["x"], "list of texts"),
        (["a", 3], ["x", "y"], "not a string"),
    ):
        with pytest.raises(InputError, match=said):
            TextClassifier().fit(X, y)  # type: ignore[arg-type]


def test_contributions_add_up_to_the_score(classifier: TextClassifier) -> None:
    text = "A good film, größe and good music"
    for label in ("pos", "neg"):
        found = explain_text(classifier, text, label)
        sign = 1.0 if label == "pos" else -1.0
        assert found.score == pytest.approx(sign * classifier.decision_function([text])[0], abs=1e-4)
        assert found.score == pytest.approx(found.bias + sum(value for _, value in found.grams))
        assert sum(found.marks) == pytest.approx(found.score - found.bias, abs=1e-6)
        assert len(found.marks) == len(found.text)
    assert max(explain_text(classifier, text, "pos").spans(), key=lambda span: span[1])[0] == "good"
    assert "<span" in found.to_html()
    with pytest.raises(InputError, match="no label 'x'"):
        explain_text(classifier, text, "x")


def test_measures_by_hand() -> None:
    report = evaluate(["a", "a", "b", "c"], ["a", "b", "b", "b"])
    assert report.accuracy == 0.5
    assert [(s.precision, s.recall) for s in report.labels] == [(1.0, 0.5), (1 / 3, 1.0), (0.0, 0.0)]
    assert report.macro_f1 == pytest.approx((2 / 3 + 0.5 + 0.0) / 3)
    several = evaluate([("a", "b"), ()], [("a",), ("b",)])
    assert (several.accuracy, several.micro_f1) == (0.0, 0.5)


def test_scikit_learn_takes_it_apart() -> None:
    model_selection = pytest.importorskip("sklearn.model_selection")
    base = pytest.importorskip("sklearn.base")
    texts, labels = reviews(120)
    search = model_selection.GridSearchCV(TextClassifier(words=1, budget=1.0), {"l2": [0.03, 1.0]}, cv=2)
    assert search.fit(texts, labels).best_score_ > 0.8
    assert base.clone(TextClassifier(words=3)).words == 3


def test_the_first_candidate_is_tried_whatever_the_budget() -> None:
    texts, labels = reviews(60)
    targets = np.array([[label == "pos"] for label in labels])
    selection = Selection(texts, targets, targets[:, 0].astype(int), False, budget=0.0)
    best = selection.run(candidates_for(texts, 1))
    assert best is not None
    assert best.candidate == candidates_for(texts, 1)[0]


def test_probabilities_of_one_column_several_columns_and_several_labels() -> None:
    s = np.array([[1.0, -1.0]])
    assert probabilities_of(s[:, :1], 1.0, False).sum() == pytest.approx(1.0)
    assert probabilities_of(s, 2.0, False)[0, 0] == pytest.approx(np.e / (np.e + 1.0))
    assert probabilities_of(s, 1.0, True).sum() == pytest.approx(1.0)


def reviews_of_three_kinds() -> tuple[list[str], list[str]]:
    texts, labels = reviews(80)
    return texts, [label if k % 5 else "other" for k, label in enumerate(labels)]


@cache
def chosen_at_once() -> bytes:
    return TextClassifier(budget=600.0).fit(*reviews_of_three_kinds()).to_bytes()


@pytest.mark.parametrize("step", [3, 6, 9])
def test_a_stopped_choice_resumes_to_the_same_bytes(tmp_path: Path, step: int) -> None:
    texts, labels = reviews_of_three_kinds()
    wanted = chosen_at_once()
    said: list[str] = []

    def stop(what: str) -> None:
        said.append(what)
        if len(said) == step:
            raise KeyboardInterrupt

    path = tmp_path / "checkpoint"
    with pytest.raises(KeyboardInterrupt), Checkpoint(path, every=0.0):
        TextClassifier(budget=600.0).fit(texts, labels, callback=stop)
    again: list[str] = []
    with Checkpoint(path, every=0.0, resume=True):
        resumed = TextClassifier(budget=600.0).fit(texts, labels, callback=again.append)
    assert resumed.to_bytes() == wanted
    assert again == said[step - 1 :] + again[1:]  # steps before it were not done again
    assert len(again) > 1 or step == 9


def test_a_user_ends_the_choice_and_it_resumes(tmp_path: Path) -> None:
    texts, labels = reviews(80)
    wanted = TextClassifier(budget=600.0).fit(texts, labels).to_bytes()
    path, said = tmp_path / "checkpoint", list[str]()
    with Checkpoint(path, every=60.0) as tape:

        def stop(what: str) -> bool:
            said.append(what)
            tape.interrupted = len(said) > 2
            return tape.interrupted

        stopped = TextClassifier(budget=600.0).fit(texts, labels, callback=stop)
    assert len(stopped.fit_["trials"]) < len(TextClassifier.from_bytes(wanted).fit_["trials"])
    assert stopped.score(texts, labels) > 0.8
    with Checkpoint(path, every=60.0, resume=True):
        assert TextClassifier(budget=600.0).fit(texts, labels).to_bytes() == wanted


def test_seconds_of_the_first_run_count_when_it_is_resumed() -> None:
    texts, labels = reviews(60)
    targets = np.array([[label == "pos"] for label in labels])
    selection = Selection(texts, targets, targets[:, 0].astype(int), False, budget=10.0)
    selection._began -= 9.999
    assert not selection._has_time(10_000, 100, 1.0)
    assert selection._has_time(0, 1, 1.0)


def test_files_of_more_than_fifty_labels_may_be_larger() -> None:
    weights = np.ones((8000, 50))
    kept = []
    for n_labels in (2, 50, 100):
        classifier = TextClassifier()
        classifier.classes_ = np.arange(n_labels)
        kept.append(int(classifier._used(weights, np.ones(8000)).sum()))
    assert kept[0] == kept[1] < 250_000 < kept[2]
