"""Counted n-grams equal a dictionary of tuples."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from epigram.lm.corpus import Corpus
from epigram.lm.ngram.counts import count_ngrams

SENTENCES = st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=7), min_size=1, max_size=10)


@settings(max_examples=40, deadline=None)
@given(SENTENCES, st.integers(1, 6))
def test_counts_equal_a_dictionary(sentences, order):
    corpus = Corpus.of(sentences)
    levels = count_ngrams(corpus, order)
    spelled: list[tuple[int, ...]] = [(u,) for u in range(len(corpus.vocabulary))]
    stream = corpus.stream().tolist()
    for n, level in enumerate(levels[1:], start=2):
        previous = spelled
        spelled = [(*previous[h], u) for h, u in zip(level.prefix, level.word, strict=True)]
        expected: dict[tuple[int, ...], int] = {}
        for i in range(n - 1, len(stream)):
            gram = tuple(stream[i - n + 1 : i + 1])
            if 0 not in gram[1:-1]:
                expected[gram] = expected.get(gram, 0) + 1
        assert dict(zip(spelled, level.count.tolist(), strict=True)) == expected
        assert spelled == sorted(spelled)
        assert [previous[s] for s in level.suffix] == [gram[1:] for gram in spelled]
