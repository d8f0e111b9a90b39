"""Streams of word ids: lines, unknown words, marks of sentences, and perplexities equal to KenLM's."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from epigram import KneserNeyLM, read_arpa, write_arpa
from epigram.filter import Perplexity, PieceModel, normalise
from epigram.filter.streams import TextStream
from epigram.lm.vocabulary import Vocabulary
from reference.piece_models import NORMAL, UNKNOWN, model_bytes

TEXTS = [
    "a b a b",
    "b a c\n\na b",
    "",
    " \n",
    "zebra a",
    "a\r\nb",
    "<s> a </s> b",
    "a\0b",
    "Été 12 a…",
    "x" * 100_000,
]


def test_words_between_blanks() -> None:
    vocabulary = Vocabulary(["a", "b", "<unk>"])
    stream, ptr, unknown = TextStream(vocabulary)(TEXTS[:8])
    found = [stream[a:b].tolist() for a, b in pairwise(ptr.tolist())]
    assert found == [
        [1, 2, 1, 2, 0], [2, 1, -1, 0, 1, 2, 0], [], [], [-1, 1, 0], [1, 0, 2, 0], [-1, 1, -1, 2, 0], [1, 2, 0]
    ]  # fmt: skip
    assert unknown.tolist() == [0, 1, 0, 0, 1, 0, 2, 0]


@pytest.mark.parametrize("ccnet", [False, True])
def test_perplexities_are_those_of_kenlm(tmp_path: Path, ccnet: bool) -> None:
    kenlm = pytest.importorskip("kenlm")
    letters = "▁abcdefghijklmnopqrstuvwxyz.0"
    pieces = [("<unk>", 0.0, UNKNOWN), *((letter, -3.0 - k / 8, NORMAL) for k, letter in enumerate(letters))]
    pieces += [("ab", -4.0, NORMAL), ("▁a", -3.5, NORMAL)]
    model = PieceModel.from_bytes(model_bytes(pieces))
    training = [["▁a", "b", "▁", "b", "a"], ["▁", "c", "ab", "▁a"], ["▁a", "▁a", "x", "<unk>"]]
    write_arpa(KneserNeyLM(3).fit(training).backoff_, tmp_path / "m.arpa")
    other, scorer = (
        kenlm.Model(str(tmp_path / "m.arpa")),
        Perplexity(read_arpa(tmp_path / "m.arpa"), model, ccnet),
    )
    names = {text for text, *_ in pieces}

    def cut(line: str) -> list[str]:
        """Of these pieces the longest is the best wherever there is one."""
        line, out = "▁" + "▁".join(line.split()), []
        while line:
            size = next((n for n in (2, 1) if line[:n] in names), 1)
            known = line[:size] in names
            if out and not known and not out[-1][1]:
                out[-1] = (out[-1][0] + line[:size], False)
            else:
                out.append((line[:size], known))
            line = line[size:]
        return [text for text, _ in out]

    texts = [text.replace("\r", "") for text in TEXTS[:-1] if text.split()]
    for text, found in zip(texts, scorer(texts).tolist(), strict=True):
        lines = [normalise.normalise(text)] if ccnet else [line for line in text.split("\n") if line.split()]
        cuts = [cut(line.replace("\0", "\1")) for line in lines]
        log10 = sum(other.score(" ".join(one)) for one in cuts)
        assert found == pytest.approx(10 ** (-log10 / sum(len(one) + 1 for one in cuts)), rel=1e-4)
    assert scorer.unknown > 0


def test_texts_of_any_size_fit() -> None:
    rules = {"a": "b" * 90}
    model = PieceModel.from_bytes(model_bytes([("b", -1.0, NORMAL), ("▁", -1.0, NORMAL)], rules=rules))
    stream, ptr, _ = TextStream(Vocabulary(["b", "▁"]), model)(["a" * 1000, "", "a"])
    assert np.diff(ptr).tolist() == [90_002, 0, 92]
    assert stream.size == 90_094
