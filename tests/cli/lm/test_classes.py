"""``epigram lm classes``: the file, the table, the JSON, and what it says to bad input."""

from __future__ import annotations

import json

import pytest

from epigram.lm.factored.classes import WordClasses

TEXT = "the cat sat\nthe dog sat\na cat ran\na dog ran\n" * 3


@pytest.fixture
def run(run):
    """Run ``epigram lm classes``."""
    return lambda *arguments: run("lm", "classes", *arguments)


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text"
    path.write_text(TEXT)
    return path


def test_classes_are_written_and_shown(run, text, tmp_path):
    code, out, err = run(text, "-k", 4, "-o", tmp_path / "classes")
    assert code == 0, err
    lines = (tmp_path / "classes").read_text().splitlines()
    assert lines[:3] == ["0\t</s>\t12", "1\tthe\t6", "1\ta\t6"]
    for words in ("the a", "cat dog", "sat ran"):
        assert words in out
    assert "class bigram perplexity" in err
    assert WordClasses.read(tmp_path / "classes").n_classes == 4


def test_json_and_the_limits_of_the_vocabulary(run, text, tmp_path):
    code, out, _ = run(
        text, "-k", 3, "-o", tmp_path / "c", "--max-words", 4, "--seed", 2, "--threads", 2, "--json"
    )
    record = json.loads(out)
    assert code == 0
    assert record["classes"] == 3
    assert record["words"] == 6  # four, </s> and <unk>
    assert record["log_likelihood"] < 0
    assert sum(one["size"] for one in record["most_frequent"]) == 5
    assert sum(one["tokens"] for one in record["most_frequent"]) == record["tokens"] == 36


def test_more_classes_than_words(run, text, tmp_path):
    code, out, _ = run(text, "-k", 100, "-o", tmp_path / "c", "--json")
    assert code == 0
    assert json.loads(out)["classes"] == 7


def test_bad_input(run, text, tmp_path):
    code, _, err = run(text, "-k", 1, "-o", tmp_path / "c")
    assert code == 2
    assert "-k" in err
    code, _, err = run(tmp_path / "absent", "-o", tmp_path / "c")
    assert code == 2
    assert "cannot read" in err
    code, _, err = run(text, "-o", tmp_path / "no" / "c")
    assert code == 2
    assert "folder does not exist" in err
    assert not (tmp_path / "c").exists()
