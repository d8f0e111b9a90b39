"""Updates of classifiers: what the new texts say is learnt, the rest stays."""

from __future__ import annotations

import numpy as np
import pytest

from epigram import TextClassifier
from epigram.classify.loss import LinearLoss
from epigram.classify.model import prints_of
from epigram.classify.update import with_columns
from epigram.errors import InputError
from epigram.features.grams import learn_grams
from epigram.penalties import ElasticNet
from epigram.solvers import OWLQN
from tests.classify.test_classify import FILLER, reviews


def fitted(**settings: object) -> TextClassifier:
    return TextClassifier(words=1, l2=0.03, **settings).fit(*reviews(300))  # type: ignore[arg-type]


def test_new_words_are_learnt_and_old_ones_kept() -> None:
    classifier, (texts, labels) = fitted(), reviews(200, seed=5)
    before = classifier.score(texts, labels)
    new = ["a stellar film", "with a wooden story", "stellar music", "wooden people"] * 5
    found = classifier.partial_fit(new, ["pos", "neg"] * 10)
    assert found is classifier
    assert classifier.predict(["stellar", "wooden"]).tolist() == ["pos", "neg"]
    assert classifier.score(texts, labels) >= before - 0.01
    assert classifier.fit_["samples"] == 320
    again = TextClassifier.from_bytes(classifier.to_bytes())
    assert again.predict(["stellar"]).tolist() == ["pos"]
    assert "stellar" in [name for name, _ in again.strongest_[0]]
    assert "superb" in [name for name, _ in again.strongest_[0]]


def test_the_changes_are_those_of_a_quasi_newton_method() -> None:
    classifier = fitted(bits=0, max_features=0, l1=0.1)
    texts, labels = reviews(40, seed=9)
    offsets = classifier.decision_function(texts)
    table, rows = learn_grams(texts, classifier.model_.spec, 2)
    loss = LinearLoss(rows, np.array(labels) == "pos", None, offsets)
    wanted = OWLQN(tolerance=1e-8).solve(loss, ElasticNet(0.1, 0.12)).w
    old = dict(zip(classifier.model_.prints.tolist(), classifier.model_.weights.tolist(), strict=True))
    classifier.partial_fit(texts, labels)
    new = dict(zip(classifier.model_.prints.tolist(), classifier.model_.weights.tolist(), strict=True))
    for print_, change in zip(prints_of(table.fingerprints).tolist(), wanted, strict=False):
        assert new.get(print_, 0.0) == pytest.approx(old.get(print_, 0.0) + change, abs=0.08)


def test_columns_of_two_classes_keep_their_probabilities() -> None:
    classifier, (texts, _) = fitted(), reviews(50, seed=3)
    wanted = classifier.predict_proba(texts)
    model = with_columns(classifier.model_, [0, 2], 3, 10**9)
    p = model.probabilities(model.score(texts))
    assert np.allclose(p[:, [0, 2]] / p[:, [0, 2]].sum(axis=1, keepdims=True), wanted, atol=1e-6)
    assert (p[:, 1] < p[:, [0, 2]].max(axis=1)).all()


@pytest.mark.parametrize("several", [False, True])
def test_a_new_label(several: bool) -> None:
    texts, labels = reviews(300)
    y = [(label,) for label in labels] if several else labels
    classifier = TextClassifier(words=1, l2=0.03).fit(texts, y)
    invoices = [f"{FILLER[k % 14]} invoice of the {FILLER[(3 * k) % 14]}" for k in range(20)]
    others, names = reviews(40, seed=2)
    new = ["bill"] * 20 + names
    classifier.partial_fit(invoices + others, [(name,) for name in new] if several else new)
    assert classifier.classes_.tolist() == ["bill", "neg", "pos"]
    found = classifier.predict(["an invoice", "a superb film", "a dull story"]).tolist()
    assert found == ([("bill",), ("pos",), ("neg",)] if several else ["bill", "pos", "neg"])


def test_new_labels_alone_are_refused() -> None:
    with pytest.raises(InputError, match="texts of the known labels too"):
        fitted().partial_fit(["an invoice", "a bill"], ["bill", "bill"])


def test_a_matrix_stays_a_matrix() -> None:
    texts, labels = reviews(100)
    y = np.array([[label == "pos", label == "neg"] for label in labels], dtype=int)
    classifier = TextClassifier(words=1, l2=0.03).fit(texts, y)
    assert classifier.partial_fit(texts, y).predict(texts).shape == (100, 2)
    for wrong in (y[:, :1], labels):
        with pytest.raises(InputError):
            classifier.partial_fit(texts, wrong)


def test_without_a_model_it_is_a_fit() -> None:
    texts, labels = reviews(100)
    one = TextClassifier(words=1, l2=0.03).partial_fit(texts, labels)
    assert one.to_bytes() == TextClassifier(words=1, l2=0.03).fit(texts, labels).to_bytes()
