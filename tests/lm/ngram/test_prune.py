"""Pruning: scores equal the relative entropy by brute force; what remains sums to one and keeps its contexts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epigram.errors import InputError
from epigram.lm.corpus import Corpus
from epigram.lm.ngram.arpa import read_arpa, write_arpa
from epigram.lm.ngram.kneser_ney import KneserNeyLM
from epigram.lm.ngram.prune import entropy_scores, prune, stationary

SENTENCES = st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=6), min_size=2, max_size=8)


def brute_force_score(model, pair):
    """p(h) KL(p(.|h) || p'(.|h)) with this pair alone removed and bow(h) made anew."""
    x = int(model.pair_node[pair])
    p = model.distribution(x)
    lower = model.distribution(int(model.node_parent[x]))
    stored = model.pair_word[model.pair_ptr[x] : model.pair_ptr[x + 1]]
    left = np.setdiff1d(stored, [model.pair_word[pair]])
    q = lower * (1 - p[left].sum()) / (1 - lower[left].sum())
    q[left] = p[left]
    context = model.spell(np.array([x], dtype=np.int32))[0]
    state, _ = model.step(0, int(context[0]))
    log_h = math.log(stationary(model)[context[0]])
    for word in context[1:]:
        state, logp = model.step(state, int(word))
        log_h += logp
    return math.exp(log_h) * float((p * np.log(p / q)).sum())


@settings(max_examples=40, deadline=None)
@given(SENTENCES, st.integers(2, 4))
def test_scores_are_relative_entropies(sentences, order):
    model = KneserNeyLM(order).fit(sentences).backoff_
    scores = entropy_scores(model)
    holds: dict[int, float] = {}
    for pair in range(model.n_ngrams - 1, len(model.vocabulary_) - 1, -1):
        own = int(model.pair_node_of[pair])
        held = (
            max((holds[k] for k in range(model.pair_ptr[own], model.pair_ptr[own + 1])), default=0.0)
            if own > 0
            else 0.0
        )
        holds[pair] = max(brute_force_score(model, pair), held)
        assert scores[pair] == pytest.approx(holds[pair], rel=1e-6, abs=1e-12)
    assert np.isinf(scores[: len(model.vocabulary_)]).all()


def test_stationary_distribution_is_kept_by_the_2_grams():
    model = KneserNeyLM(2).fit(["a b c a b", "b c a", "c c b a"]).backoff_
    pi = stationary(model)
    assert pi.sum() == pytest.approx(1)
    rows = np.array([model.distribution(model.step(0, v)[0]) for v in range(pi.size)])
    np.testing.assert_allclose(pi @ rows, pi, atol=1e-8)
    alone = KneserNeyLM(1).fit(["a b"]).backoff_
    np.testing.assert_allclose(stationary(alone), alone.distribution())


@settings(max_examples=40, deadline=None)
@given(SENTENCES, st.integers(2, 4), st.floats(0, 1))
def test_what_remains_sums_to_one(sentences, order, share):
    model = KneserNeyLM(order).fit(sentences).backoff_
    n_words = len(model.vocabulary_)
    size = n_words + int(share * (model.n_ngrams - n_words))
    small = prune(model, n_ngrams=size)
    assert small.n_ngrams == size
    for state in range(small.node_pair.size):
        assert small.distribution(state).sum() == pytest.approx(1, abs=1e-9)
    assert prune(model, threshold=0.0).n_ngrams == model.n_ngrams
    assert prune(model, threshold=1e9).n_ngrams == n_words


def test_unpruned_pairs_keep_their_probability():
    model = KneserNeyLM(3).fit(["a b c a b", "b c a", "c c b a"]).backoff_
    small = prune(model, n_ngrams=model.n_ngrams - 3)
    contexts = [small.spell(np.array([x], dtype=np.int32))[0] for x in range(1, small.node_pair.size)]
    for x, context in enumerate(contexts, start=1):
        words = ["<s>" if k == 0 else model.vocabulary_.words[k] for k in context]
        stored = small.pair_word[small.pair_ptr[x] : small.pair_ptr[x + 1]]
        np.testing.assert_allclose(small.distribution(words)[stored], model.distribution(words)[stored])


def test_pruning_trades_size_for_perplexity_gently(data, tmp_path):
    train = Corpus.read(data / "lm-splits" / "apnews.s0.train.txt.gz")
    test = Corpus.read(data / "lm-splits" / "apnews.s0.test.txt.gz", train.vocabulary)
    model = KneserNeyLM(3).fit(train).backoff_
    half = prune(model, n_ngrams=model.n_ngrams // 2)
    quarter = prune(model, n_ngrams=model.n_ngrams // 4)
    sizes = [m.perplexity(test) for m in (model, half, quarter)]
    assert sizes[0] < sizes[1] < sizes[2] < 1.3 * sizes[0]
    write_arpa(half, tmp_path / "half.arpa")
    assert read_arpa(tmp_path / "half.arpa").perplexity(test) == pytest.approx(sizes[1], rel=1e-5)


def test_bad_requests_are_refused():
    model = KneserNeyLM(2).fit(["a b"]).backoff_
    with pytest.raises(InputError, match="either"):
        prune(model)
    with pytest.raises(InputError, match="either"):
        prune(model, 0.1, 5)
    with pytest.raises(InputError, match="threshold"):
        prune(model, -1.0)
    with pytest.raises(InputError, match="cannot keep 1"):
        prune(model, n_ngrams=1)
    assert prune(model, n_ngrams=10**9) is model
