"""``epigram data``: results on standard output, everything else on standard error, exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from unittest import mock

import pytest

from epigram.datasets import catalogue, sample
from epigram.errors import DataWarning
from in_process import epigram

Environment = dict[str, str]


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("EPIGRAM_")}
    return {
        **kept,
        "EPIGRAM_DATA": str(tmp_path / "local"),
        "EPIGRAM_CACHE": str(tmp_path / "cache"),
        "NO_PROXY": "127.0.0.1",
    }


def data_command(environment: Environment, *arguments: str) -> subprocess.CompletedProcess[str]:
    with mock.patch.dict(os.environ, environment, clear=True):
        done = epigram("data", *arguments)
    return subprocess.CompletedProcess(arguments, done.returncode, done.stdout.decode(), done.stderr.decode())


def test_list(environment: Environment) -> None:
    done = data_command(environment, "list")
    assert done.returncode == 0
    assert done.stderr == ""
    for name, entry in catalogue().items():
        assert name in done.stdout
        assert entry.licence[:12] in done.stdout
    sample_line = next(line for line in done.stdout.splitlines() if line.split()[:1] == ["sample"])
    assert "yes" in sample_line


def test_list_as_json(environment: Environment) -> None:
    records = json.loads(data_command(environment, "list", "--json").stdout)
    assert [record["name"] for record in records] == list(catalogue())
    for record in records:
        assert record["path"] is None
        assert {"licence", "origin", "task", "about", "bytes", "files"} <= record.keys()
        assert all(len(file["sha256"]) == 64 for file in record["files"])


def test_sample_is_made_on_the_spot(environment: Environment, tmp_path: Path) -> None:
    for command in ("path", "get"):
        done = data_command(environment, command, "sample")
        assert done.stdout == f"{tmp_path / 'cache' / 'data' / 'sample'}\n"
        assert done.stderr == ""
    assert Path(done.stdout.strip(), "dev.txt").read_text() == sample.columns("dev")
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        for command, train, test in (
            ("lm", "train.text", "test.text"),
            ("rerank", "train.jsonl", "test.jsonl"),
            ("ime", "background.readings", "domain.readings"),
        ):
            folder, model = Path(done.stdout.strip()), tmp_path / f"{command}.epigram"
            make = ("ime", "build") if command == "ime" else (command, "train")
            small = ("--model", "kneser-ney") if command == "lm" else ()
            steps = ("--steps", "50", "--measure", "wer") if command == "rerank" else ()
            assert epigram(*make, folder / train, "-o", model, *small, *steps).returncode == 0
            assert epigram(command, "eval", model, folder / test).returncode == 0


def test_path_of_what_is_not_here(environment: Environment) -> None:
    done = data_command(environment, "path", "conll2000")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "conll2000 is not on this machine; try: epigram data get conll2000\n"
    done = data_command(environment, "path", "conll2000", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["path"] is None


def test_get_what_has_no_address(environment: Environment, tmp_path: Path) -> None:
    done = data_command(environment, "get", "brown")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        "epigram: data set 'brown' is not here, and brown.tagged.txt.gz has no public"
    )
    assert "nltk_data" in done.stderr
    assert str(tmp_path / "local" / "brown") in done.stderr
    assert done.stderr.count("\n") == 1


def test_unknown_name_and_file(environment: Environment) -> None:
    for words in (["nothing"], ["conll2000", "nothing"]):
        for command in ("path", "get"):
            done = data_command(environment, command, *words)
            assert (done.returncode, done.stdout) == (2, "")
            assert "'nothing'" in done.stderr
            assert done.stderr.count("\n") == 1


@contextmanager
def mirror_of(folder: Path) -> Iterator[str]:
    """The address of a loopback server of this folder."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{http.server_address[1]}"
    finally:
        http.shutdown()
        thread.join()
        http.server_close()


def test_a_mirror_that_has_it(environment: Environment, data: Path, tmp_path: Path) -> None:
    with mirror_of(data) as url:
        done = data_command({**environment, "EPIGRAM_DATA_URL": url}, "get", "ptb")
    assert done.stdout == f"{tmp_path / 'cache' / 'data' / 'ptb'}\n"
    assert "ptb.train.txt.gz" in done.stderr, "progress is shown on standard error"
    for file in catalogue()["ptb"].files:
        assert Path(done.stdout.strip(), file.name).read_bytes() == (data / "ptb" / file.name).read_bytes()


def test_a_mirror_with_the_wrong_file_or_none(environment: Environment, tmp_path: Path) -> None:
    (tmp_path / "mirror" / "ptb").mkdir(parents=True)
    (tmp_path / "mirror" / "ptb" / "ptb.test.txt").write_text("not the test set\n")
    with mirror_of(tmp_path / "mirror") as url:
        wrong = data_command({**environment, "EPIGRAM_DATA_URL": url}, "get", "ptb", "ptb.test.txt")
        gone = data_command({**environment, "EPIGRAM_DATA_URL": url}, "get", "ptb", "ptb.valid.txt")
    assert (wrong.returncode, wrong.stdout) == (gone.returncode, gone.stdout) == (2, "")
    assert f"epigram: {url}/ptb/ptb.test.txt did not send ptb.test.txt (wrong checksum" in wrong.stderr
    assert f"epigram: cannot download {url}/ptb/ptb.valid.txt: the server answered 404" in gone.stderr
    assert "Traceback" not in wrong.stderr + gone.stderr
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_get_checks_and_finds_the_real_thing(environment: Environment, data: Path) -> None:
    there = {**environment, "EPIGRAM_DATA": str(data)}
    done = data_command(there, "get", "conll2000", "train.txt", "--json")
    assert json.loads(done.stdout)["path"] == str(data / "conll2000" / "train.txt")
    assert data_command(there, "path", "conll2000").stdout == f"{data / 'conll2000'}\n"
