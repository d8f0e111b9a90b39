"""Labels known in part: the loss against all labellings written down, weights, learning on, files and commands."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from epigram import LBFGS, OWLQN, SGD, AdaGrad, CRFTagger, MaxentTagger, SegmentTagger
from epigram.chain.labels import LabelIndex
from epigram.chain.layout import lay_out
from epigram.chain.loss import ChainLoss
from epigram.chain.partial_labels import alternatives, check_possible, seen_in_part
from epigram.errors import InputError
from epigram.features.columns import Column, Columns
from epigram.features.sequences import Sequences
from epigram.protocols import Steps
from in_process import epigram
from reference.chain import by_name, chain_of
from reference.chain_corpus import CASES, WIDE, Case, Corpus, corpus

TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,0]\nB\n"


def in_part(text: Corpus, seed: int) -> tuple[np.ndarray, LabelIndex, list[list[set[int] | None]]]:
    """The labels of a corpus with others besides: the codes, their sets, and what each token may be."""
    rng = random.Random(seed)
    L = text.layout.n_labels
    index = LabelIndex(range(L))
    open_to: list[set[int] | None] = []
    codes = []
    for label in text.labels.tolist():
        kind = rng.randrange(3)
        choices = {label} | {rng.randrange(L) for _ in range(2)} if kind == 1 else {label}
        open_to.append(None if kind == 2 else choices)
        codes.append(index.number([] if kind == 2 else sorted(choices)))
    ptr = text.sequences.sentence_ptr.tolist()
    return np.array(codes, dtype=np.int32), index, [open_to[a:b] for a, b in itertools.pairwise(ptr)]


@pytest.mark.parametrize("case", [*CASES, WIDE[0], WIDE[3]], ids=str)
def test_value_and_gradient_are_those_of_all_labellings_left_open(case: Case) -> None:
    text = corpus(case)
    labels, index, open_to = in_part(text, 3)
    w = text.random_weights(1)
    loss = ChainLoss(text.sequences, labels, text.layout, text.weights, 2, index.sets)
    out = np.full(loss.n_weights, np.nan)
    value = loss.value_and_gradient(w, out)
    chain = chain_of(text.layout, w)
    expected, g = 0.0, dict.fromkeys(chain.weights, 0.0)
    for (sentence, _, weight), allowed in zip(text.samples(), open_to, strict=True):
        expected += weight * (chain.log_z(sentence) - chain.log_z(sentence, allowed))
        for sign, within in ((weight, None), (-weight, allowed)):
            for y, p in chain.distribution(sentence, within).items():
                for key, count in chain.features(sentence, y).items():
                    g[key] += sign * p * count
    assert value == pytest.approx(expected, rel=1e-11)
    found = by_name(text.layout, out)
    np.testing.assert_allclose([found[key] for key in g], list(g.values()), rtol=1e-9, atol=1e-11)


def test_finite_differences_and_every_kind_of_pass() -> None:
    text = corpus(CASES[3])
    labels, index, _ = in_part(text, 0)
    loss = ChainLoss(text.sequences, labels, text.layout, sets=index.sets)
    w, out = 0.5 * text.random_weights(2), np.empty(loss.n_weights)
    loss.value_and_gradient(w, out)
    for k in range(0, loss.n_weights, 5):
        step = np.zeros_like(w)
        step[k] = 1e-6
        up, down = (loss.value_and_gradient(w + sign * step, np.empty_like(w)) for sign in (1, -1))
        assert (up - down) / 2e-6 == pytest.approx(out[k], abs=1e-7)
    order, rate = np.arange(loss.n_samples, dtype=np.int32), np.full(loss.n_samples, 0.1)
    one = np.array([3], dtype=np.int32)
    single = ChainLoss(text.sequences.take(one), labels[4:8], text.layout, sets=index.sets)
    single.value_and_gradient(w, out)
    for method in ("cumulative", "lazy", "naive"):
        moved = w.copy()
        loss.sgd_pass(method, Steps(one, rate[:1], np.zeros(2)), moved, np.zeros_like(w))
        np.testing.assert_allclose(moved, w - 0.1 * out, rtol=1e-9, atol=1e-12)
    sums, _ = loss.summed_gradients(w)
    loss.value_and_gradient(w, out)
    np.testing.assert_allclose(sums, out, rtol=1e-9, atol=1e-12)
    assert order.size == 6
    with pytest.raises(TypeError, match="every label"):
        loss.perceptron_pass(order, 0, w, np.zeros_like(w))


def test_pairs_that_get_weights() -> None:
    """A token with three attributes: known, one of two labels, unknown."""
    sequences = Sequences.of([0, 3], [0, 1, 2, 3], [0, 1, 2])
    index = LabelIndex(range(3))
    labels = np.array([index.number([0]), index.number([0, 2]), index.number([])], dtype=np.int32)
    seen = seen_in_part(sequences, labels, index.sets, 3, 3)
    assert seen.bits.ravel().tolist() == [0b001, 0b101, 0]
    assert seen.transitions.astype(int).tolist() == [[1, 1, 1], [0, 0, 0], [1, 1, 1]]
    loss = ChainLoss(sequences, labels, lay_out(seen), sets=index.sets)
    assert loss.sequences.attributes.tolist() == [0, 1]  # the third has no weight
    assert np.isfinite(loss.value_and_gradient(np.ones(loss.n_weights), np.empty(loss.n_weights)))


def task(n: int, seed: int) -> tuple[list[list[str]], list[list[str]]]:
    """Nouns and verbs that look alike; what stands before them tells."""
    rng = random.Random(seed)
    X, y = [], []
    for _ in range(n):
        words, tags = [], []
        for _ in range(3):
            tag = rng.choice("NV")
            words += ["the" if tag == "N" else "to", rng.choice(["run", "walk", "play"])]
            tags += ["D", tag]
        X.append(words)
        y.append(tags)
    return X, y


def hidden(y: list[list[str]], share: float, seed: int) -> list[list[Any]]:
    """Some labels become unknown, some one of two."""
    rng = random.Random(seed)
    return [
        [label if rng.random() > share else rng.choice([None, {label, "D"}, [label, "N"]]) for label in one]
        for one in y
    ]


def test_whole_labels_give_the_same_bytes_and_single_sets_too() -> None:
    X, y = task(12, 0)
    plain = CRFTagger(TEMPLATE, l1=0.1).fit(X, y)
    lists = CRFTagger(TEMPLATE, l1=0.1).fit(X, [[{label} for label in one] for one in y])
    assert lists.to_bytes() == plain.to_bytes()


@pytest.mark.parametrize("solver", [SGD(passes=10), AdaGrad(passes=20), OWLQN(), LBFGS(), "fista"])
def test_a_part_of_the_labels_is_enough(solver: Any) -> None:
    X, y = task(60, 1)
    settings: dict[str, Any] = {"l1": 0.0, "l2": 0.1} if type(solver) is LBFGS else {"l1": 0.1}
    if solver == "fista":
        from epigram import L1Ball

        settings = {"penalty": L1Ball(100.0)}
    tagger = CRFTagger(TEMPLATE, solver=solver, **settings).fit(X, hidden(y, 0.8, 2))
    new, answers = task(20, 3)
    assert tagger.score(new, answers) == 1.0


def test_learning_on_from_corrections_of_single_tokens() -> None:
    X, y = task(60, 4)
    tagger = CRFTagger(TEMPLATE, l1=0.1, solver=SGD(passes=5)).fit(X[:20], y[:20])
    new = [["the", "jog", "to", "run"]] * 20
    for begin in (0, 10):
        tagger.partial_fit(new[begin : begin + 10], [[None, "X", None, None]] * 10)
    assert tagger.predict([["the", "jog", "to", "walk"]]) == [["D", "X", "D", "V"]]
    fresh = CRFTagger(TEMPLATE, l1=0.1)
    for begin in range(0, 60, 20):
        fresh.partial_fit(X[begin : begin + 20], hidden(y[begin : begin + 20], 0.6, begin))
    assert fresh.score(*task(20, 5)) > 0.98
    loaded = CRFTagger.from_bytes(fresh.to_bytes()).partial_fit(X[:5], hidden(y[:5], 0.6, 9))
    assert loaded.score(*task(20, 5)) > 0.98


def test_constraints_must_leave_a_labelling() -> None:
    X = [["a", "b"]]
    CRFTagger(TEMPLATE, constrain="iob2").fit(X, [[{"B-x", "O"}, "I-x"]])
    with pytest.raises(InputError, match="sentence 0: no labelling that its labels leave open"):
        CRFTagger(TEMPLATE, constrain="iob2").fit([*X, ["c"]], [[{"O", "B-y"}, "I-x"], ["B-x"]])
    allowed = np.array([[True, False], [True, True]])
    sequences = Sequences.of([0, 2], [0, 0, 0], [])
    index = LabelIndex(range(2))
    free = index.number([])
    check_possible(sequences, np.array([free, 1], dtype=np.int32), index.sets, allowed, None)
    with pytest.raises(InputError, match="no labelling"):
        check_possible(
            sequences, np.array([free, 1]), index.sets, allowed, np.array([[True, False], [True] * 2])
        )


def test_what_cannot_be_learnt_from_is_refused() -> None:
    X, y = task(12, 6)
    some = hidden(y, 0.5, 7)
    with pytest.raises(InputError, match="MaxentTagger needs every label"):
        MaxentTagger("U0:%x[0,0]\n").fit(X, some)
    with pytest.raises(InputError, match="SegmentTagger needs every label"):
        SegmentTagger(TEMPLATE).fit(X, some)
    with pytest.raises(InputError, match="order=1"):
        CRFTagger(TEMPLATE, order=2).fit(X, some)
    with pytest.raises(InputError, match="sentence 0 has 6 tokens, but 1 labels"):
        CRFTagger(TEMPLATE).fit(X, [[None], *some[1:]])
    with pytest.raises(InputError, match="empty set"):
        CRFTagger(TEMPLATE).fit(X[:1], [[[], *y[0][1:]]])
    with pytest.raises(InputError, match="at least one must be known"):
        CRFTagger(TEMPLATE).fit(X[:1], [[None] * 6])
    with pytest.raises(InputError, match="known in part"):
        CRFTagger(TEMPLATE).fit(X, y).score(X, some)
    for cell in ("A||B", "A|"):
        with pytest.raises(InputError, match="empty alternative"):
            alternatives(Column(np.zeros(1, dtype=np.int32), [cell]), np.array([0, 1]), "|")


def test_files_name_alternatives_by_a_separator(tmp_path: Path) -> None:
    X, y = task(40, 8)
    some = hidden(y, 0.6, 9)
    train, test = tmp_path / "train.txt", tmp_path / "test.txt"

    def cell(label: Any) -> str:
        return "/" if label is None else label if isinstance(label, str) else "/".join(sorted(label))

    for path, labels in ((train, some), (test, y)):
        path.write_text(
            "".join(
                "".join(f"{word}\t{cell(label)}\n" for word, label in zip(*rows, strict=True)) + "\n"
                for rows in zip(X, labels, strict=True)
            )
        )
    model, template = tmp_path / "model.epigram", tmp_path / "template"
    template.write_text(TEMPLATE)
    options = ["--alternatives", "/", "--l1", "0.1", "--template", str(template), "--json"]
    done = epigram("tag", "train", str(train), "-o", str(model), *options)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["labels"] == 3
    columns = Columns.from_rows(X)
    same = CRFTagger(TEMPLATE, l1=0.1).fit(columns, some)
    assert CRFTagger.load(model).predict(X) == same.predict(X)
    assert json.loads(epigram("tag", "eval", str(model), str(test), "--json").stdout)["accuracy"] == 1.0
    done = epigram("tag", "update", str(model), str(train), "--alternatives", "/", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["labels"] == 3
    wrong = epigram("tag", "train", str(train), "-o", str(model), *options, "--model", "history")
    assert wrong.returncode == 2
    assert b"--alternatives" in wrong.stderr
