"""Model files of format 1 still load and give the same answers.

The files ``old/*.laconic`` were written by version 0.1.0, under the project's first name; ``old/*.epigram`` hold one
model of every kind, written by the last version with format 1. All were trained on a few sentences of the sample
grammar.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from epigram.rerank import NBest
from epigram.storage import describe, load

OLD = Path(__file__).parent / "old"


def test_old_tagger() -> None:
    tagger = load(OLD / "tagger.laconic")
    sentence = [["The", "DT"], ["cat", "NN"], ["sleeps", "VBZ"]]
    assert [list(tags) for tags in tagger.predict([sentence])] == [["B-NP", "I-NP", "B-VP"]]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("loglinear", [-0.3001114453031627, -1.9048259073572635, -0.4397439991350552, -1.752519914435687]),
        ("kneser-ney", [-0.7642431259155273, -1.0140548944473267, -0.9053217172622681, -0.8522118926048279]),
        ("factored", [-0.4892223349314477, -0.8251903830093635, -0.7044002155268649, -0.7958544771441278]),
    ],
)
def test_old_language_models(name: str, expected: list[float]) -> None:
    model = load(OLD / f"{name}.laconic")
    np.testing.assert_allclose(model.word_scores("the dog sleeps"), expected, rtol=1e-12)


def test_old_reranker() -> None:
    candidates = [{"text": "the dock sees", "score": -1.0}, {"text": "the dog sees", "score": -1.1}]
    lists = NBest.from_lists([{"candidates": candidates}])
    assert load(OLD / "reranker.laconic").predict(lists).tolist() == [1]


def test_old_converter() -> None:
    assert load(OLD / "converter.laconic").convert("きょうはあめです") == "今日は雨です"


@pytest.mark.parametrize("path", sorted(OLD.glob("*.laconic")), ids=lambda path: path.stem)
def test_old_files_can_be_inspected(path: Path) -> None:
    file, sections = describe(path)
    assert sections
    assert file.header["epigram"] == "0.1.0"


ANSWERS = json.loads((OLD / "answers.json").read_text(encoding="utf-8"))


def answer(model: Any) -> Any:
    """The answer of a model of any family to a fixed question."""
    if hasattr(model, "word_scores"):
        return model.word_scores("the old dog sees a zebra").tolist()
    if hasattr(model, "convert"):
        return [found.text for found in model.nbest("きょうはあめがふる", 3)]
    if hasattr(model, "space_"):
        texts = ["the dock sees a cat", "the dog sees a cat", "the dog sees a hat"]
        candidates = [{"text": text, "score": -k / 10, "features": {"lm": k}} for k, text in enumerate(texts)]
        return model.scores(NBest.from_lists([{"candidates": candidates}])).tolist()
    if hasattr(model, "predict_heads"):
        sentence = [("the", "DET", "DT"), ("dog", "NOUN", "NN"), ("barks", "VERB", "VBZ")]
        return model.predict_heads([sentence]).tolist()
    if type(model).__name__ == "TreeTagger":
        return model.predict([([1, -1, 1], [[word] * 40 for word in ("the", "dog", "sees")])])
    return [list(labels) for labels in model.predict([[["The", "DT"], ["dog", "NN"], ["sleeps", "VBZ"]]])]


@pytest.mark.parametrize("path", sorted(OLD.glob("*.epigram")), ids=lambda path: path.stem)
def test_files_of_format_1_answer_as_recorded(path: Path) -> None:
    expected, found = ANSWERS[path.stem], json.loads(json.dumps(answer(load(path))))
    assert found == (pytest.approx(expected, rel=1e-9) if isinstance(expected[0], float) else expected)
    assert describe(path)[1]
