"""``inspect --weights``: every weight of every family, as columns or JSON, chosen by label and attribute."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from epigram import ClassFactoredLM, CRFTagger, KneserNeyLM, LogLinearLM, NBest, Reranker
from epigram.compat.crfsuite.file import write_model
from epigram.datasets import sample
from in_process import epigram

TEXT = [" ".join(sentence) for sentence in sample.plain("train", 60)]


def rows(*words: object) -> list[list[str]]:
    done = epigram("inspect", *words, "--weights")
    assert done.returncode == 0, done.stderr
    return [line.split("\t") for line in done.stdout.decode().removesuffix("\n").split("\n")]


def test_taggers(tmp_path: Path) -> None:
    X = [[["w=a"], ["w=b", "w=c"]], [["w=b"], ["w=a"]]]
    tagger = CRFTagger(l1=0.01).fit(X, [["A", "B"], ["B", "A"]])
    tagger.save(tmp_path / "m.epigram")
    (tmp_path / "m.crfsuite").write_bytes(write_model(tagger.model_))
    weights = tagger.model_.weights.values
    for name in ("m.epigram", "m.crfsuite"):
        head, *found = rows(tmp_path / name)
        assert head == ["attribute", "before", "label", "weight"]
        assert sorted(float(row[3]) for row in found if row[0]) == pytest.approx(
            sorted(weights.tolist()), abs=1e-5
        )
        assert len([row for row in found if not row[1]]) == len(weights)
        assert {(row[1], row[2]) for row in found if not row[0]} <= {("A", "B"), ("B", "A")}
    _, *chosen = rows(tmp_path / "m.epigram", "--label", "A", "--attribute", "w=[ab]")
    assert chosen
    assert {row[2] for row in chosen} == {"A"}
    assert {row[0] for row in chosen} <= {"w=a", "w=b"}
    done = epigram("inspect", tmp_path / "m.epigram", "--weights", "--format", "json")
    assert set(json.loads(done.stdout.decode().split("\n")[0])) == set(head)


def test_back_off_models_have_their_n_grams(tmp_path: Path) -> None:
    model = KneserNeyLM(order=3).fit(TEXT).backoff_
    model.save(tmp_path / "m.epigram")
    head, *found = rows(tmp_path / "m.epigram")
    assert head == ["attribute", "label", "weight", "backoff"]
    assert len(found) == model.n_ngrams
    context, word, logp, _ = found[-1]
    state = model.start() if context.startswith("<s>") else model.state(())
    for one in context.replace("<s>", "").split():
        state, _ = model.advance(state, one)
    assert model.advance(state, word)[1] == pytest.approx(float(logp), abs=1e-4)


def test_log_linear_models(tmp_path: Path) -> None:
    model = LogLinearLM(order=2, penalty="l1").fit(TEXT)
    model.save(tmp_path / "m.epigram")
    _, *found = rows(tmp_path / "m.epigram")
    assert len(found) == pytest.approx(model.n_nonzero_, abs=3)


def test_class_factored_models(tmp_path: Path) -> None:
    ClassFactoredLM(classes=4).fit(TEXT).save(tmp_path / "m.epigram")
    head, *found = rows(tmp_path / "m.epigram")
    assert head == ["part", "attribute", "label", "weight"]
    assert {row[0] for row in found} == {"class", "word"}


def test_rerankers(tmp_path: Path) -> None:
    record = {"reference": "a b", "candidates": [{"text": "a c", "score": -1}, {"text": "a b", "score": -2}]}
    model = Reranker(min_count=1).fit(NBest.from_lists([{**record, "id": str(k)} for k in range(6)]))
    model.save(tmp_path / "m.epigram")
    head, *found = rows(tmp_path / "m.epigram")
    assert head == ["attribute", "weight"]
    assert len(found) == (model.weights_ != 0).sum()
    done = epigram("inspect", tmp_path / "m.epigram", "--weights", "--label", "x")
    assert (done.returncode, b"have no label" in done.stderr) == (2, True)
    done = epigram("inspect", tmp_path / "m.epigram", "--label", "x")
    assert (done.returncode, b"add that" in done.stderr) == (2, True)
