"""N-grams counted in shards: the very arrays, models and word classes of one machine."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epigram import Corpus, KneserNeyLM
from epigram.datasets import sample
from epigram.errors import InputError
from epigram.lm.factored.classes import WordClasses
from epigram.lm.factored.exchange import Bigrams
from epigram.lm.ngram.kneser_ney import count_ngrams
from epigram.lm.ngram.sharded import count_stream, fit_stream, ranges
from epigram.lm.sharding import write_stream
from epigram.scale import Here, Manifest

LINES = st.lists(
    st.lists(st.sampled_from(["a", "b", "ç", "d"]), max_size=5).map(" ".join), min_size=1, max_size=8
)


@given(LINES, st.integers(1, 12), st.integers(1, 5), st.integers(1, 2))
@settings(max_examples=25)
def test_any_number_of_shards_gives_the_levels_of_one_machine(
    lines: list[str], n_shards: int, order: int, min_count: int
) -> None:
    with TemporaryDirectory() as home:
        path = Path(home) / "text"
        path.write_text("\n".join(lines) + "\na b a\n", "utf-8")  # empty sentences too
        manifest = write_stream([path], Path(home) / "s", min_count=min_count)
        found = count_stream(manifest, order, n_shards=n_shards)
        expected = count_ngrams(Corpus.read(path, min_count=min_count), order)
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            for name in ("prefix", "word", "suffix", "count"):
                mine, theirs = getattr(one, name), getattr(other, name)
                assert mine.dtype == theirs.dtype
                np.testing.assert_array_equal(mine, theirs)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("counts")
    lines = [" ".join(token[0] for token in sentence) for sentence in sample.tagged("train", 80)]
    (home / "text").write_text("\n".join(lines) + "\n", "utf-8")
    write_stream([home / "text"], home / "words")
    return home


@pytest.mark.parametrize("n_shards", [1, 2, 7, 5000])
def test_the_model_is_that_of_one_machine(folder: Path, tmp_path: Path, n_shards: int) -> None:
    manifest = Manifest.read(folder / "words", "lm")
    many = fit_stream(KneserNeyLM(order=4, prune=1), manifest, Here(2), n_shards)
    one = KneserNeyLM(order=4, prune=1).fit(folder / "text")
    many.save(tmp_path / "many")
    one.save(tmp_path / "one")
    assert (tmp_path / "many").read_bytes() == (tmp_path / "one").read_bytes()
    shares = ranges(manifest, 4, n_shards)
    assert len(shares) <= min(n_shards, manifest.header["words"])
    assert all(before.high == after.low for before, after in pairwise(shares))


def test_classes_of_counted_bigrams_are_those_of_the_text(folder: Path) -> None:
    corpus = Corpus.read(folder / "text")
    _, level = count_stream(Manifest.read(folder / "words", "lm"), 2, n_shards=3)
    counted = Bigrams.of_pairs(level.prefix, level.word, level.count, len(corpus.vocabulary))
    for name in Bigrams.__slots__:
        np.testing.assert_array_equal(getattr(counted, name), getattr(Bigrams.of(corpus), name))
    found = WordClasses.of_bigrams(corpus.vocabulary, counted, 12, seed=1)
    np.testing.assert_array_equal(found.class_of, WordClasses.learn(corpus, 12, seed=1).class_of)


def test_wrong_orders_are_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="order must be a whole number >= 1"):
        count_stream(Manifest.read(folder / "words", "lm"), 0)
