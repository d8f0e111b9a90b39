"""The estimator: choice of the step, path, warm restart, explanation, file, odd lists, real data."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from epigram import (
    FSLR,
    BLasso,
    Boosting,
    FBoosting,
    InputError,
    Lasso,
    Perceptron,
    Reranker,
    Softmax,
    read_nbest,
)
from epigram.errors import ModelFileError
from epigram.rerank import NBest, Progress
from epigram.rerank.features import HEADS
from epigram.rerank.metrics import base_choice, error_rate
from epigram.storage import ModelFile, describe, load
from reference.rerank_lists import features, random_lists

TRAIN, DEV = random_lists(1, n_lists=40), random_lists(2, n_lists=20)
LEARNERS: list[Any] = [
    BLasso(300, 0.5, 0.0), FBoosting(50, 0.5), FSLR(50, 0.5), Boosting(50, 1e-2, 1.0),
    Lasso(steps=4, weakest=0.05), Softmax(steps=3), Perceptron(4, 1.0),
]  # fmt: skip


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_curves_and_choice_follow_the_path(learner: Any) -> None:
    model = Reranker(learner, min_count=1).fit(TRAIN, dev=DEV)
    dev = NBest.from_lists(DEV)
    steps = range(0, len(model.path_) + 1, max(1, len(model.path_) // 7))
    for step in steps:
        there = model.at(step)
        assert model.curves_.l1_norms[step] == pytest.approx(np.abs(there.weights_).sum())
        assert model.curves_.nonzeros[step] == np.count_nonzero(there.weights_)
        chosen = dev.list_ptr[:-1] + there.predict(dev)
        assert model.curves_.dev_errors[step] == dev.errors()[chosen].sum()
    assert model.curves_.dev_errors[model.step_] == model.curves_.dev_errors.min()
    assert model.error_rate(DEV) == pytest.approx(100 * model.curves_.dev_errors.min() / model.dev_length_)
    assert model.at(0).predict(DEV).tolist() == base_choice(dev).tolist()
    assert model.at(len(model.path_)).error_rate(TRAIN) < model.at(0).error_rate(TRAIN)


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_saved_models_are_the_same_and_go_on(learner: Any, tmp_path: Path) -> None:
    from dataclasses import replace

    file = tmp_path / "model.epigram"
    whole = Reranker(learner, ngrams=3, headwords=["a", "c"], chars=2, min_count=1).fit(TRAIN, dev=DEV)
    steps = len(whole.path_)
    half = clone(whole).set_params(learner=replace(learner, steps=steps // 2)).fit(TRAIN, dev=DEV)
    half.save(file)
    loaded = load(file)
    assert loaded.get_params()["learner"] == half.learner
    assert loaded.step_ == half.step_
    np.testing.assert_allclose(loaded.scores(DEV), half.scores(DEV), rtol=1e-12)
    np.testing.assert_array_equal(loaded.curves_.dev_errors, half.curves_.dev_errors)
    np.testing.assert_allclose(loaded.curves_.l1_norms, half.curves_.l1_norms)
    if isinstance(learner, Lasso):
        return  # its penalties depend on how many there are
    loaded.resume(TRAIN, steps=steps, dev=DEV)
    np.testing.assert_allclose(loaded.path_.losses, whole.path_.losses, rtol=1e-9)
    np.testing.assert_array_equal(loaded.curves_.dev_errors, whole.curves_.dev_errors)


def test_only_the_training_lists_go_on(tmp_path: Path) -> None:
    model = Reranker(BLasso(30, 0.5, 0.0), min_count=1).fit(TRAIN, dev=DEV)
    path = model.path_
    with pytest.raises(InputError, match="the lists are not those of the training"):
        model.resume(DEV, steps=60, dev=DEV)
    assert model.path_ is path


def test_describe_shows_weights_and_path(tmp_path: Path) -> None:
    file = tmp_path / "model.epigram"
    model = Reranker(BLasso(30, 0.5, 0.0), min_count=1).fit(TRAIN)
    model.save(file)
    header, (weights, path) = describe(file)
    assert header.header["fit"]["nonzero"] == np.count_nonzero(model.weights_)
    assert weights.rows[0][1] == pytest.approx(model.weights_[np.abs(model.weights_).argmax()])
    assert path.records()[-1]["step"] == 30


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "model.epigram"
    Reranker(BLasso(steps=5), min_count=1).fit(TRAIN).save(file)
    content = ModelFile.load(file)
    del content.tensors["path.deltas"]
    content.save(file)
    with pytest.raises(ModelFileError, match="corrupt"):
        Reranker.load(file)


def test_patience_and_callback_stop_the_fit() -> None:
    seen: list[Progress] = []
    Reranker(BLasso(10_000, 0.01, 0.0)).fit(TRAIN, callback=lambda now: seen.append(now) or now.step > 1000)
    assert seen[-1].step == 1024
    patient = Reranker(BLasso(10_000, 0.01, 0.0), patience=600).fit(TRAIN, dev=DEV)
    assert 600 <= len(patient.path_) - patient.step_ < 600 + 512


def test_explanation_sums_to_the_lead() -> None:
    model = Reranker(BLasso(100, 0.5, 0.0), min_count=1).fit(TRAIN)
    changed = 0
    for i, record in enumerate(TRAIN):
        story = model.explain(TRAIN, i)
        assert sum(term.lift for term in story.terms) == pytest.approx(story.lead, abs=1e-9)
        winner, base = (features(record["candidates"][k], 2) for k in (story.winner, story.base))
        for term in story.terms:
            if term.feature != "base score":
                assert term.difference == winner[term.feature] - base[term.feature]
        changed += story.winner != story.base
    assert changed > 5
    with pytest.raises(InputError, match="lists 0 to"):
        model.explain(TRAIN, 999)


def test_rank_agrees_with_scores_and_predict() -> None:
    model = Reranker(BLasso(steps=50), min_count=1).fit(TRAIN)
    scores, start = model.scores(DEV), 0
    for record, ranking, best in zip(DEV, model.rank(DEV), model.predict(DEV), strict=True):
        part = scores[start : start + len(record["candidates"])]
        assert ranking.tolist() == np.argsort(-part, kind="stable").tolist()
        assert ranking[0] == best
        start += len(part)


def test_headword_tags_find_what_a_word_list_finds() -> None:
    tagged = [
        {
            **r,
            "candidates": [
                {**c, "tags": ["N" if t in "ac" else "x" for t in c["tokens"]]} for c in r["candidates"]
            ],
        }
        for r in TRAIN
    ]
    by_word = Reranker(BLasso(steps=40), headwords=["a", "c"], min_count=1).fit(TRAIN)
    by_tag = Reranker(BLasso(steps=40), headword_tags=["N"], min_count=1).fit(tagged)
    np.testing.assert_array_equal(by_word.path_.losses, by_tag.path_.losses)
    assert len(by_word.space_.nodes[HEADS])


def test_odd_lists_give_sane_results() -> None:
    single = [{"reference": "a", "candidates": [{"text": "a", "score": -1}]}]
    alone = Reranker(min_count=1).fit(single)
    assert (len(alone.path_), alone.predict(single).tolist(), alone.error_rate(single)) == (0, [0], 0.0)
    twice = [
        {"reference": "a", "candidates": [{"text": "a", "score": -1}] * 2 + [{"text": "b", "score": 0}]}
    ] * 2
    model = Reranker(BLasso(steps=50), min_count=1).fit(twice, dev=single)
    assert model.at(len(model.path_)).predict(twice).tolist() == [0, 0]
    empty_hypothesis = [
        {"reference": "a", "candidates": [{"tokens": [], "score": 0}, {"text": "a", "score": -9}]}
    ]
    assert Reranker(BLasso(steps=9), min_count=1).fit(empty_hypothesis).predict(
        empty_hypothesis
    ).tolist() == [1]
    unseen = [{"candidates": [{"text": "never seen words", "score": -5}, {"text": "zzz", "score": -4}]}]
    assert Reranker(BLasso(steps=50)).fit(TRAIN).predict(unseen).tolist() == [1]


def test_bad_use_is_refused() -> None:
    with pytest.raises(InputError, match="no development lists"):
        Reranker().fit(TRAIN, dev=[])
    with pytest.raises(InputError, match="no training lists"):
        Reranker().fit([])
    with pytest.raises(InputError, match="neither a reference nor errors"):
        Reranker().fit([{"candidates": [{"text": "a", "score": 0}]}])
    for options, word in [
        ({"measure": "bleu"}, "measure"),
        ({"ngrams": 0}, "ngrams"),
        ({"min_count": 0}, "min_count"),
        ({"risk": -1.0}, "risk"),
    ]:
        with pytest.raises(ValueError, match=word):
            Reranker(**options).fit(TRAIN)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="learner must be"):
        Reranker("blasso").fit(TRAIN)  # type: ignore[arg-type]


def test_measure_wer_counts_words() -> None:
    lists = [
        {
            "reference": "aaaa b",
            "candidates": [{"text": "aaaa c d", "score": 0}, {"text": "x b", "score": -1}],
        }
    ] * 2
    assert Reranker(BLasso(steps=9), measure="cer").fit(lists).predict(lists)[0] == 0
    assert Reranker(BLasso(steps=9), measure="wer").fit(lists).predict(lists)[0] == 1


def test_learns_on_real_lists(data: Path) -> None:
    folder = data / "ime" / "nbest" / "tanaka"
    train = read_nbest(folder / "train.txt.gz").take(range(2000))
    dev = read_nbest(folder / "heldout.txt.gz")
    assert error_rate(dev, base_choice(dev)) == pytest.approx(7.29, abs=0.01)
    assert error_rate(dev, dev.oracle() - dev.list_ptr[:-1]) == pytest.approx(1.01, abs=0.01)
    model = Reranker(BLasso(3000, 0.5, 0.0), min_count=1).fit(train, dev=dev)
    assert model.error_rate(dev) < 5.7
    assert 0.05 < 1.0 * np.count_nonzero(model.weights_) / model.step_ < 0.6


def test_a_pickle_is_as_small_as_the_file() -> None:
    model = Reranker(BLasso(300, 0.5, 0.0), min_count=1).fit(TRAIN, dev=DEV)
    content = pickle.dumps(model)
    assert len(content) < 1.5 * len(model.to_bytes())
    again = pickle.loads(content)
    assert again.to_bytes() == model.to_bytes()
    assert np.array_equal(again.scores(DEV), model.scores(DEV))
    assert pickle.loads(pickle.dumps(Reranker(ngrams=3))).ngrams == 3
