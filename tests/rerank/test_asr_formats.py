"""Lists as today's recognisers and rankers write them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from epigram import Reranker, read_nbest
from epigram.errors import InputError


def test_nemo(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text("a b\t-1.5\na c\t-2\nd\t-0.5\ne f\t-3e0\n")
    lists = read_nbest(tmp_path / "x.tsv", beam=2)
    assert (lists.ids, lists.texts) == (["1", "2"], ["a b", "a c", "d", "e f"])
    assert lists.scores.tolist() == [-1.5, -2.0, -0.5, -3.0]
    (tmp_path / "ref").write_text("a c\nd\n")
    assert read_nbest(tmp_path / "x.tsv", tmp_path / "ref").references[0] == ("ac", ["a", "c"])
    with pytest.raises(InputError, match="beam"):
        read_nbest(tmp_path / "x.tsv")
    with pytest.raises(InputError, match="4 lines are no whole number of lists of 3"):
        read_nbest(tmp_path / "x.tsv", beam=3)


def test_espnet(tmp_path: Path) -> None:
    for k, (text, score) in enumerate(
        [("u1 a b\nu2 c\n", "u1 tensor(-1.5)\nu2 -2\n"), ("u1 a\n", "u1 -3\n")], 1
    ):
        folder = tmp_path / f"{k}best_recog"
        folder.mkdir()
        (folder / "text").write_text(text)
        (folder / "score").write_text(score)
    lists = read_nbest(tmp_path)
    assert (lists.ids, lists.texts, lists.scores.tolist()) == (
        ["u1", "u2"],
        ["a b", "a", "c"],
        [-1.5, -3.0, -2.0],
    )
    (tmp_path / "2best_recog" / "score").write_text("u1 none\n")
    with pytest.raises(InputError, match="score of 'u1'"):
        read_nbest(tmp_path)


def test_kaldi(tmp_path: Path) -> None:
    (tmp_path / "words_text").write_text("u-x-1 a b\nu-x-2 a\nv-1 c\n")
    (tmp_path / "ac_cost").write_text("u-x-1 10\nu-x-2 11\nv-1 3\n")
    (tmp_path / "lm_cost").write_text("u-x-1 1.5\nu-x-2 1\nv-1 2\n")
    lists = read_nbest(tmp_path)
    assert (lists.ids, lists.texts) == (["u-x", "v"], ["a b", "a", "c"])
    assert lists.scores.tolist() == [-11.5, -12.0, -5.0]
    assert lists.names == ["ac", "lm"]


def test_hyporadise(tmp_path: Path) -> None:
    entries = [{"input": ["a b", "a c"], "output": "a c"}, {"input": ["d"], "output": "d"}]
    (tmp_path / "x.json").write_text(json.dumps(entries, indent=1))
    lists = read_nbest(tmp_path / "x.json")
    assert (lists.texts, lists.scores.tolist()) == (["a b", "a c", "d"], [0.0, -1.0, 0.0])
    assert lists.references == [("ac", ["a", "c"]), ("d", ["d"])]
    (tmp_path / "x.json").write_text('[{"input": []}]')
    with pytest.raises(InputError, match="entry 1 has no 'input'"):
        read_nbest(tmp_path / "x.json")
    (tmp_path / "x.json").write_text('[{"input": ')
    with pytest.raises(InputError, match="broken JSON"):
        read_nbest(tmp_path / "x.json")


def test_letor_is_learnt_from(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = []
    for query in range(40):
        for document in range(5):
            x = rng.normal(size=3)
            relevance = int(x[0] + 0.1 * rng.normal() > 0.5) + int(x[0] > 1.0)
            values = " ".join(f"{k}:{value:.4f}" for k, value in enumerate(x, 1))
            lines.append(f"{relevance} qid:{query} {values} # doc {document}")
    (tmp_path / "x.txt").write_text("\n".join(lines) + "\n")
    lists = read_nbest(tmp_path / "x.txt")
    assert len(lists.ids) == 40
    assert lists.names == ["1", "2", "3"]
    assert lists.texts[:2] == ["doc 0", "doc 1"]
    errors = lists.given_errors.reshape(40, 5)
    assert (errors.min(axis=1) == 0).all()
    reranker = Reranker(ngrams=1, min_count=100).fit(lists)
    best = reranker.predict(lists)
    chosen = [errors[k, i] for k, i in enumerate(best)]
    assert np.mean(chosen) < 0.5 * np.mean(errors[:, 0])
    (tmp_path / "x.txt").write_text("1 qid:1 1:0.5\n1 2:0.5\n")
    with pytest.raises(InputError, match=r"x\.txt:2: expected 'relevance qid:id"):
        read_nbest(tmp_path / "x.txt")
