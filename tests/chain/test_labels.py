"""Labels come back as they were given: integers, booleans and floats, from memory and from files."""

from __future__ import annotations

import pickle
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import epigram
from epigram import CRFTagger, MaxentTagger
from epigram.errors import InputError, ModelFileError
from epigram.parsing import TreeTagger
from epigram.storage import ModelFile
from epigram.tagging import RerankedTagger, pool

WORDS = [["the", "cat"], ["a", "dog"], ["the", "dog"], ["a", "cat"]] * 4
TEMPLATE = "U0:%x[0,0]\nB\n"
TYPES: dict[str, tuple[Any, Any]] = {
    "int": (1, 10),
    "negative": (-1, 2),
    "bool": (False, True),
    "float": (0.5, 2.0),
    "str": ("D", "N"),
}


def trained(kind: str, first: Any, second: Any) -> Any:
    y = [[first, second]] * len(WORDS)
    if kind == "tree":
        return TreeTagger(TEMPLATE, l1=0.01).fit([([1, -1], words) for words in WORDS], y)
    if kind == "pool":
        return pool(
            [CRFTagger(template, l1=0.01).fit(WORDS, y) for template in (TEMPLATE, "U1:%x[-1,0]\nB\n")]
        )
    if kind == "reranked":
        return RerankedTagger(CRFTagger(TEMPLATE, l1=0.01), k=2, folds=2).fit(WORDS, y)
    return {"crf": CRFTagger, "history": MaxentTagger}[kind](TEMPLATE, l1=0.01).fit(WORDS, y)


@pytest.mark.parametrize("labels", TYPES)
@pytest.mark.parametrize("kind", ["crf", "history", "tree", "pool", "reranked"])
def test_labels_keep_their_type(tmp_path: Path, kind: str, labels: str) -> None:
    first, second = TYPES[labels]
    tagger = trained(kind, first, second)
    tagger.save(tmp_path / "model")
    X = [([1, -1], ["the", "dog"])] if kind == "tree" else [["the", "dog"]]
    for one in (tagger, epigram.load(tmp_path / "model"), pickle.loads(pickle.dumps(tagger))):
        assert one.predict(X) == [[first, second]]
        assert [type(label) for label in one.predict(X)[0]] == [type(first)] * 2
        assert one.classes_.tolist() == [first, second]
        assert one.score(X, [[first, second]]) == 1.0
        if kind not in ("history", "tree"):
            assert set(one.predict_marginals(X)[0][0]) == {first, second}
            assert one.predict_nbest(X, 1)[0][0][0] == [first, second]
            assert one.confidence(X, [[(0, [first])]])[0][0] > 0.5
        if kind != "history":
            why = one.explain(X[0], 1)
            assert (why.label, why.other, why.labels) == (second, first, (first, second))


def test_numbers_of_numpy_and_partial_labels() -> None:
    tagger = CRFTagger(TEMPLATE, l1=0.01).fit(
        WORDS, [np.array([3, 20]), [np.int8(3), {20, 3}], [None, 20], [3, 20]] * 4
    )
    assert tagger.predict(WORDS[:1]) == [[3, 20]]
    assert tagger.predict(WORDS[:1], allowed=[[[20], None]])[0][0] == 20
    again = tagger.partial_fit([["an", "ox"]], [[3, 100]])
    assert again.classes_.tolist() == [3, 20, 100]
    assert CRFTagger.from_bytes(again.to_bytes()).partial_fit([["an", "ox"]], [[3, 101]]).classes_.tolist() == [
        3, 20, 100, 101,
    ]  # fmt: skip
    weighted = CRFTagger(TEMPLATE, l1=0.01, class_weight={20: 2.0}, constrain=[(3, 20)])
    assert weighted.fit(WORDS, [[3, 20]] * 16).predict(WORDS[:1]) == [[3, 20]]


@pytest.mark.parametrize(
    ("y", "said"),
    [
        ([["O", 1]], "several types"),
        ([[True, 1]], "several types"),
        ([[float("nan"), 1.0]], "nan"),
        ([[b"D", b"N"]], "bytes"),
        ([[Enum("Tag", "D N").D, "N"]], "Tag"),  # type: ignore[attr-defined]
    ],
)
def test_labels_that_no_file_can_hold_are_refused(y: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        CRFTagger(TEMPLATE).fit(WORDS[:1], y)


def test_labels_of_another_type_are_refused_later_too() -> None:
    tagger = trained("crf", 1, 2)
    with pytest.raises(InputError, match="several types"):
        tagger.partial_fit(WORDS[:1], [["D", "N"]])
    with pytest.raises(InputError, match="several types"):
        tagger.score(WORDS[:1], [["1", "2"]])


@pytest.mark.parametrize("label_type", ["complex", "bool"])
def test_files_with_labels_of_another_type_are_corrupt(label_type: str) -> None:
    file = ModelFile.from_bytes(trained("crf", 1, 2).to_bytes())
    file.header["label_type"] = label_type
    with pytest.raises(ModelFileError, match="labels"):
        CRFTagger.from_bytes(file.to_bytes())
