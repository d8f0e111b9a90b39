"""The array runtime equals the dictionary recursion, whatever n-grams are stored."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epigram.errors import InputError
from epigram.lm.loglinear.to_backoff import from_context_tree
from epigram.lm.ngram.backoff import BackoffModel
from epigram.lm.vocabulary import Vocabulary
from reference import backoff as reference

N_WORDS = 4
WORD = st.integers(1, N_WORDS - 1)


@st.composite
def loose_models(draw):
    """Random n-grams with any values: prefixes and suffixes may be missing, values need not sum to one."""
    order = draw(st.integers(1, 4))
    first = st.integers(0, N_WORDS - 1)
    grams = {(u,): -1.0 - u for u in range(N_WORDS)}
    bows: dict[tuple[int, ...], float] = {}
    for n in range(2, order + 1):
        rows = draw(st.lists(st.tuples(first, *[WORD] * (n - 2), first), max_size=8))
        grams |= {row: -0.1 * k - n for k, row in enumerate(rows)}
        contexts = draw(st.lists(st.tuples(first, *[WORD] * (n - 2)), max_size=4))
        bows |= {row: 0.05 * k - 0.3 for k, row in enumerate(contexts)}
    return order, grams, bows


def build(order, grams, bows):
    def rows(table, n):
        return np.array([key for key in table if len(key) == n], dtype=np.int32).reshape(-1, n)

    def values(table, n):
        return np.array([value for key, value in table.items() if len(key) == n], dtype=float)

    orders = range(1, order + 1)
    return BackoffModel.from_ngrams(
        Vocabulary([f"w{k}" for k in range(1, N_WORDS)]),
        [rows(grams, n) for n in orders],
        [values(grams, n) for n in orders],
        [rows(bows, n) for n in orders[:-1]],
        [values(bows, n) for n in orders[:-1]],
    )


def as_words(model, ids):
    return [model.vocabulary_.words[k] if k >= 0 else "unheard" for k in ids]


@settings(max_examples=120, deadline=None)
@given(loose_models(), st.lists(st.integers(-1, N_WORDS - 1).filter(lambda k: k != 0), max_size=8))
def test_scores_equal_the_dictionary(tables, sentence):
    order, grams, bows = tables
    model = build(*tables)
    expected = reference.score(grams, bows, order, sentence)
    scores = model.word_scores(as_words(model, sentence))
    np.testing.assert_allclose(scores, expected, atol=1e-12)
    state, walked = model.start(), []
    for word in [*as_words(model, sentence), "</s>"]:
        state, logp = model.advance(state, word)
        walked.append(logp)
    np.testing.assert_allclose(walked, expected, atol=1e-12)
    assert state == model.start()


@settings(max_examples=60, deadline=None)
@given(
    loose_models(),
    st.lists(st.lists(st.sampled_from([-1, 1, 2, 3]), max_size=4), min_size=0, max_size=25),
    st.booleans(),
)
def test_a_stream_is_its_sentences(tables, sentences, open_end):
    """Runs of sentences are scored side by side; it must not show."""
    order, grams, bows = tables
    model = build(*tables)
    stream = [word for sentence in sentences for word in [*sentence, 0]]
    expected = [score for sentence in sentences for score in reference.score(grams, bows, order, sentence)]
    if open_end and stream:
        stream, expected = stream[:-1], expected[:-1]
    found = model.score_stream(np.array(stream, dtype=np.int32))
    np.testing.assert_allclose(found, expected, atol=1e-12)


@settings(max_examples=80, deadline=None)
@given(loose_models(), st.lists(WORD, max_size=4), st.booleans())
def test_distribution_equals_the_dictionary(tables, context, from_start):
    order, grams, bows = tables
    model = build(*tables)
    history = [0] * from_start + context
    kept = history[len(history) - min(len(history), order - 1) :]
    expected = [math.exp(reference.logp(grams, bows, kept, u)) for u in range(N_WORDS)]
    words = ["<s>"] * from_start + as_words(model, context)
    np.testing.assert_allclose(model.distribution(words), expected, rtol=1e-12)
    nodes, logps = model.step_many(np.full(N_WORDS, model.state(words)), np.arange(N_WORDS, dtype=np.int32))
    np.testing.assert_allclose(np.exp(logps), expected, rtol=1e-12)
    assert nodes.tolist() == [model.step(model.state(words), u)[0] for u in range(N_WORDS)]


def test_context_tree_of_a_log_linear_model_is_exact():
    """p(u|x) proportional to exp of the sum of w over suffixes, weights on seen pairs only."""
    rng = np.random.default_rng(0)
    parent, label = np.array([-1, 0, 0, 1, 1]), np.array([-1, 1, 0, 2, 0])
    seen = {0: [0, 1, 2], 1: [0, 2], 2: [1], 3: [2], 4: [0]}
    w = {(x, u): rng.normal() for x, words in seen.items() for u in words}

    def s(x, u):
        return 0.0 if x < 0 else w.get((x, u), 0.0) + s(parent[x], u)

    z = [sum(math.exp(s(x, u)) for u in range(3)) for x in range(5)]
    pairs = [(x, u) for x in range(5) for u in seen[x]]
    model = from_context_tree(
        Vocabulary(["a", "b"]),
        parent,
        label,
        np.cumsum([0, *(len(seen[x]) for x in range(5))]),
        np.array([u for _, u in pairs]),
        np.array([s(x, u) - math.log(z[x]) for x, u in pairs]),
        np.array([0.0, *(math.log(z[parent[x]] / z[x]) for x in range(1, 5))]),
    )
    for x, context in {0: "", 1: "a", 2: "<s>", 3: "b a", 4: "<s> a"}.items():
        expected = [math.exp(s(x, u)) / z[x] for u in range(3)]
        np.testing.assert_allclose(model.distribution(context), expected, rtol=1e-12)


@pytest.fixture(scope="module")
def bigram() -> BackoffModel:
    grams = [np.array([[0], [1], [2], [3]]), np.array([[0, 1], [1, 2]])]
    logps = [np.log([0.1, 0.2, 0.3, 0.4]), np.log([0.7, 0.5])]
    bows = [np.log([0.3 / 0.8, 0.5 / 0.7])]
    vocabulary = Vocabulary(["a", "b", "c"])
    return BackoffModel.from_ngrams(vocabulary, grams, logps, [np.array([[0], [1]])], bows)


def test_next_words_are_sorted_and_bounded(bigram):
    assert bigram.next_words("<s>", 2) == [("a", pytest.approx(0.7)), ("c", pytest.approx(0.15))]
    assert len(bigram.next_words("a", 99)) == 4
    assert bigram.next_words("a", 0) == []


def test_samples_follow_the_distribution_and_the_seed(bigram):
    assert bigram.sample(3, seed=1) == bigram.sample(3, seed=1)
    firsts = Counter(sentence[0] if sentence else "</s>" for sentence in bigram.sample(4000, seed=2))
    expected = dict(zip(bigram.vocabulary_, bigram.distribution("<s>"), strict=True))
    for word, p in expected.items():
        assert abs(firsts[word] / 4000 - p) < 4 * math.sqrt(p * (1 - p) / 4000)
    assert all(len(sentence) <= 5 for sentence in bigram.sample(50, seed=0, max_words=5))


def test_perplexity_counts_words_of_the_vocabulary_and_ends(bigram):
    evaluation = bigram.evaluate(["a zebra b", "c"])
    logs = [math.log(0.7), math.log(0.3), math.log(0.1), math.log(0.15), math.log(0.1)]
    assert (evaluation.tokens, evaluation.sentences, evaluation.oov) == (4, 2, 1)
    assert evaluation.perplexity == pytest.approx(math.exp(-sum(logs) / 5))
    words = logs[0] + logs[1] + logs[3]
    assert evaluation.perplexity_without_end == pytest.approx(math.exp(-words / 3))
    assert bigram.perplexity(["a zebra b", "c"], end=False) == evaluation.perplexity_without_end


def test_texts_of_unknown_words_only_or_of_nothing(bigram):
    unknown = bigram.evaluate(["x y", "z"])
    assert unknown.oov == 3
    assert unknown.perplexity == pytest.approx(10.0)
    assert math.isnan(unknown.perplexity_without_end)
    assert math.isnan(bigram.perplexity([]))


def test_broken_arrays_are_refused(bigram):
    with pytest.raises(InputError, match="do not fit together"):
        BackoffModel(
            bigram.vocabulary_,
            bigram.node_pair,
            bigram.pair_ptr[:-1],
            bigram.pair_word,
            bigram.pair_logp,
            bigram.node_bow,
        )
    with pytest.raises(InputError, match="given twice"):
        BackoffModel.from_ngrams(
            Vocabulary(["a"]),
            [np.array([[0], [1]]), np.array([[1, 1], [1, 1]])],
            [np.zeros(2), np.zeros(2)],
            [],
            [],
        )
    with pytest.raises(InputError, match="each of the 2 words"):
        BackoffModel.from_ngrams(Vocabulary(["a"]), [np.array([[0]])], [np.zeros(1)], [], [])
