"""Pickles of taggers are small and go on learning as model files do; explanations print; other names are explained."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from epigram import BLasso, CRFTagger, MaxentClassifier, MaxentTagger, Reranker
from epigram.datasets import sample
from epigram.parsing import DependencyParser
from epigram.tagging import RerankedTagger, SegmentTagger

SENTENCES = sample.tagged("train", 200)
ROWS = [[token[:2] for token in sentence] for sentence in SENTENCES]
LABELS = [[token[2] for token in sentence] for sentence in SENTENCES]
FEATURES = [[{"w": word.lower(), "suffix": word[-3:], "pos": pos} for word, pos in row] for row in ROWS]
SEGMENTS = "U0:%x[0,0]\nU1:%x[0,1]\nB\nS0:%x[length]\n"


@pytest.mark.parametrize(
    ("tagger", "X"),
    [
        (CRFTagger(l1=1.0), FEATURES),
        (CRFTagger(l1="auto"), FEATURES),
        (CRFTagger(l1=0.1, l2=0.1), FEATURES),
        (CRFTagger("chunking", l1=0.3, order=2, constrain="iob2"), ROWS),
        (SegmentTagger(SEGMENTS, l1=0.3), ROWS),
        (MaxentTagger("chunking", l1=0.3), ROWS),
        (RerankedTagger(CRFTagger("chunking", l1=0.3), k=3, folds=2), ROWS),
    ],
)
def test_a_pickle_is_as_small_as_a_file(tagger: Any, X: Any) -> None:
    tagger.fit(X, LABELS)
    for one in (tagger, type(tagger).from_bytes(tagger.to_bytes())):
        content = pickle.dumps(one)
        assert len(content) <= 2 * len(one._to_model_file().to_bytes(compress=False))
        again = pickle.loads(content)
        assert again.to_bytes() == one.to_bytes()
        assert again.predict(X) == one.predict(X)
        if hasattr(again, "marginals") and not isinstance(again, SegmentTagger):
            for mine, theirs in zip(again.marginals(X[:20]), one.marginals(X[:20]), strict=True):
                assert np.allclose(mine[0], theirs[0], rtol=1e-12)


def test_a_pickle_goes_on_learning_as_a_file_does() -> None:
    tagger = CRFTagger("chunking", l1=0.3).fit(ROWS[:150], LABELS[:150])
    by_pickle, by_file = pickle.loads(pickle.dumps(tagger)), CRFTagger.from_bytes(tagger.to_bytes())
    for one in (by_pickle, by_file):
        one.partial_fit(ROWS[150:], LABELS[150:])
    assert by_pickle.predict(ROWS) == by_file.predict(ROWS)
    assert tagger._state is not None  # pickling has changed nothing here


def test_a_pickle_of_a_wide_matrix_holds_no_column_names() -> None:
    rng = np.random.default_rng(0)
    X = np.zeros((60, 20_000))
    X[:, :5] = rng.normal(size=(60, 5))
    classifier = MaxentClassifier(l1=1.0).fit(X, X[:, 0] > 0)
    assert len(pickle.dumps(classifier)) <= 2 * len(classifier.to_bytes())
    again = pickle.loads(pickle.dumps(classifier))
    assert again.predict_proba(X).tobytes() == classifier.predict_proba(X).tobytes()
    assert again.coef_.tobytes() == classifier.coef_.tobytes()


def test_a_parser_can_be_pickled() -> None:
    X = [[("the", "D", "D"), ("dog", "N", "N"), ("barks", "V", "V")]] * 3
    parser = DependencyParser(l1=0.01, min_count=1).fit(X, [[(2, "det"), (3, "nsubj"), (0, "root")]] * 3)
    assert pickle.loads(pickle.dumps(parser)).predict(X) == parser.predict(X)


@pytest.mark.parametrize("kind", [CRFTagger, MaxentTagger, SegmentTagger, MaxentClassifier])
@pytest.mark.parametrize(
    ("name", "ours"), [("c1", "l1"), ("c2", "l2"), ("algorithm", "solver"), ("max_iterations", "passes=30")]
)
def test_parameters_of_sklearn_crfsuite_are_named(kind: Any, name: str, ours: str) -> None:
    with pytest.raises(TypeError, match=f"no parameter '{name}'; give .*{ours}"):
        kind(**{name: 0.1})
    with pytest.raises(TypeError, match="unexpected keyword argument 'l3'"):
        kind(l3=0.1)


def test_explanations_print_as_tables() -> None:
    tagger = CRFTagger(l1=0.1).fit(FEATURES, LABELS)
    why = tagger.explain(FEATURES[0], 2)
    head, names, *rows = str(why).splitlines()
    assert head == f"token 2: {why.label!r}, {why.lead:+.3f} over {why.other!r}"
    assert names.split() == ["token", "feature", "label", "lift"]
    assert why.terms[0].feature in rows[0]
    assert f"{why.terms[0].lift:+.3f}" in rows[0]
    assert len({row.rindex(" ") for row in rows}) == 1
    assert sum(float(row.split()[-1]) for row in rows) == pytest.approx(why.lead, abs=0.01)
    lists = sample.lists("train", 50)
    chosen = Reranker(BLasso(steps=50, eps=0.5), measure="wer").fit(lists).explain(lists, 0)
    assert str(chosen).splitlines()[1].split() == ["feature", "lift"]
    assert max(map(len, str(chosen).splitlines()[1:])) < 100
