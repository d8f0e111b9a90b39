"""Text classifiers over HTTP: probabilities, and the n-grams behind them."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("starlette")

from starlette.testclient import TestClient

from epigram import TextClassifier
from epigram.datasets import sample

TEXTS = ["the cook tasted the soup", "the sailors rowed the boat", ""]


def test_labels_are_those_of_the_classifier(client: TestClient, files: dict[str, Path]) -> None:
    found = client.post("/v1/classify", json={"texts": TEXTS, "top": 6}).json()
    assert found["model"] == "topics"
    model = TextClassifier.load(files["topics"])
    for document, row in zip(found["documents"], model.predict_proba(TEXTS), strict=True):
        p = [one["probability"] for one in document["labels"]]
        assert p == pytest.approx(sorted(row, reverse=True), abs=1e-6)
        assert document["labels"][0]["label"] == model.classes_[row.argmax()]
    assert len(client.post("/v1/classify", json={"texts": TEXTS}).json()["documents"][0]["labels"]) == 5
    assert client.post("/v1/classify", json={"texts": []}).json()["documents"] == []


def test_the_sample_classifier_knows_the_topics(files: dict[str, Path]) -> None:
    topics, texts = zip(*sample.documents("test"), strict=True)
    assert TextClassifier.load(files["topics"]).score(texts, topics) > 0.8


def test_a_label_is_explained(client: TestClient) -> None:
    found = client.post("/v1/explain", json={"model": "topics", "text": TEXTS[0]}).json()
    assert (found["family"], found["label"]) == ("classifier", "kitchen")
    assert found["score"] == pytest.approx(
        found["bias"] + sum(one["contribution"] for one in found["ngrams"])
    )
    assert "".join(span["text"] for span in found["spans"]) == TEXTS[0]
    other = client.post("/v1/explain", json={"model": "topics", "text": TEXTS[0], "label": "street"}).json()
    assert other["probability"] < found["probability"]


@pytest.mark.parametrize(
    ("path", "body", "status", "said"),
    [
        ("classify", {"texts": ["x" * 20_001]}, 413, "20"),
        ("classify", {"texts": ["x"] * 101}, 413, "100"),
        ("classify", {"texts": ["x"], "model": "chunks"}, 422, "is a tagger, not a classifier"),
        ("explain", {"model": "topics"}, 422, "'text'"),
        ("explain", {"model": "topics", "text": "x", "label": "moon"}, 422, "no label 'moon'"),
        ("explain", {"model": "topics", "text": "x" * 20_001}, 422, "at most 20,000"),
    ],
)
def test_what_is_refused(client: TestClient, path: str, body: object, status: int, said: str) -> None:
    answer = client.post(f"/v1/{path}", json=body)
    assert answer.status_code == status, answer.text
    assert said in answer.json()["error"]["message"]
