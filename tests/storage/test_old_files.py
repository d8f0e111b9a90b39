"""Model files written under the project's first name, laconic, still load and give the same answers.

The files in ``old`` were written by laconic 0.1.0 from a few sentences made up for this test; so were the answers.
"""

from __future__ import annotations

from pathlib import Path

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
