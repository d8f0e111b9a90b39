"""l1="auto": the strength with the best held-out score is the one used, and only the path decides."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from epigram import CRFTagger
from epigram.errors import InputError
from epigram.features.columns import Columns


def noisy(n: int, seed: int) -> tuple[list[list[list[str]]], list[list[str]]]:
    """A label is told by its word four times in five; each token has a word that occurs once, which tells nothing."""
    rng = random.Random(seed)
    X, y = [], []
    for s in range(n):
        words = [rng.choice("abcd") for _ in range(4)]
        X.append([[f"w={word}", f"only={seed},{s},{t}"] for t, word in enumerate(words)])
        y.append([word.upper() if rng.random() < 0.8 else rng.choice("ABCD") for word in words])
    return X, y


def test_the_best_of_the_path_is_used_on_all_sentences() -> None:
    X, y = noisy(120, 1)
    tagger = CRFTagger(l1="auto").fit(X, y)
    path = tagger.fit_["path"]
    assert tagger.fit_["l1"] == max(path, key=lambda entry: entry["score"])["l1"]
    assert [entry["l1"] for entry in path] == [4.0 / 2**k for k in range(len(path))]
    assert len(path) >= 3
    assert max(entry["score"] for entry in path[-2:]) <= max(e["score"] for e in path)
    assert tagger.to_bytes() != b""
    assert tagger.model_.weights.n_nonzero < 60
    again = CRFTagger(l1=tagger.fit_["l1"]).fit(X, y)
    assert again.model_.w.tolist() == tagger.model_.w.tolist()


def test_held_out_sentences_may_be_given_and_input_may_be_a_stream() -> None:
    X, y = noisy(60, 1)
    given = CRFTagger(l1="auto").fit((s for s in X), (s for s in y), dev=noisy(40, 2))
    columns = Columns.from_rows([[token[0] for token in s] for s in X])
    template = "U0:%x[0,0]\nB\n"
    cut = CRFTagger(template, l1="auto").fit(columns, y)
    rows = CRFTagger(template, l1="auto").fit([[(token[0],) for token in s] for s in X], y)
    assert given.fit_["l1"] > 0
    assert cut.fit_["path"] == rows.fit_["path"]


def test_learning_on_keeps_the_strength(tmp_path: Path) -> None:
    X, y = noisy(60, 1)
    tagger = CRFTagger(l1="auto").fit(X, y)
    tagger.save(tmp_path / "m")
    again = CRFTagger.load(tmp_path / "m")
    assert again.l1 == "auto"
    assert again.partial_fit(X, y).partial_fit(X, y).fit_["l1"] == tagger.fit_["l1"]


def test_refuses() -> None:
    X, y = noisy(60, 1)
    with pytest.raises(InputError, match="5 are too few to part with"):
        CRFTagger(l1="auto").fit(X[:5], y[:5])
    with pytest.raises(ValueError, match="'auto' for sentences and without l2"):
        CRFTagger(l1="auto", l2=1.0).fit(X, y)
    with pytest.raises(ValueError, match="call it before partial_fit"):
        CRFTagger(l1="auto").partial_fit(X, y)
