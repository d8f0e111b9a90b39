"""``lm train --model kneser-ney`` within given memory: same model, estimates, refusals, stops."""

from __future__ import annotations

import json

import pytest

from epigram.cli.lm.counted import read_size
from epigram.errors import EpigramError
from epigram.lm.ngram import train

TRAIN = ("lm", "train")
COUNTED = ("--model", "modified-kneser-ney", "--order", 3)


@pytest.fixture
def text(tmp_path, monkeypatch):
    """A text that the least memory does not hold."""
    monkeypatch.setattr(train, "BYTES_IN_MEMORY", (1e7, 1e7))
    path = tmp_path / "text"
    path.write_text("the cat sat on the mat\nthe dog sat on the log\na cat saw the dog\n" * 40)
    return path


def test_sorting_on_disk_gives_the_same_file_and_leaves_nothing(run, text, tmp_path, monkeypatch):
    code, _, err = run(
        *TRAIN, text, "-o", tmp_path / "a", *COUNTED, "--memory", "64M", "--tmp", tmp_path / "t"
    )
    assert code == 0, err
    assert "sorting on disk" in err
    monkeypatch.undo()
    code, out, err = run(*TRAIN, text, "-o", tmp_path / "b", *COUNTED, "--valid", text, "--json", "--quiet")
    assert code == 0, err
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert json.loads(out)["perplexity_valid"] < 10
    assert not list((tmp_path / "t").iterdir())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "t", "text"]


def test_dry_run_writes_nothing(run, text, tmp_path):
    code, out, err = run(
        *TRAIN, text, "-o", tmp_path / "a", *COUNTED, "--memory", "1G", "--dry-run", "--json"
    )
    assert code == 0, err
    found = json.loads(out)
    assert found["on_disk"]
    assert found["words"] == pytest.approx(760, rel=0.1)
    assert found["memory"] == 10**9
    assert found["disk"] > 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text"]


@pytest.mark.parametrize("checkpoint", [0, 60])
def test_a_stopped_training_is_kept_unless_checkpoints_are_off(run, text, tmp_path, interrupted, checkpoint):
    command = (*TRAIN, text, "-o", tmp_path / "a", *COUNTED, "--memory", "64M", "--checkpoint", checkpoint)
    code, _, err = run(*command)
    assert code == 130
    assert (tmp_path / "a.sorting").exists() == bool(checkpoint)
    assert ("--resume continues" in err) == bool(checkpoint)


def test_bad_sizes_and_other_models_are_refused(run, text, tmp_path):
    assert read_size("1.5G") == 1_500_000_000
    for wrong in ("much", "0", "-1G", "1X"):
        with pytest.raises(EpigramError, match="a size such as"):
            read_size(wrong)
    code, _, err = run(*TRAIN, text, "-o", tmp_path / "a", *COUNTED, "--memory", "1M")
    assert (code, "at least 64M" in err) == (2, True)
    code, _, err = run(*TRAIN, text, "-o", tmp_path / "a", "--memory", "1G")
    assert (code, "--memory is for --model kneser-ney" in err) == (2, True)
    code, _, err = run(*TRAIN, "/dev/null", "-o", tmp_path / "a", *COUNTED, "--dry-run")
    assert (code, "for a text in a file" in err) == (2, True)
