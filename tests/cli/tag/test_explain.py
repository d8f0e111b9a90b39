"""``tag explain``: terms that sum to the lead, for columns and for CRFsuite's items."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from epigram import CRFTagger
from epigram.compat.crfsuite.file import write_model
from in_process import epigram

TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,0]\nB\n"
SENTENCES = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "cat", "barks"]]
LABELS = [["DT", "NN", "VB"]] * 3


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("explain") / "m.epigram"
    CRFTagger(TEMPLATE, l1=0.05).fit(SENTENCES, LABELS).save(path)
    return path


def test_the_terms_sum_to_the_lead(model: Path) -> None:
    done = epigram("tag", "explain", model, "--json", stdin=b"the\ncat\nsleeps\n\na\ndog\n")
    assert done.returncode == 0
    record = json.loads(done.stdout)
    assert [token["word"] for token in record["tokens"]] == ["the", "cat", "sleeps"]
    for token in record["tokens"]:
        assert token["lead"] == pytest.approx(sum(term["lift"] for term in token["terms"]))
        assert token["lead"] >= 0.0
        assert token["runner_up"] != token["label"]
    assert any(term["feature"] == "transition" for token in record["tokens"] for term in token["terms"])


def test_for_people_and_for_one_token(model: Path) -> None:
    done = epigram("tag", "explain", model, "--sentence", 1, "--token", 1, stdin=b"the\ncat\n\na\ndog\n")
    assert done.returncode == 0
    text = done.stdout.decode()
    assert "dog: NN against" in text
    assert "the:" not in text


def test_items_of_crfsuite(tmp_path: Path) -> None:
    X = [[[f"w={word}"] for word in sentence] for sentence in SENTENCES]
    (tmp_path / "m.crfsuite").write_bytes(write_model(CRFTagger(l1=0.05).fit(X, LABELS).model_))
    (tmp_path / "x.txt").write_text("\tw=the\n\tw=cat\n")
    done = epigram("tag", "explain", tmp_path / "m.crfsuite", tmp_path / "x.txt", "--json")
    assert done.returncode == 0
    assert [token["label"] for token in json.loads(done.stdout)["tokens"]] == ["DT", "NN"]
    done = epigram("tag", "run", tmp_path / "m.crfsuite", tmp_path / "x.txt")
    assert (done.returncode, done.stdout) == (0, b"DT\nNN\n\n")
    (tmp_path / "gold.txt").write_text("DT\tw=the\nNN\tw=cat\n")
    done = epigram("tag", "eval", tmp_path / "m.crfsuite", tmp_path / "gold.txt", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["accuracy"] == 1.0


def test_what_does_not_exist_is_named(model: Path) -> None:
    done = epigram("tag", "explain", model, "--sentence", 7, stdin=b"the\n")
    assert (done.returncode, b"no sentence 7" in done.stderr) == (2, True)
    done = epigram("tag", "explain", model, "--token", 7, stdin=b"the\n")
    assert (done.returncode, b"token 7 does not exist" in done.stderr) == (2, True)
