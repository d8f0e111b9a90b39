"""``--shards`` and ``--cluster`` on the command line: the same models and the same bytes as without."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster_processes import OURS, Processes

import in_process
from epigram import CRFTagger, LogLinearLM
from epigram.datasets import sample


def epigram(*words: object, code: int = 0, timeout: float = 600) -> subprocess.CompletedProcess[bytes]:
    """Run a command: on a cluster or resumed in another process, otherwise in this one."""
    if not {"--cluster", "--resume"}.intersection(words):
        done = in_process.epigram(*words)
        assert done.returncode == code, done.stderr.decode()
        return done
    done = subprocess.run(
        [sys.executable, "-m", "epigram", *map(str, words)],
        capture_output=True,
        timeout=timeout,
        env={**os.environ, "PYTHONPATH": OURS},
    )
    assert done.returncode == code, done.stderr.decode()
    return done


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("commands")
    for name, part, n in (("train", "train", 150), ("short", "train", 40), ("test", "test", 60)):
        rows = sample.tagged(part, n)
        lines = ["".join(" ".join(t) + "\n" for t in s) + "\n" for s in rows]
        (folder / f"{name}.txt").write_text("".join(lines), "utf-8")
        (folder / f"{name}.words").write_text(
            "\n".join(" ".join(t[0] for t in s) for s in rows) + "\n", "utf-8"
        )
    return folder


@pytest.fixture(scope="module")
def cluster(home: Path) -> Iterator[Path]:
    pytest.importorskip("distributed")
    (home / "cluster").mkdir()
    with Processes(home / "cluster", 2) as processes:
        yield processes.file


def test_training_by_shards_and_on_a_cluster(home: Path, cluster: Path) -> None:
    common = ("--solver", "owlqn", "--passes", 15, "--shards", home / "s", "--n-shards", 3, "--json")
    here = json.loads(epigram("tag", "train", home / "train.txt", "-o", home / "a", *common).stdout)
    told = epigram("tag", "train", home / "train.txt", "-o", home / "b", "--cluster", cluster, *common[2:])
    there = json.loads(told.stdout)
    assert here["shards"] == there["shards"] == 3
    assert there["workers"] == 2
    assert there["objective"] == here["objective"]
    assert b"one machine is faster" in told.stderr
    assert b"solver owlqn, since SGD works on one machine only" in told.stderr
    models = [CRFTagger.load(home / name).model_.w.tobytes() for name in "ab"]
    assert models[0] == models[1]
    one = json.loads(
        epigram("tag", "train", home / "train.txt", "-o", home / "c", *common[:4], "--json").stdout
    )
    assert here["objective"] == pytest.approx(one["objective"], rel=1e-6)
    assert not (home / "a.checkpoint").exists()
    epigram("tag", "train", home / "train.txt", "-o", home / "d", "--passes", 2, "--shards", home / "s")


def test_language_model_by_shards(home: Path) -> None:
    numbers = ("--strength", 0.4, "--depth-weight", 1.7, "--ridge", 0.06, "--json", "--order", 3)
    words = ("lm", "train", home / "train.words", "-o")
    one = json.loads(epigram(*words, home / "lm-one", *numbers, "--no-calibrate").stdout)
    many = json.loads(
        epigram(*words, home / "lm-many", *numbers, "--shards", home / "w", "--n-shards", 4).stdout
    )
    assert many["objective"] == pytest.approx(one["objective"], rel=1e-6)
    words = (
        "lm",
        "train",
        home / "short.words",
        "--valid",
        home / "short.words",
        "--max-iterations",
        2,
        "--order",
        2,
    )
    done = in_process.epigram(
        *words, "--penalty", "l1", "--closed", "--json", "-o", home / "chosen", "--shards", home / "w3"
    )
    chosen = json.loads(done.stdout)
    assert chosen["trials"] > 3
    loaded = LogLinearLM.load(home / "chosen")
    assert loaded.perplexity(home / "short.words") == pytest.approx(chosen["perplexity_valid"], rel=1e-5)
    text = ["the company said it was a new plan"]
    perplexity = [LogLinearLM.load(home / name).perplexity(text) for name in ("lm-one", "lm-many")]
    assert perplexity[0] == pytest.approx(perplexity[1], rel=1e-2)


def test_damage_and_another_version_end_the_command_within_a_minute(
    home: Path, cluster: Path, tmp_path: Path
) -> None:
    words = ("tag", "train", home / "short.txt", "-o", tmp_path / "m", "--solver", "owlqn", "--passes", 3)
    words += ("--shards", tmp_path / "s", "--n-shards", 2)
    epigram(*words)
    file = tmp_path / "s" / "shards" / "00001" / "attributes.npy"
    content = file.read_bytes()
    for damage, message in (
        (lambda: file.write_bytes(content[:-1] + bytes([content[-1] ^ 1])), b"attributes.npy: corrupt"),
        (file.unlink, b"attributes.npy: a file of the shards cannot be read"),
    ):
        damage()
        done = epigram(*words, "--cluster", cluster, code=2, timeout=600)
        assert message in done.stderr.replace(b"\n", b" ")
        assert b"Traceback" not in done.stderr
    file.write_bytes(content)
    (tmp_path / "old").mkdir()
    with Processes(tmp_path / "old", 1, preload="import epigram\nepigram.__version__ = '0.0.1'\n") as old:
        done = epigram(*words, "--cluster", old.file, code=2, timeout=600)
    assert b"a worker has epigram 0.0.1" in done.stderr


def test_a_killed_driver_is_resumed(home: Path, tmp_path: Path) -> None:
    words = [
        "tag",
        "train",
        str(home / "short.txt"),
        "-o",
        str(tmp_path / "m"),
        "--shards",
        str(tmp_path / "s"),
    ]
    words += ["--solver", "owlqn", "--l1", "1", "--tolerance", "1e-6", "--n-shards", "3"]
    env = {**os.environ, "PYTHONPATH": OURS}
    process = subprocess.Popen(
        [sys.executable, "-m", "epigram", *words, "--checkpoint", "0.01"], env=env, stderr=subprocess.DEVNULL
    )
    end = time.monotonic() + 600
    while not (tmp_path / "m.checkpoint").exists() and process.poll() is None:
        assert time.monotonic() < end
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=600)
    assert not (tmp_path / "m").exists()
    epigram(*words, "--resume")
    assert not (tmp_path / "m.checkpoint").exists()
    epigram(*words[:4], tmp_path / "n", *words[5:])
    assert (tmp_path / "m").read_bytes() == (tmp_path / "n").read_bytes()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("tag", "train", "train.txt", "--n-shards", "2"), b"--n-shards is for training with"),
        (("tag", "train", "-", "--shards", "s2"), b"not standard input"),
        (("tag", "train", "train.txt", "--shards", "s2", "--model", "history"), b"--model crf or maxent"),
        (("lm", "train", "train.words", "--shards", "s2"), b"(--valid FILE)"),
        (
            ("lm", "train", "train.words", "--shards", "s2", "--classes", "9"),
            b"--classes is not",
        ),
        (
            ("lm", "train", "train.words", "--shards", "s2", "--model", "kneser-ney"),
            b"--model kneser-ney sorts on disk without it",
        ),
        (("tag", "train", "train.txt", "--cluster", "nonsense"), b"neither local:N nor an address"),
    ],
)
def test_what_cannot_be_is_one_sentence(home: Path, words: tuple[str, ...], message: bytes) -> None:
    named = [home / word if word.startswith("train.") or word == "s2" else word for word in words]
    done = in_process.epigram(*named, "-o", home / "never")
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert done.stderr.count(b"\n") <= 2
