"""Pools of taggers: scores are the mean of scores, by brute force; names that clash; files, commands and refusals."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from epigram import SGD, CRFTagger, RerankedTagger, SegmentTagger
from epigram.errors import InputError
from epigram.tagging.stacked.pool import pool
from in_process import epigram

FAST = SGD(passes=4, eta0=0.5)
WORDS = "U0:%x[0,0]\nU1:%x[-1,0]/%x[0,0]\nB\n"
OTHERS = "U0:%x[0,0|suffix:1]\nU1:%x[-1,0]/%x[0,0]\nU2:%x[1,0]\nB\nB1:%x[0,0]\n"
RARE = "U5:%x[0,0|rare:3]\nU6:%x[0,0]\nB\n"
PHRASES = "U0:%x[0,0|shape]\nB\nS0:%x[all,0]\nS1:%x[length]\n"


def task(n: int, seed: int = 0) -> tuple[list[list[str]], list[list[str]]]:
    rng = np.random.default_rng(seed)
    X = [
        [str(word) for word in rng.choice(["a", "of", "IL", "x2"], size=rng.integers(1, 5))] for _ in range(n)
    ]
    y = []
    for sentence in X:
        labels = ["O" if word in ("a", "of") else "B-x" for word in sentence]
        for t in range(1, len(labels)):
            if labels[t] == "B-x" and labels[t - 1] != "O" and rng.random() < 0.7:
                labels[t] = "I-x"
        y.append(labels)
    return X, y


def fitted(template: str, kind: type[CRFTagger] = CRFTagger, **settings: Any) -> CRFTagger:
    return kind(template, l1=0.1, solver=FAST, **settings).fit(*task(40))


def log_p(tagger: CRFTagger, sentence: list[str]) -> dict[tuple[str, ...], float]:
    """log p of every labelling."""
    n = 3 ** len(sentence)
    return {tuple(labels): float(np.log(p)) for labels, p in tagger.predict_nbest([sentence], n)[0]}


@pytest.mark.parametrize(
    "taggers",
    [
        [fitted(WORDS), fitted(OTHERS)],
        [fitted(OTHERS, order=2), fitted(WORDS, order=2), fitted(WORDS)],
        [fitted(WORDS, constrain="iob2"), fitted(PHRASES, SegmentTagger)],
        [fitted(RARE), fitted(RARE, order=2)],
    ],
    ids=["clashing names", "second order", "segments", "masks"],
)
def test_scores_are_means_of_scores(taggers: list[CRFTagger], tmp_path: Path) -> None:
    shares = np.arange(1.0, len(taggers) + 1)
    whole = pool(taggers, shares.tolist())
    whole.save(tmp_path / "pool.epigram")
    stored = type(whole).load(tmp_path / "pool.epigram")
    for sentence in (["IL", "x2"], ["a", "IL", "IL"], ["x2", "new", "of", "x2"]):
        parts = [log_p(tagger, sentence) for tagger in taggers]
        mixed = {
            labels: sum(
                share * part[labels] for share, part in zip(shares / shares.sum(), parts, strict=True)
            )
            for labels in set.intersection(*map(set, parts))
        }
        log_z = np.logaddexp.reduce(list(mixed.values()))
        for tagger, places in ((whole, 9), (stored, 4)):
            found = log_p(tagger, sentence)
            assert set(found) == set(mixed)
            for labels, score in mixed.items():
                assert found[labels] == pytest.approx(score - log_z, abs=10.0**-places)


def test_a_tagger_with_itself_is_itself() -> None:
    tagger = fitted(OTHERS)
    whole = pool([tagger, tagger, tagger])
    assert whole.model_.weights.n_nonzero == tagger.model_.weights.n_nonzero
    assert log_p(whole, ["a", "x2"]) == pytest.approx(log_p(tagger, ["a", "x2"]))
    assert pool([tagger]) is tagger


def test_masks_of_other_sentences_are_refused() -> None:
    few = CRFTagger(RARE, l1=0.1, solver=FAST).fit([["IL", "x2", "a"]], [["B-x", "I-x", "O"]])
    with pytest.raises(InputError, match="different word lists"):
        pool([fitted(RARE), few])


@pytest.mark.parametrize(
    ("taggers", "shares", "message"),
    [
        ([], None, "needs taggers"),
        ([fitted(WORDS)] * 2, [1.0], "as many shares"),
        ([fitted(WORDS)] * 2, [1.0, 0.0], "shares above 0"),
        ([fitted(WORDS), fitted("# outside: drop\n" + WORDS)], None, "outside"),
        ([fitted(WORDS, order=2), fitted(PHRASES, SegmentTagger)], None, "not both"),
        (
            [fitted(WORDS), CRFTagger(WORDS, l1=0.1).fit([["a"]], [["Q"]])],
            None,
            "same labels; B-x, I-x, O, Q",
        ),
        ([fitted(WORDS), CRFTagger(l1=0.1).fit([[["a"]]], [["O"]])], None, "with a template"),
    ],
)
def test_refusals(taggers: list[CRFTagger], shares: list[float] | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        pool(taggers, shares)


def test_a_second_look_at_a_pool() -> None:
    X, y = task(60, 1)
    given = [CRFTagger(template, l1=0.1, solver=FAST) for template in (WORDS, OTHERS)]
    tagger = RerankedTagger(given, k=3, folds=2).fit(X, y)
    apart = [CRFTagger(template, l1=0.1, solver=FAST).fit(X, y) for template in (WORDS, OTHERS)]
    assert log_p(tagger.tagger_, X[0]) == log_p(pool(apart), X[0])
    assert RerankedTagger(k=3, folds=2).fit(X, y, learnt=apart).predict(X) == tagger.predict(X)
    assert RerankedTagger.from_bytes(tagger.to_bytes()).predict(X) == tagger.predict(X)
    with pytest.raises(InputError, match="not the pool"):
        RerankedTagger(k=3, folds=2).fit(X, y, learnt=tagger.tagger_)


def test_commands(tmp_path: Path) -> None:
    X, y = task(40, 2)
    train = tmp_path / "train.txt"
    rows = ["".join(f"{w} {t}\n" for w, t in zip(*pair, strict=True)) for pair in zip(X, y, strict=True)]
    train.write_text("\n".join(rows), encoding="utf-8")
    models = []
    for name, template in (("a", WORDS), ("b", OTHERS)):
        (tmp_path / f"{name}.txt").write_text(template, encoding="utf-8")
        models.append(str(tmp_path / f"{name}.epigram"))
        options = ("--template", str(tmp_path / f"{name}.txt"), "--passes", "4", "--l1", "0.1")
        assert epigram("tag", "train", str(train), "-o", models[-1], *options).returncode == 0
    both, again = str(tmp_path / "both.epigram"), str(tmp_path / "again.epigram")
    done = epigram("tag", "pool", *models, "-o", both, "--shares", "1,3", "--json")
    assert done.returncode == 0
    assert len(json.loads(done.stdout)["pooled"]) == 2
    wanted = pool([CRFTagger.load(model) for model in models], [1, 3]).predict(X)
    assert CRFTagger.load(both).predict(X) == wanted
    evaluated = epigram("tag", "eval", both, str(train), "--json")
    right = [a == b for a, b in zip(itertools.chain(*y), itertools.chain(*wanted), strict=True)]
    assert json.loads(evaluated.stdout)["accuracy"] == pytest.approx(np.mean(right))
    looked = epigram(
        "tag", "rerank", models[0], str(train), "--with", models[1], "-o", again, "--folds", "2", "--json"
    )
    assert looked.returncode == 0
    assert json.loads(looked.stdout)["lists"] == 40
    refused = epigram("tag", "rerank", both, str(train), "-o", again, "--folds", "2")
    assert refused.returncode == 2
    assert "not the pool" in " ".join(refused.stderr.decode().split())
    assert epigram("tag", "pool", *models, "-o", both, "--shares", "1,x").returncode == 2


def test_a_pool_learns_on() -> None:
    whole = pool([fitted(WORDS), fitted(OTHERS)])
    before = log_p(whole, ["new", "IL"])[("B-x", "O")]
    whole.partial_fit([["new", "IL"]] * 20, [["B-x", "O"]] * 20)
    assert log_p(whole, ["new", "IL"])[("B-x", "O")] > before
