"""What sentences nearby call the same word: against a slow twin, and the commands of two taggers in a row."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from epigram import CRFTagger
from epigram.errors import InputError
from epigram.features.columns import Column, Columns
from epigram.tagging import pool, read_columns
from epigram.tagging.stacked.context_column import context_types
from epigram.tagging.stacked.cross_prediction import predict_unseen
from in_process import epigram

TEMPLATES = ("U0:%x[0,0]\nB\n", "U0:%x[-1,0]\nU1:%x[0,0|suffix:1]\nB\n")
SECOND = "U0:%x[0,0]\nU1:%x[0,1]\nU2:%x[0,2]\nB\n"

tokens = st.tuples(
    st.sampled_from(["a", "A", "b1", "b2", "-", "7", "é"]), st.sampled_from(["B-x", "I-x", "B-y", "O"])
)
texts = st.lists(st.lists(tokens, max_size=5), max_size=7)


def slow(words: list[list[str]], types: list[list[str]], reach: int) -> list[list[str]]:
    """The same by looking at every other token for every token."""
    text = [
        (s, k, re.sub("[0-9]", "#", word.lower()), kind)
        for s, (mine, kinds) in enumerate(zip(words, types, strict=True))
        for k, (word, kind) in enumerate(zip(mine, kinds, strict=True))
    ]
    out: list[list[str]] = [[] for _ in words]
    for s, k, word, _ in text:
        times = Counter(
            kind
            for other, place, same, kind in text
            if same == word and abs(other - s) <= reach and (other, place) != (s, k)
        )
        has_letter = any(letter.isalpha() for letter in word)
        out[s].append(min(times, key=lambda kind: (-times[kind], kind)) if times and has_letter else "-")
    return out


def flat(rows: list[list[str]]) -> list[str]:
    return [cell for row in rows for cell in row]


def column_of(cells: list[str]) -> Column:
    return Columns.from_rows([cells]).columns[0] if cells else Column(np.empty(0, dtype=np.int32), [])


def cells_of(column: Column) -> list[str]:
    return [column.strings[k] for k in column.ids.tolist()]


@given(texts, st.integers(0, 9))
def test_equal_to_the_slow_twin(text: list[list[tuple[str, str]]], reach: int) -> None:
    words = [[word for word, _ in sentence] for sentence in text]
    labels = [[label for _, label in sentence] for sentence in text]
    if not flat(words):
        return
    types = [[label.partition("-")[2] or label for label in sentence] for sentence in labels]
    found = context_types(Columns.from_rows(words), column_of(flat(labels)), reach)
    assert cells_of(found) == flat(slow(words, types, reach))


def test_labels_that_are_no_chunks_are_types() -> None:
    columns = Columns.from_rows([["run", "the", "run"], ["run"]])
    found = context_types(columns, column_of(["VB", "DT", "NN", "NN"]), 1)
    assert cells_of(found) == ["NN", "-", "NN", "NN"]


def test_nothing_is_near_in_no_text() -> None:
    nothing = Columns(np.zeros(1, dtype=np.int64), [Column(np.empty(0, dtype=np.int32), [])])
    assert cells_of(context_types(nothing, column_of([]), 3)) == []


def corpus(n: int) -> tuple[list[list[str]], list[list[str]]]:
    """Names whose type only the text around knows: it changes every five sentences."""
    X, y = [], []
    for s in range(n):
        kind = "xy"[s // 5 % 2]
        X.append([["the", "a"][s % 2], f"q{s % 3}", "of" if s % 5 else kind, "z" * 60 + str(s)])
        y.append(["O", f"B-{kind}", "O" if s % 5 else f"B-{kind}", "O"])
    return X, y


def test_several_taggers_predict_as_their_pool() -> None:
    X, y = corpus(20)
    columns, labels = Columns.from_rows(X), Columns.from_rows(y).columns[0]
    taggers = [CRFTagger(template, l1=0.1) for template in TEMPLATES]
    column, learnt = predict_unseen(taggers, columns, labels, columns, folds=2)
    halves = [np.arange(10), np.arange(10, 20)]
    blind = [
        pool([CRFTagger(t, l1=0.1).fit([X[k] for k in half], [y[k] for k in half]) for t in TEMPLATES])
        for half in halves
    ]
    assert cells_of(column) == flat(blind[1].predict(X[:10]) + blind[0].predict(X[10:]))
    fitted = [CRFTagger(template, l1=0.1).fit(X, y) for template in TEMPLATES]
    assert learnt.to_bytes() == pool(fitted).to_bytes()
    again, whole = predict_unseen(fitted, columns, labels, columns, folds=2)
    assert cells_of(again) == cells_of(column)
    assert whole.to_bytes() == learnt.to_bytes()
    with pytest.raises(InputError, match="give its taggers, not the pool"):
        predict_unseen(learnt, columns, labels, columns, folds=2)


def write(path: Path, *columns: list[list[str]]) -> str:
    blocks = (
        "".join("\t".join(row) + "\n" for row in zip(*rows, strict=True))
        for rows in zip(*columns, strict=True)
    )
    path.write_text("\n".join(blocks))
    return str(path)


def ran(*words: str, stdin: bytes = b"") -> bytes:
    done = epigram(*words, stdin=stdin)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_two_taggers_in_a_row(tmp_path: Path) -> None:
    X, y = corpus(20)
    train, test = write(tmp_path / "train.txt", X[:10], y[:10]), write(tmp_path / "test.txt", X[10:], y[10:])
    models = []
    for name, template in zip("ab", TEMPLATES, strict=True):
        (tmp_path / f"{name}.template").write_text(template)
        models.append(str(tmp_path / f"{name}.epigram"))
        ran(
            "tag",
            "train",
            train,
            "-o",
            models[-1],
            "--template",
            str(tmp_path / f"{name}.template"),
            "--json",
        )
    both = ["--with", models[0], "--with", models[1], "--reach", "2"]
    more, first = str(tmp_path / "train+.txt"), str(tmp_path / "first.epigram")
    told = json.loads(
        ran("tag", "chain", train, "-o", more, "--learn", train, *both, "--folds", "2", "--json")
    )
    assert (told["columns"], told["same_sentences"]) == (4, 10)
    columns, labels = Columns.from_rows(X[:10]), Columns.from_rows(y[:10]).columns[0]
    column, whole = predict_unseen([CRFTagger.load(model) for model in models], columns, labels, columns, 2)
    rows = list(
        zip(
            flat(X[:10]),
            cells_of(column),
            cells_of(context_types(columns, column, 2)),
            flat(y[:10]),
            strict=True,
        )
    )
    assert flat([list(sentence) for sentence in read_columns(more).rows()]) == rows

    ran("tag", "pool", *models, "-o", first, "--json")
    apart, together = str(tmp_path / "apart.txt"), str(tmp_path / "together.txt")
    ran("tag", "chain", test, "-o", apart, *both)
    ran("tag", "chain", test, "-o", together, "--with", first, "--reach", "2")
    assert Path(apart).read_text() == Path(together).read_text()
    new = write(tmp_path / "new.txt", X[10:])
    tagged = ran("tag", "run", first, new, "--reach", "2", "--format", "conll").decode()
    without_labels = ["\t".join(line.split("\t")[:-1]) for line in Path(apart).read_text().splitlines()]
    assert tagged.splitlines() == without_labels[: len(tagged.splitlines())]
    assert whole.predict(X[10:]) == CRFTagger.load(first).predict(X[10:])

    (tmp_path / "second.template").write_text(SECOND)
    second = str(tmp_path / "second.epigram")
    ran("tag", "train", more, "-o", second, "--template", str(tmp_path / "second.template"), "--json")
    labelled = ran("tag", "run", second, "-", stdin=tagged.encode()).decode().split("\n\n")
    assert [len(line.split()) for line in labelled[0].splitlines()] == [4] * 4

    lines = ran("tag", "run", first, new, "--reach", "2", "--format", "conll", "--json").splitlines()
    assert json.loads(lines[0])["nearby"] == [line.split("\t")[2] for line in without_labels[:4]]
    wrong = epigram("tag", "run", first, new, "--reach", "2", "--nbest", "2")
    assert wrong.returncode == 2
    assert b"--reach is about" in wrong.stderr
