"""Where memory does not hold all shards: opened for each question, vectors in files, and no bit changes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from epigram import OWLQN, CRFTagger, LogLinearLM
from epigram.datasets import sample
from epigram.features.formats import ColumnSpec
from epigram.features.template import Template
from epigram.lm.outofcore import loglinear as sharded
from epigram.lm.outofcore import shard as subtree
from epigram.lm.outofcore.encode import write_stream
from epigram.outofcore.memory import Room
from epigram.tagging.outofcore import crf as shards
from epigram.tagging.outofcore.encode import write_shards

TEMPLATE = Template.parse("U0:%x[0,0]\nU1:%x[-1,1]/%x[0,0|suffix:1]\nB\n")
READING = ColumnSpec("conll", None, (), -1, (0, 1), 3)


def test_a_tagger_of_shards_that_do_not_stay_has_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = sample.tagged("train", 60)
    text = "".join("".join(" ".join(t) + "\n" for t in sentence) + "\n" for sentence in rows)
    (tmp_path / "train.txt").write_text(text, "utf-8")
    write_shards([tmp_path / "train.txt"], tmp_path / "s", TEMPLATE, READING, n_shards=4)
    opened, found = [], []
    for free in (1 << 40, 0):
        monkeypatch.setattr(shards, "available", lambda free=free: free)
        original = shards.ChainShard._opened
        monkeypatch.setattr(
            shards.ChainShard, "_opened", lambda self, f=original, n=free: (opened.append(n), f(self))[1]
        )
        tagger = CRFTagger(TEMPLATE, l1=0.2, solver=OWLQN(max_iterations=10)).fit_shards(tmp_path / "s")
        found.append(tagger.model_.w)
        monkeypatch.setattr(shards.ChainShard, "_opened", original)
    np.testing.assert_array_equal(found[0], found[1])
    assert opened.count(1 << 40) == 4  # once each
    assert opened.count(0) > 40  # for each question
    assert not [entry.name for entry in (tmp_path / "s").iterdir() if entry.name.startswith("tmp")]


@pytest.mark.parametrize(("penalty", "nonnegative"), [("elastic", True), ("l1", False)])
def test_a_language_model_with_its_vectors_in_files_has_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, penalty: str, nonnegative: bool
) -> None:
    lines = [" ".join(token[0] for token in sentence) for sentence in sample.tagged("train", 60)]
    (tmp_path / "text").write_text("\n".join(lines) + "\n", "utf-8")
    manifest = write_stream([tmp_path / "text"], tmp_path / "s")
    numbers = {"strength": 0.3, "depth_weight": 1.3} | ({"ridge": 0.05} if penalty == "elastic" else {})
    found, rooms = [], []
    for free in (1 << 40, 0):
        monkeypatch.setattr(sharded, "available", lambda free=free: free)
        monkeypatch.setattr(subtree, "Room", lambda folder: (rooms.append(folder), Room(folder))[1])
        model = LogLinearLM(order=4, penalty=penalty, nonnegative=nonnegative, **numbers)
        solution = sharded.solve_stream(model, manifest, n_shards=5)
        solution.save(tmp_path / "model")
        found.append((tmp_path / "model").read_bytes())
        assert [shard.room is None for shard in solution.problem.shards.handles] == [free > 0] * 5
    assert found[0] == found[1]
    assert len(rooms) == 5  # the shards of the second fit, none of the first
    assert sorted(entry.name for entry in (tmp_path / "s").iterdir()) == ["common", "manifest.json"]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="tells of Linux only")
@pytest.mark.skipif(
    "libasan" in os.environ.get("LD_PRELOAD", ""), reason="the sanitizer's own memory is more"
)
def test_limits_of_the_process_are_known() -> None:
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_DATA, (400 << 20,) * 2);"
        "from epigram.outofcore.memory import available; print(available())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=600)
    assert 100 << 20 < int(done.stdout) < 400 << 20
