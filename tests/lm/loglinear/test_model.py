"""The log-linear model: exact probabilities, tree and trie alike, files, explanations, and odd input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from small_texts import corpora

from epigram import LogLinearLM
from epigram.errors import InputError, ModelFileError
from epigram.lm.corpus import Corpus
from epigram.lm.loglinear.penalties import PENALTIES
from epigram.lm.ngram.arpa import write_arpa
from epigram.storage import describe, load
from reference.lm_suffix import weights_by_context

GIVEN = {"strength": 0.3, "depth_weight": 1.2, "ridge": 0.05, "open_vocabulary": False}
TEXT = ["the cat sat on the mat", "the dog sat on the log", "a cat saw the dog", "the dog saw a cat"]


def fitted(sentences=TEXT, **settings):
    return LogLinearLM(**{**GIVEN, "order": 3, **settings}).fit(sentences)


def brute_force(model, context, word):
    """P(word | context) from the weights of all suffixes and a sum over the whole vocabulary."""
    weights = weights_by_context(model.tree_, model.weights_)
    ids = tuple(model.vocabulary_.id(token) for token in context)
    longest = len(ids) if model.order == 0 else min(len(ids), model.order - 1)
    suffixes = [(0, ids[len(ids) - d :]) for d in range(longest + 1)]
    scores = np.array(
        [sum(weights.get((c, u), 0.0) for c in suffixes) for u in range(len(model.vocabulary_))]
    )
    return float(np.exp(scores[model.vocabulary_.id(word)]) / np.exp(scores).sum())


@settings(max_examples=25, deadline=None)
@given(corpora, st.integers(0, 4), st.sampled_from(sorted(PENALTIES)), st.data())
def test_probabilities_are_those_of_the_weights_and_sum_to_one(sentences, order, penalty, draw):
    model = fitted(sentences, order=order, penalty=penalty, tolerance=1e-4)
    context = ["<s>", *draw.draw(st.lists(st.sampled_from("abc"), max_size=5))]
    context = [word for word in context if word == "<s>" or word in model.vocabulary_]
    word = draw.draw(st.sampled_from(model.vocabulary_.words))
    distribution = model.distribution(context)
    assert distribution.sum() == pytest.approx(1.0, abs=1e-9)
    expected = brute_force(model, context, word)
    assert distribution[model.vocabulary_.id(word)] == pytest.approx(expected, rel=1e-9)
    assert model.explain(context, word).probability == pytest.approx(expected, rel=1e-9)


def test_held_out_perplexity_is_that_of_the_back_off_form(data):
    corpus = Corpus.read(data / "lm-splits" / "apnews.s0.train.txt.gz")
    train, rest = corpus.take(0, 800), corpus.take(800, 1000)
    for penalty, order in (("elastic", 4), ("tree-linf", 0), ("tree-l2", 3)):
        model = LogLinearLM(order=order, penalty=penalty, tolerance=1e-5, **GIVEN).fit(train, valid=rest)
        assert model.valid_perplexity_ == pytest.approx(model.perplexity(rest), rel=1e-9)


@pytest.mark.parametrize("order", [3, 5, 0])
@pytest.mark.parametrize("depth_weight", [1.0, 0.8])
def test_tree_and_trie_give_the_same_model_under_tree_linf(data, order, depth_weight):
    corpus = Corpus.read(data / "lm-splits" / "apnews.s1.train.txt.gz").take(0, 150 if order else 15)
    strength = {"strength": 0.5, "depth_weight": depth_weight, "tolerance": 1e-13, "max_iterations": 5000}
    tree, trie = (
        LogLinearLM(order=order, penalty="tree-linf", collapse=collapse, **strength).fit(corpus)
        for collapse in (True, False)
    )
    assert tree.n_parameters_ < trie.n_parameters_
    assert tree.objective_ == pytest.approx(trie.objective_, rel=1e-8)
    for context in ("<s> the", "of the", "in"):
        np.testing.assert_allclose(tree.distribution(context), trie.distribution(context), atol=1e-5)


def test_price_is_chosen_on_held_out_text_and_beats_the_first(data):
    corpus = Corpus.read(data / "lm-splits" / "apnews.s0.train.txt.gz")
    model = LogLinearLM(order=3, tolerance=1e-5).fit(corpus.take(0, 800), valid=corpus.take(800, 1000))
    perplexities = [trial.perplexity for trial in model.trials_]
    assert min(perplexities) < perplexities[0]
    assert model.valid_perplexity_ < min(perplexities) * 1.001
    assert model.strength_ == min(model.trials_, key=lambda trial: trial.perplexity).strength


def test_search_ends_when_a_callback_says_so():
    model = LogLinearLM(order=2, held_out=0.3).fit(TEXT, on_trial=lambda trial: True)
    assert len(model.trials_) == 1
    assert model.distribution("the").sum() == pytest.approx(1.0)


def test_interrupted_training_leaves_a_usable_model():
    model = LogLinearLM(order=3, **GIVEN).fit(TEXT, callback=lambda now: now.number >= 2)
    assert (model.n_iter_, model.reason_) == (2, "callback")
    assert model.distribution("the").sum() == pytest.approx(1.0)


@pytest.mark.parametrize("penalty", ["elastic", "tree-linf"])
@pytest.mark.parametrize("bits", [0, 8])
def test_saved_model_is_the_same_model(tmp_path, penalty, bits):
    model = fitted(penalty=penalty, order=0 if penalty == "tree-linf" else 3)
    path = tmp_path / "model.epigram"
    model.save(path, bits)
    again = LogLinearLM.load(path)
    for context in ("", "<s> the", "sat on the"):
        np.testing.assert_allclose(
            again.distribution(context), model.distribution(context), rtol=0.05 if bits else 1e-5
        )
    assert again.get_params()["penalty"] == penalty
    why, before = again.explain("on the", "mat"), model.explain("on the", "mat")
    assert [term.context for term in why.terms] == [term.context for term in before.terms]
    assert why.terms[-1].count is None
    sections = {section.title: section for section in describe(path)[1]}
    assert sum(row[1] for row in sections["weights"].rows) == model.n_nonzero_


def test_damaged_files_give_one_sentence(tmp_path):
    path = tmp_path / "model.epigram"
    fitted().save(path)
    content = path.read_bytes()
    path.write_bytes(content[:-20])
    with pytest.raises(ModelFileError):
        load(path)


def test_arpa_read_by_kenlm_has_the_same_perplexity(tmp_path, data):
    kenlm = pytest.importorskip("kenlm")
    corpus = Corpus.read(data / "lm-splits" / "apnews.s2.train.txt.gz")
    model = LogLinearLM(order=4, tolerance=1e-5, **GIVEN).fit(corpus.take(0, 700))
    rest = corpus.take(700, 900).with_vocabulary(model.vocabulary_)
    path = tmp_path / "model.arpa"
    write_arpa(model.backoff_, path)
    rival = kenlm.Model(str(path))
    total, n = 0.0, 0
    for sentence in rest.sentences():
        total += rival.score(" ".join(sentence))
        n += len(sentence) + 1
    assert 10 ** (-total / n) == pytest.approx(model.perplexity(list(rest.sentences())), rel=1e-4)


def test_explanation_adds_up():
    model = fitted(order=4)
    why = model.explain("<s> the cat", "sat")
    assert [term.context for term in why.terms] == [(), ("cat",), ("the", "cat"), ("<s>", "the", "cat")]
    score = sum(term.weight for term in why.terms)
    assert np.exp(score - why.log_normaliser) == pytest.approx(why.probability)
    assert model.explain("zebra cat", "sat").terms[-1].context == ("cat",)
    with pytest.raises(InputError, match="zebra"):
        model.explain("the", "zebra")


def test_partial_fit_learns_new_text():
    model = fitted()
    before = model.distribution("the")[model.vocabulary_.id("log")]
    sentences = ["on the log", "on the log sat the cat"] * 20
    model.partial_fit(sentences)
    after = model.distribution("the")
    assert after[model.vocabulary_.id("log")] > before
    assert after.sum() == pytest.approx(1.0)
    assert model.tree_.n_positions == 26 + 20 * (4 + 7)


def test_estimator_conventions():
    model = LogLinearLM(order=2, **GIVEN)
    assert clone(model).get_params() == model.get_params()
    with pytest.raises(InputError, match="not fitted"):
        model.distribution("a")


def test_one_word_corpus():
    model = fitted(["a"])
    assert model.distribution("a").sum() == pytest.approx(1.0)
    assert fitted(["a a a a"], order=0, penalty="tree-linf").perplexity(["a a"]) > 1.0


def test_order_beyond_every_sentence():
    assert fitted(order=50).perplexity(TEXT) == pytest.approx(fitted(order=0).perplexity(TEXT), rel=1e-6)


def test_test_text_of_unknown_words_only():
    found = fitted().evaluate(["zebra yak", "gnu"])
    assert (found.oov, found.tokens) == (3, 3)
    assert np.isfinite(found.perplexity)
    assert np.isnan(found.perplexity_without_end)


@pytest.mark.parametrize("wrong", [0, 0.0, -1.0, float("inf"), float("nan")])
def test_strength_of_zero_or_infinity_is_refused(wrong):
    with pytest.raises(InputError, match="strength must be a finite number above 0"):
        fitted(strength=wrong)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"penalty": "l3"}, "unknown penalty"),
        ({"solver": "adam"}, "unknown solver"),
        ({"order": -2}, "order"),
    ],
)
def test_wrong_settings_are_named(settings, message):
    with pytest.raises(InputError, match=message):
        fitted(**settings)


@pytest.mark.parametrize("text", [[], ["", "  "]])
def test_empty_text_is_refused(text):
    with pytest.raises(InputError, match="no words"):
        fitted(text)


def test_auto_needs_two_sentences():
    with pytest.raises(InputError, match="hold out"):
        LogLinearLM(order=2).fit(["a b c"])


def test_fewer_weights_are_the_ones_worth_most_and_fitted_again():
    full = fitted(order=3)
    small = fitted(order=3, max_weights=20)
    assert small.n_nonzero_ <= 20
    assert small.distribution("the").sum() == pytest.approx(1.0)
    assert full.perplexity(TEXT) < small.perplexity(TEXT) < fitted(order=1).perplexity(TEXT)
    with pytest.raises(InputError, match="at least 1"):
        fitted(max_weights=0)


def test_worth_is_what_dropping_a_weight_costs_text_of_the_model():
    from epigram.lm.loglinear.select import weight_importance

    model = fitted(order=1)
    w, counts = model.weights_, model.tree_.count.astype(float)
    p = np.exp(w) / (np.exp(w).sum() + model.tree_.n_unseen[0])
    found = weight_importance(model.loss_, w)
    np.testing.assert_allclose(found, counts.sum() * p * (w - 1 + np.exp(-w)), rtol=1e-9)
