"""Kneser-Ney on disk equals Kneser-Ney in memory bit by bit, with any memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epigram.errors import InputError
from epigram.lm.corpus import Corpus
from epigram.lm.ngram import estimate, sorting
from epigram.lm.ngram.estimate import Place, RecordShape, count, next_level, words_level
from epigram.lm.ngram.kneser_ney import discounts

SENTENCES = st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=12), min_size=1, max_size=40)
COLUMNS = ("word", "logp", "context", "size", "bow", "exact")


def levels(corpus, order, thresholds, place):
    counted = count(corpus.stream(), len(corpus.vocabulary), order, thresholds, place)
    ds = [discounts(tally, True) for tally in counted.tally]
    level = words_level(counted.unigrams, ds[0], place)
    columns = []
    for n in range(2, order + 2):
        columns.append({name: getattr(level, name).array() for name in COLUMNS})
        level = next_level(counted, n, level, ds[n - 1], place) if n <= order else None
        if level is None:
            break
    return columns


@settings(max_examples=40, deadline=None)
@given(SENTENCES, st.integers(1, 10), st.sampled_from([0, 1, 2]), st.integers(1, 30))
def test_disk_equals_memory(tmp_path_factory, sentences, order, prune, block):
    corpus = Corpus.of(sentences)
    thresholds = [0, 0, *[prune] * order][:order]
    whole = levels(corpus, order, thresholds, Place(rounds=True))
    folder = tmp_path_factory.mktemp("work")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorting, "LEAST_RUN", 64)
        patch.setattr(sorting, "LEAST_ROOM", 4)
        for module in (sorting, estimate):
            patch.setattr(module, "BLOCK", block)
        patch.setattr(estimate, "LEAST_JOINED", 3)
        parts = levels(corpus, order, thresholds, Place(1, folder, rounds=True))
    assert len(whole) == len(parts)
    for one, other in zip(whole, parts, strict=True):
        for name in COLUMNS:
            np.testing.assert_array_equal(one[name], other[name], err_msg=name)
    assert not list(folder.glob("run*"))


def test_records_hold_long_ngrams_of_large_vocabularies_and_refuse_texts_that_cannot_be_numbered():
    shape = RecordShape.of(10, 1 << 24, 1 << 30)
    assert shape.window_width * 64 >= 10 * 25 + 31
    assert shape.gram_width(9) * 64 >= 9 * 25 + 2 * 31 + 32
    with pytest.raises(InputError, match="words and ends of sentences"):
        RecordShape.of(5, 100, 1 << 31)
