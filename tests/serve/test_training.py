"""Training over HTTP: watched to its end, stopped early, cancelled, left alone; nothing stays behind."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from running import Running
from starlette.testclient import TestClient

from epigram.serve import worker
from epigram.serve.run import remove_leftovers
from epigram.serve.state import THREADS, ServerState


@pytest.fixture(autouse=True)
def clean(client: TestClient, studio: ServerState) -> Iterator[None]:
    yield
    if studio.training.running:
        client.post("/v1/train/cancel")
    assert not list(studio.folder.glob("training-*"))


def wait(client: Any, seconds: float = 600) -> dict[str, Any]:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        status: dict[str, Any] = client.get("/v1/train").json()
        if status["state"] != "running":
            return status
        time.sleep(0.05)
    raise AssertionError("the training does not end")


def train(client: Any, family: str, **more: Any) -> Any:
    text = client.get("/v1/train/sample", params={"family": family}).json()["text"]
    return client.post("/v1/train", json={"family": family, "text": text, **more})


def long(client: Any) -> Any:
    """A training that would go on for minutes."""
    text = client.get("/v1/train/sample", params={"family": "tagger"}).json()["text"]
    body = {"family": "tagger", "text": text * 10, "passes": 200, "l1": 0.01}
    answer = client.post("/v1/train", json=body)
    assert answer.status_code == 200, answer.text
    return answer


@pytest.mark.parametrize(
    ("family", "options", "fact"),
    [
        ("tagger", {"passes": 4}, "F1 %"),
        ("classifier", {}, "accuracy %"),
        ("lm", {"kind": "kneser-ney", "order": 3}, "perplexity"),
        ("reranker", {"steps": 50, "measure": "wer"}, "error rate % after"),
        ("adapt", {"model": "japanese"}, "error rate % after"),
    ],
)
def test_a_training_ends_in_a_model_that_inspect_opens(
    client: TestClient, tmp_path: Path, family: str, options: dict[str, Any], fact: str
) -> None:
    assert train(client, family, name=f"my {family}", **options).status_code == 200
    status = wait(client)
    assert status["state"] == "done", status
    assert fact in status["result"]["facts"]
    file = tmp_path / "model.epigram"
    file.write_bytes(client.get(f"/v1/models/{status['model']}/file").content)
    if family == "tagger":
        assert status["points"][-1][0] == 4 or len(status["points"]) >= 1
        inspected = subprocess.run(
            [sys.executable, "-m", "epigram", "inspect", str(file)], capture_output=True, text=True
        )
        assert inspected.returncode == 0, inspected.stderr
        assert (
            client.post("/v1/tag", json={"model": status["model"], "sentences": [[["a", "DT"]]]}).status_code
            == 200
        )
    if family == "adapt":
        facts = status["result"]["facts"]
        assert facts["error rate % after"] <= facts["error rate % before"]


def test_models_trained_earlier_make_room(client: TestClient, studio: ServerState) -> None:
    for _ in range(studio.limits.trained_models + 1):
        assert train(client, "lm", kind="kneser-ney", order=2).status_code == 200
        assert wait(client)["state"] == "done"
    trained = [entry for entry in studio.registry if entry.origin == "trained"]
    assert len(trained) == studio.limits.trained_models
    assert sorted(path.name for path in studio.folder.iterdir()) == sorted(
        f"{e.name}.epigram" for e in trained
    )


def test_what_cannot_be_trained_says_why(client: TestClient) -> None:
    for family, text, words in [
        ("tagger", "one\ntwo\n", "one column only"),
        ("classifier", "__label__a b\n", "expected at least 20"),
        ("reranker", "hello", "not a known n-best format"),
        ("adapt", "橋/はし\n", "at least 3"),
    ]:
        assert client.post("/v1/train", json={"family": family, "text": text}).status_code == 200
        status = wait(client)
        assert status["state"] == "failed"
        assert words in status["message"]
        assert "Traceback" not in status["message"]
        assert "/" not in status["message"].replace("surface/reading", "")
    assert client.post("/v1/train", json={"family": "cook", "text": ""}).status_code == 422
    too_much = client.post("/v1/train", json={"family": "lm", "text": "a " * 1_500_000})
    assert too_much.status_code == 413


def test_a_training_that_cannot_start_fails(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(worker, "UPLOAD", "missing/upload.txt")
        assert train(client, "lm").status_code == 200
        status = wait(client, 5)
    assert status["state"] == "failed"
    assert status["message"] == "the training failed: No such file or directory"
    assert train(client, "lm", kind="kneser-ney", order=2).status_code == 200
    assert wait(client)["state"] == "done"


def test_a_training_that_waits_for_a_thread_can_be_cancelled(client: TestClient, studio: ServerState) -> None:
    free = threading.Event()
    held = [studio.pool.submit(free.wait) for _ in range(THREADS)]
    try:
        body = {"family": "lm", "text": "a rose\n" * 20}
        assert client.post("/v1/train", json=body).status_code == 200
        assert client.get("/v1/train").json()["state"] == "running"
        assert client.post("/v1/train/cancel").status_code == 200
        assert client.get("/v1/train").json()["state"] == "cancelled"
    finally:
        free.set()
    assert all(one.result() for one in held)


def test_one_at_a_time_stopped_early_or_cancelled(client: TestClient, studio: ServerState) -> None:
    long(client)
    assert train(client, "lm").status_code == 409
    end = time.monotonic() + 600
    while not client.get("/v1/train").json()["points"]:
        assert time.monotonic() < end
        time.sleep(0.05)
    assert client.post("/v1/tag", json={"model": "chunks", "sentences": [["a"]]}).status_code == 200
    client.post("/v1/train/stop")
    status = wait(client)
    assert status["state"] == "done"
    assert status["result"]["stopped early"] is True
    long(client)
    assert client.post("/v1/train/cancel").json()["state"] == "cancelled"
    assert client.post("/v1/train/cancel").status_code == 409
    assert client.post("/v1/train/stop").status_code == 409


def test_a_client_that_goes_away_leaves_no_training(client: TestClient, studio: ServerState) -> None:
    object.__setattr__(studio.limits, "lease", 0.5)
    long(client)
    deadline = time.monotonic() + 600
    while studio.training.running and time.monotonic() < deadline:
        client.get("/healthz")
        time.sleep(0.1)
    object.__setattr__(studio.limits, "lease", 60.0)
    status = client.get("/v1/train").json()
    assert status["state"] == "cancelled"
    assert "nobody asked" in status["message"]


def test_a_server_that_is_killed_takes_its_training_along(
    files: dict[str, Path], cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Running("--port", "0", str(files["chunks"]), cache=cache, TMPDIR=str(tmp_path)) as running:
        with httpx.Client(base_url=running.url) as mine:
            long(mine)
            deadline = time.monotonic() + 600
            while not running.children() and time.monotonic() < deadline:
                time.sleep(0.05)
        child = running.children()[0]
        time.sleep(1.0)
        running.process.kill()
        running.process.wait()
        deadline = time.monotonic() + 600
        while _alive(child) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not _alive(child)
    left = [path.name for path in tmp_path.glob("epigram-studio-*")]
    assert len(left) == 1
    assert str(running.process.pid) in left[0]
    mine, foreign = tmp_path / f"epigram-studio-{os.getpid()}-x", tmp_path / "epigram-studio-notes-x"
    mine.mkdir()
    foreign.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    remove_leftovers()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([mine.name, foreign.name])


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] not in "ZX"
    except OSError:
        return False
