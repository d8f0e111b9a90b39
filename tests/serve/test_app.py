"""Every operation answers what the library answers, and refuses in one sentence what it cannot take."""

from __future__ import annotations

import asyncio
import json
import math
import threading
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import epigram
from epigram.datasets import sample
from epigram.lm.mixture import InterpolatedLM
from epigram.serve.app import build
from epigram.serve.batching import SLICE, Batcher
from epigram.serve.http import Limits
from epigram.serve.models import WeightPages
from epigram.serve.registry import READY, load_model
from epigram.serve.run import close_server, open_server
from epigram.serve.security import AccessPolicy
from epigram.serve.state import ServerState
from epigram.storage.file import weights

MINE = {"X-Epigram-Session": "mine-0123456789abcdef"}
LONG = [{"text": "a " * 9000, "score": 0}] * 30
THEIRS = {"X-Epigram-Session": "theirs-0123456789abcdef"}


def post(client: TestClient, path: str, body: Any, **more: Any) -> Any:
    answer = client.post(f"/v1/{path}", json=body, **more)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(client: TestClient, path: str, body: Any, status: int, **more: Any) -> str:
    answer = client.post(f"/v1/{path}", json=body, **more)
    assert answer.status_code == status, answer.text
    assert answer.json()["error"]["status"] == status
    return str(answer.json()["error"]["message"])


def test_labels_are_those_of_the_library(client: TestClient, files: dict[str, Path]) -> None:
    tagger = epigram.load(files["chunks"])
    X = [[word for word, _, _ in one] for one in sample.tagged("test", 8)]
    answer = post(client, "tag", {"sentences": X, "nbest": 3, "marginals": True})
    assert [one["labels"] for one in answer["sentences"]] == tagger.predict(X)
    for one, ways, marginals in zip(
        answer["sentences"], tagger.predict_nbest(X, 3), tagger.predict_marginals(X), strict=True
    ):
        assert [(way["labels"], way["probability"]) for way in one["nbest"]] == ways
        for found, expected in zip(one["marginals"], marginals, strict=True):
            assert all(found.get(label, 0.0) == pytest.approx(p, abs=2e-6) for label, p in expected.items())


def test_a_refusal_names_the_limit_and_the_shape_of_a_token(
    client: TestClient, studio: ServerState, tmp_path: Path
) -> None:
    assert "at most 500" in refused(client, "tag", {"sentences": [["x" * 501]]}, 413)
    assert "at most 64" in refused(client, "tag", {"sentences": [[["x"] * 65]]}, 413)
    sentences = sample.tagged("train", 20)
    X, y = (
        [[token[:2] for token in one] for one in sentences],
        [[token[2] for token in one] for one in sentences],
    )
    epigram.CRFTagger("chunking").fit(X, y).save(tmp_path / "two.epigram")
    studio.registry.put(load_model("two", tmp_path / "two.epigram", "file"))
    message = refused(client, "tag", {"model": "two", "sentences": [["dog"]]}, 422)
    assert "a list of 2 strings" in message
    message = refused(client, "tag", {"model": "two", "sentences": [[["dog", "NN", "B-NP"]]]}, 422)
    assert "not 3 columns" in message
    assert "not 2 columns" in refused(client, "tag", {"sentences": [[["dog", "NN"]]]}, 422)
    studio.registry.drop("two")


@pytest.mark.parametrize(
    ("path", "body", "status", "field", "words"),
    [
        ("tag", {"sentences": [["a", {"x": 1, "shape": None, "y": 2}]]}, 422, "sentences[0][1].shape", "not null"),
        ("tag", {"sentences": [[{"x": True, "w": "x" * 501}]]}, 413, "sentences[0][0].w", "at most 500"),
        ("tag", {"sentences": [["a", 7]]}, 422, "sentences[0][1]", "a string or an object or a list, not 7"),
        ("tag", {"sentences": [["a"] * 1001 + [None]]}, 413, "sentences[0]", "at most 1,000"),
        ("convert", {"readings": ["は"], "fixed": [1, 0]}, 422, "fixed[1]", "0 is too small; expected a number from 1"),
        ("rerank", {"lists": [{"candidates": [{"text": "a"}]}]}, 422, "lists[0].candidates[0]", "'score' is missing"),
        ("rerank", {"lists": [{"candidates": [], "x": 1}]}, 422, "lists[0]", "unknown field 'x'; there are candidates"),
        ("rerank", {"step": 1e400}, 400, None, "not JSON"),
        ("train", {"family": "parser", "text": ""}, 422, "family", "expected one of adapt, classifier, converter, lm,"),
        ("tag", {" - at `$.a[0]": 1}, 422, None, "unknown field ' - at `$.a[0]'"),
    ],
)  # fmt: skip
def test_a_refusal_names_the_field_and_the_limit(
    client: TestClient, path: str, body: Any, status: int, field: str | None, words: str
) -> None:
    content = json.dumps(body)  # httpx refuses infinity
    answer = client.post(f"/v1/{path}", content=content, headers={"content-type": "application/json"})
    assert answer.status_code == status, answer.text
    assert answer.json()["error"].get("field") == field
    assert words in answer.json()["error"]["message"]
    assert client.get("/v1/models/chunks/weights?count=101").json()["error"]["field"] == "count"


def test_text_is_cut_into_words_and_spans_have_probabilities(client: TestClient) -> None:
    answer = post(client, "tag", {"text": "The cook waited.\n\nIt's a well-known tune", "marginals": True})
    first, second = answer["sentences"]
    assert first["tokens"] == ["The", "cook", "waited", "."]
    assert second["tokens"] == ["It's", "a", "well-known", "tune"]
    assert (first["spans"][0]["start"], first["spans"][0]["end"], first["spans"][0]["label"]) == (0, 2, "NP")
    assert 0.5 < first["spans"][0]["probability"] <= 1.0


def test_a_session_teaches_a_tagger_for_itself(client: TestClient) -> None:
    sentence, labels = ["Time", "flies"], ["B-VP", "B-NP"]
    asked = {"model": "chunks", "sentences": [sentence]}
    before = post(client, "tag", asked)["sentences"][0]["labels"]
    assert before != labels
    for _ in range(12):
        post(client, "tag/learn", {"model": "chunks", "sentence": sentence, "labels": labels}, headers=MINE)
    assert post(client, "tag", asked, headers=MINE)["sentences"][0]["labels"] == labels
    assert post(client, "tag", asked, headers=THEIRS)["sentences"][0]["labels"] == before
    content = client.post("/v1/tag/model", json={"model": "chunks"}, headers=MINE).content
    assert epigram.CRFTagger.from_bytes(content).predict([sentence]) == [labels]
    post(client, "tag/forget", {"model": "chunks"}, headers=MINE)
    assert post(client, "tag", asked, headers=MINE)["sentences"][0]["labels"] == before
    assert "a session" in refused(client, "tag/learn", {"sentence": ["a"], "labels": ["O"]}, 422)
    assert "no label" in refused(client, "tag/learn", {"sentence": ["a"], "labels": ["Q"]}, 422, headers=MINE)


def test_what_sessions_keep_is_bounded(files: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    size = files["chunks"].stat().st_size
    studio = open_server(
        {name: files[name] for name in ("chunks", "japanese")}, limits=Limits(session_bytes=4 * size)
    )
    lesson = {"sentence": ["Time", "flies"], "labels": ["B-VP", "B-NP"]}
    with TestClient(build(studio, AccessPolicy()), base_url="http://localhost") as client:
        for k in range(12):
            mine = {"X-Epigram-Session": f"session-{k:016}"}
            assert post(client, "tag/learn", lesson, headers=mine)["learnt"] == 1
            post(client, "tag", {"sentences": [["Time", "flies"]]}, headers=mine)
        assert 2 <= len(studio.sessions) <= 5
        assert len(studio.sessions._ready) <= READY
        monkeypatch.setattr("epigram.serve.converter.MAX_LESSONS", 3)
        lessons = [{"reading": "は" * k, "text": "端" * k} for k in range(1, 5)]
        for corrected in lessons[:3]:
            post(client, "convert/learn", corrected, headers=MINE)
        assert "undo some" in refused(client, "convert/learn", lessons[3], 422, headers=MINE)
    close_server(studio)


def test_next_words_and_surprisal(client: TestClient, files: dict[str, Path]) -> None:
    model = epigram.load(files["log-linear"])
    answer = post(client, "lm/next", {"contexts": ["before the", ""], "k": 4})
    for found, context in zip(answer["contexts"], ["before the", ""], strict=True):
        expected = model.next_words(context, 4)
        assert [(one["word"], one["probability"]) for one in found["next"]] == expected
    words = post(client, "lm/score", {"sentences": ["the cook xyzzy"]})["sentences"][0]["words"]
    logp = model.word_scores("the cook xyzzy").tolist()
    assert [one["word"] for one in words] == ["the", "cook", "xyzzy", "</s>"]
    assert words[0]["bits"] == pytest.approx(-logp[0] / math.log(2))
    assert words[2]["bits"] == pytest.approx(-logp[2] / math.log(2))
    assert [one["known"] for one in words] == [True, True, False, True]


def test_conversions_and_corrections(client: TestClient, files: dict[str, Path]) -> None:
    converter = epigram.load(files["japanese"])
    answer = post(client, "convert", {"readings": ["はしをわたる", "あつい"], "nbest": 3, "segments": True})
    first = answer["conversions"][0]
    assert [way["text"] for way in first["nbest"]] == [way.text for way in converter.nbest("はしをわたる", 3)]
    assert [one["surface"] for one in first["segments"]] == ["橋", "を", "渡る"]
    assert (
        post(client, "convert", {"readings": ["hashi"], "romaji": True})["conversions"][0]["reading"]
        == "はし"
    )
    fixed = post(client, "convert", {"readings": ["はしを"], "segments": True, "fixed": [1]})
    assert fixed["conversions"][0]["segments"][0]["reading"] == "は"
    left = post(client, "convert", {"readings": ["はし"], "left": ["この"]})["conversions"][0]
    assert left["text"] == converter.after(["この"]).convert("はし")
    learnt = post(client, "convert/learn", {"reading": "はし", "text": "端"}, headers=MINE)
    assert learnt["corrections"] == 1
    asked = {"readings": ["はし"]}
    assert post(client, "convert", asked, headers=MINE)["conversions"][0]["text"] == "端"
    assert post(client, "convert", asked, headers=THEIRS)["conversions"][0]["text"] != "端"
    assert post(client, "convert/undo", {}, headers=MINE)["corrections"] == 0
    assert "nothing learnt" in refused(client, "convert/undo", {}, 422, headers=MINE)


def test_typing_in_an_editor_of_the_session(client: TestClient) -> None:
    mine, theirs = ({"X-Epigram-Session": f"typing-{name * 16}"} for name in "ab")

    def press(*keys: str) -> Any:
        return [post(client, "type", {"key": key}, headers=mine) for key in keys][-1]

    assert [press("h")["fresh"], press("a")["fresh"]] == [True, False]
    shown = press(*"shi", "space")
    assert (shown["preedit"], shown["reading"], shown["handled"]) == (["橋"], "はし", True)
    assert post(client, "type", {}, headers=theirs)["preedit"] == []
    other = shown["candidates"][1]
    done = press("down", "enter")
    assert (done["commit"], done["corrections"]) == (other, 1)
    asked = {"readings": ["はし"]}
    assert post(client, "convert", asked, headers=mine)["conversions"][0]["text"] == other
    assert post(client, "convert", asked, headers=theirs)["conversions"][0]["text"] == "橋"
    post(client, "convert/learn", {"reading": "あめ", "text": "アメ"}, headers=mine)
    assert press(*"ame", "space")["preedit"] == ["アメ"]
    lessons = post(client, "type", {"lessons": True}, headers=mine)["lessons"]
    assert lessons == [["はし", other], ["あめ", "アメ"]]
    assert post(client, "type", {"reset": True, "forget": 0}, headers=mine)["corrections"] == 1
    assert press(*"hashi", "space")["preedit"] == ["橋"]
    assert post(client, "type", {"set": {"layout": "kana"}}, headers=mine)["settings"]["layout"] == "kana"
    assert "one of" in refused(client, "type", {"set": {"layout": "x"}}, 422, headers=mine)
    assert "at most 16" in refused(client, "type", {"key": "a" * 17}, 413, headers=mine)
    assert "session" in refused(client, "type", {"key": "a"}, 422)


def test_winners_at_any_step(client: TestClient, files: dict[str, Path]) -> None:
    model = epigram.load(files["word-order"])
    text = client.get("/v1/rerank/example").json()["text"]
    lists = epigram.rerank.parse_nbest(text)  # type: ignore[attr-defined]
    path = post(client, "rerank/path", {})
    assert (path["last"], path["chosen"]) == (len(model.path_), model.step_)
    for step in (0, 40, path["chosen"]):
        found = post(client, "rerank", {"text": text, "step": step})
        assert [one["winner"] for one in found["lists"]] == model.at(step).predict(lists).tolist()
        assert found["error_rate"] == model.at(step).error_rate(lists)
    along = post(client, "rerank/along", {"text": text, "index": 2})
    last = along["runs"][-1]
    assert last["winner"] == model.at(path["last"]).predict(lists)[2] or last["from"] <= path["last"]
    why = post(client, "explain", {"model": "word-order", "text": text, "index": 2, "step": path["chosen"]})
    assert sum(term["lift"] for term in why["terms"]) == pytest.approx(why["lead"], abs=1e-9)
    assert "steps" in refused(client, "rerank", {"text": text, "step": 10**6}, 422)
    assert "not a known n-best format" in refused(client, "rerank", {"text": "hello"}, 422)


def test_reasons(client: TestClient) -> None:
    token = post(client, "explain", {"model": "chunks", "sentence": ["The", "dog", "barks"], "token": 1})
    assert sum(term["lift"] for term in token["terms"]) == pytest.approx(token["lead"])
    word = post(client, "explain", {"model": "log-linear", "context": "did", "word": "not"})
    score = sum(term["weight"] for term in word["terms"]) - word["log_normaliser"]
    assert math.exp(score) == pytest.approx(word["probability"])
    typed = post(client, "explain", {"model": "japanese", "reading": "はし"})
    assert sum(one["logp"] + one["bonus"] for one in typed["words"]) == pytest.approx(
        typed["score"], abs=1e-4
    )
    assert "no weights to show" in refused(
        client, "explain", {"model": "kneser-ney", "context": "the", "word": "dog"}, 422
    )
    assert "needs the field 'word'" in refused(client, "explain", {"model": "log-linear"}, 422)


@pytest.mark.parametrize("name", ["japanese", "chunks", "words", "log-linear", "kneser-ney", "word-order"])
def test_models_tell_what_they_are_and_hand_out_their_weights(
    client: TestClient, files: dict[str, Path], name: str
) -> None:
    record = client.get(f"/v1/models/{name}").json()
    assert record["bytes"] == files[name].stat().st_size
    assert client.get(f"/v1/models/{name}/file").content == files[name].read_bytes()
    page = client.get(f"/v1/models/{name}/weights", params={"count": 50}).json()
    ngrams = name in ("japanese", "kneser-ney")
    sizes = [row[-1] if ngrams else abs(row[-1]) for row in page["rows"]]
    assert sizes == sorted(sizes, reverse=True)
    assert page["total"] >= len(sizes) > 10
    word = page["rows"][3][0].split()[-1] if page["rows"][3][0] else page["rows"][3][1]
    hits = client.get(f"/v1/models/{name}/weights", params={"q": word, "order": "smallest"}).json()
    assert 0 < hits["total"] <= page["total"]
    assert all(word.lower() in " ".join(row[:-1]).lower() for row in hits["rows"])
    values = [row[-1] for row in hits["rows"]]
    assert values == sorted(values)


def test_weights_of_n_grams_are_named_a_page_at_a_time(
    studio: ServerState, files: dict[str, Path], tmp_path: Path
) -> None:
    _, rows = weights(files["kneser-ney"])
    expected = [[context, word, pytest.approx(logp)] for context, word, logp, _ in rows]
    table = WeightPages(studio.registry.get("kneser-ney"))
    n, found = table.page("", "size", 0, 100_000)
    assert n == len(expected)
    assert sorted(found) == sorted(expected, key=lambda row: row[:2])
    for needle in ("cook", "the co", "<s>"):
        held = sum(all(part in " ".join(row[:2]).lower() for part in needle.split()) for row in expected)
        assert table.page(needle, "size", 0, 1)[0] == held > 0

    model = epigram.KneserNeyLM(order=3).fit([[f"w{k * j % 997}" for j in range(50)] for k in range(1000)])
    model.save(tmp_path / "many.epigram")
    entry = load_model("many", tmp_path / "many.epigram", "file")
    tracemalloc.start()
    n, found = WeightPages(entry).page("w1", "size", 0, 25)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found) == 25
    assert peak < 60 * entry.estimator.pair_word.size


def test_weights_of_a_mixture_and_many_weights(
    client: TestClient,
    studio: ServerState,
    files: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parts = [epigram.load(files[name]) for name in ("kneser-ney", "log-linear")]
    InterpolatedLM(parts, [0.5, 0.5]).save(tmp_path / "mix.epigram")
    studio.registry.put(load_model("mix", tmp_path / "mix.epigram", "file"))
    for order, part in (("largest", "1"), ("smallest", "0")):
        page = client.get("/v1/models/mix/weights", params={"q": "cook", "order": order}).json()
        assert page["columns"] == ["model", "attribute", "label", "weight"]
        assert page["rows"][0][0] == part
    every = client.get("/v1/models/mix/weights").json()["total"]
    assert every == sum(1 for _ in weights(tmp_path / "mix.epigram")[1])
    studio.registry.drop("mix")
    strongest = client.get("/v1/models/chunks/weights", params={"count": 10}).json()["rows"]
    monkeypatch.setattr("epigram.serve.models.MAX_ROWS", 10)
    n, rows = WeightPages(studio.registry.get("chunks")).page("", "size", 0, 25)
    assert (n, rows) == (10, strongest)


def test_weights_of_a_tagger_are_all_of_its_weights(client: TestClient, files: dict[str, Path]) -> None:
    tagger = epigram.load(files["chunks"])
    total = client.get("/v1/models/chunks/weights").json()["total"]
    assert total == int((tagger.model_.w != 0).sum())


def test_the_description_names_every_operation_and_its_limits(client: TestClient) -> None:
    document = client.get("/v1/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    for path in ("models", "tag", "lm/score", "lm/next", "convert", "rerank", "explain", "train"):
        assert f"/v1/{path}" in document["paths"]
    tag = document["components"]["schemas"]["Tag"]
    assert tag["properties"]["sentences"]["anyOf"][0]["maxItems"] == 256
    for path, methods in document["paths"].items():
        for method, one in methods.items():
            assert one["summary"], (path, method)
            body = one.get("requestBody", {}).get("content", {}).get("application/json", {})
            if "example" in body:
                assert client.post(path, json=body["example"]).status_code == 200, path


def test_health_and_metrics(client: TestClient) -> None:
    assert client.get("/healthz").text == "ok\n"
    client.post("/v1/lm/next", json={"contexts": [""]})
    lines = client.get("/metrics").text.splitlines()
    assert any(line.startswith('epigram_requests_total{route="/v1/lm/next",status="200"}') for line in lines)
    count = next(line for line in lines if line.startswith('epigram_request_seconds_count{route="/healthz"'))
    assert int(count.split()[-1]) >= 1
    there = client.get("/v1/models").json()["models"]  # tests before this one may have trained some
    assert len(there) >= 6
    assert f"epigram_models {len(there)}" in lines


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"{", 400, "not JSON"),
        (b'{"contexts": [NaN]}', 400, "NaN"),
        (b'{"contexts": ["\xff"]}', 400, "not UTF-8"),
        (b"[" * 100_001, 413, ""),
        (b"[" * 50_000, 400, "nested"),
        (b"[]", 422, "expected an object"),
        (b"{}", 422, "'contexts' is missing"),
        (b'{"contexts": "the"}', 422, "expected a list"),
        (b'{"contexts": [1]}', 422, "expected a string, not 1"),
        (b'{"contexts": [""], "k": 0}', 422, "from 1 to 100"),
        (b'{"contexts": [""], "k": 1.5}', 422, "whole number"),
        (b'{"contexts": [""], "k": true}', 422, "whole number"),
        (b'{"contexts": [""], "k": 1' + b"0" * 30 + b"}", 422, "too large"),
        (b'{"contexts": [""], "k": 1' + b"0" * 5000 + b"}", 400, "JSON"),
        (b'{"contexts": [""], "path": "/etc/passwd"}', 422, "unknown field 'path'"),
        (b'{"contexts": ["\\ud800"]}', 422, "surrogate"),
        (b'{"contexts": [""], "model": "../secret"}', 404, "no model"),
        (b'{"contexts": [""], "model": "chunks"}', 422, "is a tagger, not a lm"),
        (b'{"contexts": [' + b'"",' * 300 + b'""]}', 413, "at most 256"),
        (b'{"contexts": ["' + b"a " * 2000 + b'"]}', 413, "words"),
    ],
)
def test_bad_bodies_are_refused_in_a_sentence(
    client: TestClient, body: bytes, status: int, words: str
) -> None:
    answer = client.post("/v1/lm/next", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == status, answer.text
    assert words in answer.json()["error"]["message"]
    assert client.get("/healthz").status_code == 200


def test_one_bad_request_spoils_no_other() -> None:
    """Requests that arrive together are answered in one call, and fail alone."""
    calls: list[list[str]] = []

    def work(items: list[str]) -> list[str]:
        calls.append(items)
        if "bad" in items:
            raise epigram.InputError("bad item")
        return [item.upper() for item in items]

    async def ask() -> list[Any]:
        with ThreadPoolExecutor(1) as pool:
            batcher = Batcher(pool, 10)
            asked = [batcher.submit("key", work, items) for items in (["a", "b"], ["bad"], ["c"], [])]
            return await asyncio.gather(*asked, return_exceptions=True)

    answers = asyncio.run(ask())
    assert (answers[0], answers[2], answers[3]) == (["A", "B"], ["C"], [])
    assert str(answers[1]) == "bad item"
    assert calls[0] == ["a", "b", "bad", "c"]


def test_brief_work_needs_no_thread() -> None:
    """Work that takes long, or whose time is not known yet, runs in a thread; brief work where the sockets are."""
    threads: list[str] = []

    def work(items: list[str]) -> list[str]:
        threads.append(threading.current_thread().name)
        began = time.thread_time()
        while time.thread_time() < began + 1e-4 * sum(map(len, items)):
            pass
        return items

    async def ask() -> None:
        with ThreadPoolExecutor(1, thread_name_prefix="pool") as pool:
            batcher = Batcher(pool, 10)
            for item in ("aaaa", "aaaa", "a" * 100, "aaaa"):
                assert await batcher.submit("key", work, [item]) == [item]
            assert await batcher.run_in_thread(lambda: threading.current_thread().name) == "pool_0"

    asyncio.run(ask())
    assert [name.startswith("pool") for name in threads] == [True, False, True, False]


def test_work_that_nobody_waits_for_ends() -> None:
    async def ask() -> int:
        calls = 0

        def work(items: list[Any]) -> list[Any]:
            nonlocal calls
            calls += 1
            time.sleep(0.05)
            return items

        with ThreadPoolExecutor(1) as pool:
            batcher = Batcher(pool, 10)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(batcher.submit("key", work, ["a" * SLICE] * 100), 0.2)
            late = asyncio.ensure_future(batcher.run_in_thread(lambda: None))
            assert batcher.n_running == 1
            await asyncio.wait_for(late, 2)
            blocked = asyncio.ensure_future(batcher.run_in_thread(lambda: time.sleep(0.2)))
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(batcher.run_in_thread(lambda: work([])), 0.1)
            await blocked
            assert batcher.n_running == 0
        return calls

    assert asyncio.run(ask()) < 10


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("tag", {"sentences": [["a"] * 1000] * 190, "nbest": 20}),
        ("tag", {"sentences": [["a"] * 1000] * 4, "marginals": True}),
        ("convert", {"readings": ["はしをわたる" * 50] * 10, "segments": True}),
        ("rerank", {"lists": [{"candidates": LONG, "reference": "b " * 9000}]}),
    ],
)
def test_requests_that_would_take_seconds_are_refused(
    client: TestClient, studio: ServerState, monkeypatch: pytest.MonkeyPatch, path: str, body: dict[str, Any]
) -> None:
    monkeypatch.setattr(studio, "limits", Limits())
    refused(client, path, body, 413)


def test_wrong_places_types_and_methods(client: TestClient) -> None:
    assert client.get("/v1/nowhere").status_code == 404
    assert client.get("/../../etc/passwd").status_code == 404
    assert client.get("/web/../app.py").status_code == 404
    assert client.put("/v1/tag", json={}).status_code == 405
    assert client.get("/v1/models/nothing").status_code == 404
    wrong = client.post("/v1/tag", content=b"{}", headers={"content-type": "text/plain"})
    assert wrong.status_code == 415
    for answer in (wrong, client.put("/v1/tag", json={}), client.get("/v1/nowhere")):
        assert set(answer.json()["error"]) == {"status", "message"}


def test_uploads_are_off_and_checked_where_they_are_on(
    client: TestClient, studio: ServerState, files: dict[str, Path]
) -> None:
    content = files["word-order"].read_bytes()
    assert client.post("/v1/models", content=content).status_code == 403
    studio.uploads = True
    try:
        for damaged in (b"", b"hello", content[:-9], content[:200] + b"\x00" + content[201:]):
            answer = client.post("/v1/models", content=damaged)
            if answer.status_code == 200:  # a byte of a description may be any byte
                continue
            assert answer.status_code == 422
            assert str(studio.folder) not in answer.text
        answer = client.post("/v1/models", content=content)
        assert answer.status_code == 200
        name = answer.json()["name"]
        assert client.post("/v1/rerank/path", json={"model": name}).status_code == 200
        assert client.post("/v1/models", content=b"x" * 3_000_000).status_code == 413
    finally:
        studio.uploads = False


def test_sessions_not_used_for_longest_are_forgotten(client: TestClient, studio: ServerState) -> None:
    for k in range(5):
        headers = {"X-Epigram-Session": f"{k}" * 16}
        post(client, "convert/learn", {"reading": "はし", "text": "端"}, headers=headers)
    assert len(studio.sessions) == 3
