"""Converters of a given size: the size holds, and the candidate that is best on held-out sentences is taken."""

from __future__ import annotations

import numpy as np
import pytest

from epigram.cli.ime.build import parse_size
from epigram.errors import InputError
from epigram.ime import KanaKanjiConverter, WordList
from epigram.ime.build import SizeLimits, read_corpus
from epigram.ime.rescoring import Cooccurrence
from epigram.ime.size import Counts, build_within
from epigram.lm.corpus import Corpus

KANJI = "木気機器期記基規紀既橋箸端走渡使持"


def text(n_sentences: int = 3000) -> Corpus:
    """Random sentences over 400 words of five readings."""
    rng = np.random.default_rng(0)
    tokens = [
        f"{a}{b}/{'あいうかきく'[k % 6]}{'さしすせ'[k % 4]}" for k, a in enumerate(KANJI) for b in KANJI
    ]
    draws = [rng.zipf(1.2, rng.integers(3, 12)) % len(tokens) for _ in range(n_sentences)]
    return read_corpus([" ".join(tokens[k] for k in line) for line in draws])


@pytest.mark.parametrize("rescore", [False, True])
def test_a_size_holds_and_its_file_is_that_converter(rescore, tmp_path):
    told: list[str] = []
    sizes = []
    for size in (45_000, 70_000):
        converter, content = build_within(
            size, text(), WordList.of([]), rescore=rescore, card={"licence": "CC0"}, callback=told.append
        )
        assert len(content) <= size
        path = tmp_path / "m.epigram"
        path.write_bytes(content)
        again = KanaKanjiConverter.load(path)
        assert again.card_ == {"licence": "CC0"}
        assert again.settings == converter.settings
        assert (again.rescorer is not None) == rescore
        sizes.append(len(content))
    assert sizes[1] > sizes[0]
    assert told


def test_the_same_text_gives_the_same_bytes():
    made = [build_within(60_000, text(1000), WordList.of([]))[1] for _ in range(2)]
    assert made[0] == made[1]


def test_a_size_that_no_converter_fits_is_refused():
    with pytest.raises(InputError, match="no converter of this text fits"):
        build_within(20_000, text(500), WordList.of([]))


def test_counts_say_how_much_limits_leave():
    corpus = text(1000)
    counts = Counts.of(corpus, len(corpus.vocabulary), rescore=True)
    pairs = Cooccurrence.learn(corpus, [token.partition("/")[0] for token in corpus.vocabulary.words], 0.0)
    assert counts.pairs.sum() == pairs.others.size
    assert counts.size_of_ngrams((1, 2)) < counts.size_of_ngrams((0, 0))
    assert counts.size_of_rescorer(8.0) <= counts.size_of_rescorer(1.0)
    found = counts.limits(300_000, 0.3, 0.3)
    assert isinstance(found, SizeLimits)
    assert counts.limits(1000, 0.3, 0.3) is None


@pytest.mark.parametrize("given", ["", "15 MiB", "-3MB", "MB", "1e3"])
def test_what_is_no_size_is_refused(given):
    with pytest.raises(InputError, match="is no size"):
        parse_size(given)
