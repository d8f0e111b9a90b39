"""The splits of AP news and the Penn Treebank are cut from their sources to the byte."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from epigram.datasets import dataset
from epigram.errors import EpigramError
from experiments import lm_splits

PROGRAM = Path(__file__).parents[2] / "experiments" / "lm_splits.py"


def cut(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(PROGRAM), *words], capture_output=True, text=True, timeout=600)


def test_the_splits_are_those_of_the_data_set(data: Path, tmp_path: Path) -> None:
    sources = ("--ap", str(data / "ap-news" / "ap.txt.gz"), "--ptb", str(data / "ptb" / "ptb.train.txt.gz"))
    done = cut(*sources, "-o", str(tmp_path / "lm-splits"))
    assert done.returncode == 0, done.stderr
    names = [file.name for file in dataset("lm-splits").files]
    assert sorted(path.name for path in (tmp_path / "lm-splits").iterdir()) == sorted(names)
    for name in names:
        ours, theirs = (
            gzip.decompress((home / "lm-splits" / name).read_bytes()) for home in (tmp_path, data)
        )
        assert ours == theirs, name


def test_another_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EpigramError, match=r"apnews.s0.train.txt.gz came out with a wrong checksum"):
        lm_splits.write("apnews", [["the"] * 10] * 48_000, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_text_that_is_too_short_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("The cat, which nobody had seen for a week, sat on the mat.\n")
    done = cut("--ap", str(tmp_path / "text"), "--ptb", str(tmp_path / "text"), "-o", str(tmp_path / "out"))
    assert done.returncode == 2
    assert done.stderr == "lm_splits: the source has 16 words; the splits need 480,000\n"


def test_news_is_prepared_as_in_the_paper() -> None:
    first = "<DOC> <DOCNO> AP880101-0001 </DOCNO> <TEXT> ``They paid 1,250.50 &amp; more now,'' Ann Lee said. </TEXT>"
    second = "Then they met Ann Lee. The U.S. team won 3-2 on Monday. A win, said Lee."
    assert lm_splits.ap_sentences([first, "</TEXT>", second]) == [
        ['"', "they", "_unk_", "#n", "_unk_", "_unk_", ",", '"', "_pn_", "_pn_", "said", "."],
        ["_unk_", "they", "_unk_", "_pn_", "_pn_", "."],
        ["_unk_", "_pn_", "_unk_", "_unk_", "#n", "_unk_", "_pn_", "."],
        ["_unk_", "_unk_", ",", "said", "_pn_", "."],
    ]


def test_treebank_symbols_become_those_of_the_news() -> None:
    assert lm_splits.ptb_sentences([" the <unk> rose N points ", ""]) == [
        ["the", "_unk_", "rose", "#n", "points"]
    ]


@pytest.mark.parametrize("length", [7, 20])
def test_splits_are_neighbouring_sentences_at_equal_distances(
    length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lm_splits, "TRAIN", 50)
    monkeypatch.setattr(lm_splits, "TEST", 10)
    sentences = [[f"{k}"] * length for k in range(100)]
    for k, (train, test) in enumerate(lm_splits.cut(sentences)):
        assert train[0][0] == f"{25 * k}"
        assert sentences[25 * k :][: len(train) + len(test)] == train + test
        assert 50 <= sum(map(len, train)) < 50 + length
        assert 10 <= sum(map(len, test)) < 10 + length
