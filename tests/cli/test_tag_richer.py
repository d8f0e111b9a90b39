"""``tag train --model segment``, ``--classes``, ``--gazetteer``, ``--l1 auto``, and what other commands make of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from epigram.datasets import sample
from epigram.features.formats import read_columns
from epigram.tagging import SegmentTagger
from in_process import epigram


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("richer")
    for part in ("train", "test"):
        rows = [[" ".join(row) for row in sentence] for sentence in sample.tagged(part)[:80]]
        (folder / part).write_text("".join("\n".join(sentence) + "\n\n" for sentence in rows))
    words = sorted({row[0] for sentence in sample.tagged("train")[:80] for row in sentence})
    (folder / "classes").write_text("".join(f"{len(word)} {word[-1]}\t{word}\n" for word in words))
    (folder / "names").write_text("New York\n")
    return folder


def run(*words: Any) -> str:
    done = epigram(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def test_segments_from_file_to_labels(folder: Path) -> None:
    model = folder / "segments.epigram"
    words = ("--model", "segment", "--l1", "0.3", "--passes", "8", "--classes", folder / "classes")
    record = json.loads(run("tag", "train", folder / "train", "-o", model, "--json", *words))
    assert record["active_features"] > 0
    (folder / "classes").rename(folder / "moved")  # the model has them
    tagger = SegmentTagger.load(model)
    observations, labels = read_columns(folder / "test").split(-1)
    tags = [tag for sentence in tagger.predict(observations) for tag in sentence]
    found = [
        line.split(" ") for line in run("tag", "run", model, folder / "test", "--marginals").splitlines()
    ]
    assert [line[3] for line in found if len(line) > 1] == tags
    report = json.loads(run("tag", "eval", model, folder / "test", "--json"))
    assert report["accuracy"] == pytest.approx(tagger.score(observations, labels))
    lines = run("tag", "run", model, folder / "test", "--nbest", "2", "--json").splitlines()
    first = json.loads(lines[0])
    assert len(first["tokens"]) == len(first["nbest"][0]["labels"])
    why = json.loads(run("tag", "explain", model, folder / "test", "--token", "0", "--json"))
    assert why["tokens"][0]["label"] == tags[0]
    refused = epigram("tag", "update", model, folder / "train")
    assert refused.returncode == 2
    assert b"train it anew" in refused.stderr
    (folder / "moved").rename(folder / "classes")


def test_strength_is_chosen_and_lists_are_asked(folder: Path) -> None:
    words = ("--l1", "auto", "--passes", "4", "--gazetteer", folder / "names", "--template", "chunking+")
    record = json.loads(run("tag", "train", folder / "train", "-o", folder / "m", "--json", *words))
    assert record["l1"] in [4.0 / 2**k for k in range(9)]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--l1", "much"), "--l1 is auto or a number of at least 0"),
        (("--l1", "auto", "--l2", "1"), "--l1 auto is for l1 alone"),
        (("--l1", "auto", "--shards", "x"), "needs --dev FILE to choose by"),
        (("--model", "segment", "--constrain", "bioes"), "--constrain has no meaning with --model segment"),
        (("--classes", "nowhere"), "no such file"),
    ],
)
def test_refuses(folder: Path, words: tuple[str, ...], message: str) -> None:
    done = epigram("tag", "train", folder / "train", "-o", folder / "m", *words)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.decode().split())
