"""epigram filter: bounds, shares, a dry run, and a summary."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

import in_process
from epigram import KneserNeyLM, TextClassifier


def epigram(*words: str) -> subprocess.CompletedProcess[str]:
    done = in_process.epigram(*words)
    return subprocess.CompletedProcess(words, done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    KneserNeyLM(2).fit(["a b a b", "b a c", "a c c"]).save(tmp_path / "lm.epigram")
    TextClassifier(words=1, l2=0.1).fit(["good one", "bad one"] * 5, ["p", "n"] * 5).save(
        tmp_path / "c.epigram"
    )
    texts = ["a b a b", "c c c", "zebra x y z", "b a c", "good one", ""]
    (tmp_path / "in.jsonl").write_text(
        "".join(json.dumps({"text": text, "id": k}) + "\n" for k, text in enumerate(texts))
    )
    return tmp_path


def kept(folder: Path, *options: str) -> list[int]:
    done = epigram("filter", str(folder / "in.jsonl"), "-o", str(folder / "out.jsonl"), *options)
    assert done.returncode == 0, done.stderr
    return [json.loads(line)["id"] for line in (folder / "out.jsonl").read_text().splitlines()]


def test_a_share_of_the_least_perplexed(folder: Path) -> None:
    model = str(folder / "lm.epigram")
    assert kept(folder, "--model", model) == [0, 1, 2, 3, 4, 5]
    assert len(kept(folder, "--model", model, "--keep", "40%")) == 2
    assert 2 not in kept(folder, "--model", model, "--keep", "40%")


def test_the_probability_of_a_label_and_a_summary(folder: Path) -> None:
    assert kept(folder, "--model", str(folder / "c.epigram"), "--label", "p", "--min", "0.6") == [4]
    words = [
        "filter",
        str(folder / "in.jsonl"),
        "-o",
        str(folder / "o.jsonl"),
        "-m",
        str(folder / "lm.epigram"),
    ]
    record = json.loads(epigram(*words, "--json").stdout)
    assert (record["documents"], record["kept"], record["empty"]) == (6, 6, 1)
    assert "score: 1% " in epigram(*words).stdout


def test_a_dry_run_writes_nothing(folder: Path) -> None:
    words = [
        "filter",
        str(folder / "in.jsonl"),
        "-m",
        str(folder / "lm.epigram"),
        "--keep",
        "40%",
        "--dry-run",
    ]
    rows = [json.loads(line) for line in epigram(*words).stdout.splitlines()]
    assert [row["choice"] for row in rows] == ["keep", "keep", "drop", "drop", "drop"]
    assert not (folder / "out.jsonl").exists()


@pytest.mark.parametrize("keep", ["0%", "200%", "x"])
def test_shares_that_are_none(folder: Path, keep: str) -> None:
    words = ["filter", str(folder / "in.jsonl"), "-o", "x", "-m", str(folder / "lm.epigram"), "--keep", keep]
    done = epigram(*words)
    assert done.returncode == 2
    assert "expected a share" in done.stderr


def test_several_scores_and_a_plot(folder: Path) -> None:
    pytest.importorskip("matplotlib")
    out, plot = folder / "o.jsonl", folder / "scores.svg"
    also = f"p={folder / 'c.epigram'},label=p"
    words = ["filter", str(folder / "in.jsonl"), "-o", str(out), "-m", str(folder / "lm.epigram")]
    done = epigram(*words, "--also", also, "--min", "p=0.6", "--max", "1000", "--plot", str(plot), "--json")
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["id"] for line in out.read_text().splitlines()] == [4]
    assert list(json.loads(done.stdout)["scores"]) == ["score", "p"]
    assert plot.read_text().startswith("<?xml")
    for wrong, said in (("q=3", "no score 'q'"), ("x", "expected a number")):
        done = epigram(*words, "--min", wrong)
        assert done.returncode == 2
        assert said in done.stderr
    done = epigram(*words, "--also", "p")
    assert "expected NAME=MODEL" in done.stderr
