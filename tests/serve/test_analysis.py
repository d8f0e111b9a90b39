"""Analyses of raw text over HTTP, and the words that explain them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")

from starlette.testclient import TestClient

from epigram import Pipeline
from epigram.serve.app import build
from epigram.serve.run import close_server, open_server
from epigram.serve.security import AccessPolicy

TEXT = "Dogs bark. Dogs  bark.\n\nDogs bark."


@pytest.fixture(scope="module")
def client(toy_pipeline: Path) -> Iterator[TestClient]:
    studio = open_server({"toy": toy_pipeline})
    with TestClient(build(studio, AccessPolicy()), base_url="http://localhost:8765") as made:
        yield made
    close_server(studio)


def post(client: TestClient, path: str, body: dict[str, Any]) -> Any:
    answer = client.post(f"/v1/{path}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_sentences_and_words_are_those_of_the_pipeline(client: TestClient, toy_pipeline: Path) -> None:
    found = post(client, "analyse", {"text": TEXT})
    assert found == {"model": "toy", "sentences": Pipeline.load(toy_pipeline)(TEXT).to_json()["sentences"]}
    assert [TEXT[s["start"] : s["end"]] for s in found["sentences"]] == [
        "Dogs bark.",
        "Dogs  bark.",
        "Dogs bark.",
    ]
    assert post(client, "analyse", {"text": " \n"})["sentences"] == []


def test_probabilities_are_those_of_tags_and_heads(client: TestClient, toy_pipeline: Path) -> None:
    words = [
        word
        for sentence in post(client, "analyse", {"text": TEXT, "probabilities": True})["sentences"]
        for token in sentence["tokens"]
        for word in token["words"]
    ]
    expected = Pipeline.load(toy_pipeline)(TEXT).words
    assert [word["probability"] for word in words] == pytest.approx(
        [w.confidence for w in expected], abs=1e-6
    )
    assert [word["head_probability"] for word in words] == pytest.approx(
        [w.head_confidence for w in expected], abs=1e-6
    )


def test_a_word_is_explained(client: TestClient) -> None:
    found = post(client, "explain", {"model": "toy", "text": TEXT, "index": 1, "token": 1})
    assert (found["family"], found["word"]) == ("pipeline", "bark")
    assert found["parts"]["tags"]["label"] == "VERB\tV"
    assert found["parts"]["trees"]["head"] == 0
    assert found["parts"]["lemmas"]["lemma"] == "bark"
    for part in found["parts"].values():
        assert sum(term["lift"] for term in part["terms"]) == pytest.approx(part["lead"])
        assert all(term["meaning"] for term in part["terms"])


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("analyse", {"text": "x" * 20_001}, 413, "at most 20"),
        ("analyse", {}, 422, "text"),
        ("analyse", {"text": "x", "model": "latin"}, 404, "no model 'latin'"),
        ("explain", {"model": "toy"}, 422, "needs the field 'text'"),
        ("explain", {"model": "toy", "text": TEXT, "index": 9}, 422, "no word 0 of sentence 9"),
        ("explain", {"model": "toy", "text": TEXT, "token": 3}, 422, "no word 3 of sentence 0"),
        ("tag", {"model": "toy", "text": TEXT}, 422, "is a pipeline, not a tagger"),
    ],
)
def test_errors_say_what_is_wrong(
    client: TestClient, path: str, body: dict[str, Any], status: int, message: str
) -> None:
    answer = client.post(f"/v1/{path}", json=body)
    assert (answer.status_code, message in answer.json()["error"]["message"]) == (status, True), answer.text
