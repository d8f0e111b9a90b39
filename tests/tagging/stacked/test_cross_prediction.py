"""Columns that taggers predict for sentences they have not seen: against trainings by hand, and the command."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path

import numpy as np
import pytest

from epigram import SGD, CRFTagger
from epigram.errors import InputError
from epigram.features.columns import Column, Columns
from epigram.tagging import read_columns
from epigram.tagging.stacked.cross_prediction import parts_of, predict_unseen
from in_process import epigram

TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,0]\nB\n"


def corpus(n: int, seed: int) -> tuple[list[list[str]], list[list[str]]]:
    """Words whose tags depend on where they stand, sentences all different."""
    rng = random.Random(seed)
    X = [
        [rng.choice("abcdef") + str(k % 7) for k in range(rng.randint(3, 6))] + ["long" * 15 + str(s)]
        for s in range(n)
    ]
    y = [["N" if word < "c" or k % 3 == 0 else "V" for k, word in enumerate(words)] for words in X]
    return X, y


def columns_of(X: list[list[str]], y: list[list[str]]) -> tuple[Columns, Column]:
    return Columns.from_rows(X), Columns.from_rows(y).columns[0]


def spelt(column: Column, columns: Columns) -> list[list[str]]:
    flat = [column.string(t) for t in range(columns.n_tokens)]
    return [flat[a:b] for a, b in itertools.pairwise(columns.sentence_ptr.tolist())]


def test_labels_are_those_of_taggers_that_have_not_seen_the_sentence() -> None:
    X, y = corpus(23, 0)
    others, _ = corpus(5, 1)
    strangers = [[*words[:-1], "elsewhere"] for words in others]
    known = [["TI", "-", *X[3]], [word.upper() for word in X[20]]]  # marks at the head, another case
    target = Columns.from_rows([*strangers, *known])
    np.testing.assert_array_equal(parts_of(Columns.from_rows(X), target, 4), [-1] * 5 + [0, 3])
    tagger = CRFTagger(TEMPLATE, l1=0.1, solver=SGD(passes=4))
    column, learnt = predict_unseen(tagger, *columns_of(X, y), target, folds=4)
    assert not hasattr(tagger, "model_")
    whole = CRFTagger(TEMPLATE, l1=0.1, solver=SGD(passes=4)).fit(X, y)
    assert learnt.to_bytes() == whole.to_bytes()
    found = spelt(column, target)
    assert found[:5] == whole.predict(strangers)
    for words, labels, s in zip(known, found[5:], (3, 20), strict=True):
        kept = [k for k in range(23) if k * 4 // 23 != s * 4 // 23]
        blind = CRFTagger(TEMPLATE, l1=0.1, solver=SGD(passes=4)).fit(
            [X[k] for k in kept], [y[k] for k in kept]
        )
        assert labels == blind.predict([words])[0]


def test_every_sentence_of_the_same_corpus_is_left_out_once() -> None:
    X, _ = corpus(10, 2)
    y = [
        [*["N"] * (len(words) - 1), f"only{s}"] for s, words in enumerate(X)
    ]  # only those who have seen it know
    columns, labels = columns_of(X, y)
    column, learnt = predict_unseen(CRFTagger(TEMPLATE, l1=0.01), columns, labels, columns, folds=5)
    assert all(one[-1] != f"only{s}" for s, one in enumerate(spelt(column, columns)))
    assert learnt.predict(X) == y
    np.testing.assert_array_equal(parts_of(columns, columns, 5), np.repeat(np.arange(5), 2))
    with pytest.raises(InputError, match="11 folds of 10 sentences"):
        parts_of(columns, columns, 11)


def write(path: Path, *columns: list[list[str]]) -> Path:
    lines = (
        "\n".join("\t".join(row) for row in zip(*rows, strict=True)) for rows in zip(*columns, strict=True)
    )
    path.write_text("\n\n".join(lines) + "\n\n")
    return path


def test_the_command_makes_training_and_test_data(tmp_path: Path) -> None:
    X, pos = corpus(30, 4)
    names = [["B-x" if word.startswith("a") else "O" for word in words] for words in X]
    tagged, train = write(tmp_path / "pos.txt", X, pos), write(tmp_path / "names.txt", X[:20], names[:20])
    out, model = tmp_path / "names+.txt", tmp_path / "pos.epigram"
    options = ["--template", "pos", "--passes", "3", "--folds", "3", "--json"]
    done = epigram(
        "tag", "chain", str(train), "-o", str(out), "--learn", str(tagged), "--save", str(model), *options
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["same_sentences"] == 20
    rows = [list(sentence) for sentence in read_columns(out).rows()]
    assert [[row[0] for row in sentence] for sentence in rows] == X[:20]
    assert [[row[2] for row in sentence] for sentence in rows] == names[:20]
    assert {row[1] for sentence in rows for row in sentence} <= {"N", "V"}
    again = tmp_path / "test+.txt"
    done = epigram("tag", "chain", str(train), "-o", str(again), "--with", str(model))
    assert done.returncode == 0, done.stderr
    predicted = CRFTagger.load(model).predict(X[:20])
    assert [[row[1] for row in sentence] for sentence in read_columns(again).rows()] == predicted
    wrong = epigram("tag", "chain", str(train), "-o", str(again))
    assert wrong.returncode == 2
    assert b"--learn FILE" in wrong.stderr
