"""A text in batches, and perplexity along it."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from test_lm_online import TEST, TEXT, make

from epigram.errors import InputError
from epigram.lm.corpus import Corpus
from epigram.lm.stream import batches, stream


def test_batches_of_a_file_are_those_of_its_lines(tmp_path):
    lines = ["a b", "", "c d e", "f"]
    for name, content in (
        ("plain", "\r\n".join(lines).encode()),
        ("packed", gzip.compress("\n".join(lines).encode())),
    ):
        path = tmp_path / name
        path.write_bytes(content)
        assert list(batches(path, 3)) == [lines[:3], lines[3:]]


def test_batches_of_a_corpus_are_parts_of_it():
    corpus = Corpus.of(["a b", "c", "d e"])
    assert [part.n_tokens for part in batches(corpus, 2)] == [3, 2]


def test_a_line_that_is_no_text_is_named(tmp_path):
    path = tmp_path / "t"
    path.write_bytes(b"good\nb\xffd\n")
    with pytest.raises(InputError, match=r":2.*UTF-8|UTF-8.*2"):
        list(batches(path, 1))
    with pytest.raises(InputError, match="cannot read"):
        list(batches(Path(tmp_path / "missing"), 1))
    with pytest.raises(ValueError, match="at least 1"):
        list(batches([], 0))


def test_perplexity_falls_along_a_stream():
    points = list(stream(make().fit(TEXT[:100]), TEXT[100:], TEST, batch=250, every=2))
    n_tokens = [sum(len(s) for s in TEXT[100:k]) for k in (100, 600, 1000)]
    assert [tokens for tokens, _ in points] == n_tokens
    assert points[0][1] > points[1][1] > points[2][1]
