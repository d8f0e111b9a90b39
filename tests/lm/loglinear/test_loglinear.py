"""Updates of log-linear models: refitting with the old text, and MAP adaptation without it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_texts import TEST, TEXT, WORDS, corpora, several_roots

from epigram import LogLinearLM
from epigram.errors import InputError
from epigram.lm.corpus import Corpus
from epigram.lm.loglinear.loss import SuffixLoss
from epigram.lm.loglinear.penalties import build_penalty
from epigram.lm.loglinear.tree import ContextTree, Positions
from reference.lm_suffix import weights_by_context

STRENGTHS = {
    "elastic": {"strength": 0.4, "depth_weight": 1.7, "ridge": 0.06},
    "l1": {"strength": 0.5, "depth_weight": 1.1},
    "l2": {"strength": 0.1, "depth_weight": 1.5},
    "tree-l2": {"strength": 0.7, "depth_weight": 0.9},
    "tree-linf": {"strength": 0.6, "depth_weight": 1.15},
}
KINDS = [*((name, False) for name in STRENGTHS), ("tree-linf", True), ("elastic", True)]


def make(penalty="elastic", collapse=False, **given):
    settings = {"order": 3, "tolerance": 1e-7, "vocabulary": WORDS, **STRENGTHS[penalty], **given}
    return LogLinearLM(penalty=penalty, collapse=collapse, **settings)


def objective(model):
    """Loss and strength of the whole text at the model's weights."""
    tree = model.tree_
    penalty = build_penalty(model.penalty, tree, model.strength_, model.nonnegative)
    return SuffixLoss(tree).value(model.optimum_) + penalty.value(model.optimum_)


@pytest.mark.parametrize(("penalty", "collapse"), KINDS)
@pytest.mark.parametrize("n_new", [1, 10, 500])
def test_new_text_does_not_hurt_and_is_worth_as_much_as_old(penalty, collapse, n_new):
    model = make(penalty, collapse).fit(TEXT[:-n_new])
    before = model.perplexity(TEST)
    whole = make(penalty, collapse).fit(TEXT)
    model.partial_fit(TEXT[-n_new:])
    assert model.perplexity(TEST) < 1.01 * before
    assert model.perplexity(TEST) < 1.01 * whole.perplexity(TEST)
    assert objective(model) < 1.003 * objective(whole)


@pytest.mark.parametrize(("penalty", "collapse"), KINDS)
def test_many_small_calls_do_as_well_as_one(penalty, collapse):
    whole = make(penalty, collapse).fit(TEXT)
    model = make(penalty, collapse).fit(TEXT[:500])
    for first in range(500, 1000, 20):
        model.partial_fit(TEXT[first : first + 20])
    assert model.perplexity(TEST) < 1.01 * whole.perplexity(TEST)
    assert model.tree_.n_positions == whole.tree_.n_positions


def test_signs_may_be_free():
    model = make(nonnegative=False).fit(TEXT[:800]).partial_fit(TEXT[800:])
    whole = make(nonnegative=False).fit(TEXT)
    assert model.weights_.min() < 0
    assert model.perplexity(TEST) < 1.005 * whole.perplexity(TEST)


@pytest.mark.parametrize(("penalty", "collapse"), [("elastic", False), ("tree-linf", True)])
@pytest.mark.parametrize("bits", [0, 8])
def test_a_model_from_a_file_goes_on(tmp_path, penalty, collapse, bits):
    model = make(penalty, collapse).fit(TEXT[:800])
    model.save(tmp_path / "m", bits, text=True)
    again = LogLinearLM.load(tmp_path / "m").partial_fit(TEXT[800:])
    model.partial_fit(TEXT[800:])
    assert again.perplexity(TEST) == pytest.approx(model.perplexity(TEST), rel=2e-3)
    assert again.tree_.n_positions == model.tree_.n_positions
    again.save(tmp_path / "m", bits, text=True)
    assert LogLinearLM.load(tmp_path / "m").perplexity(TEST) == pytest.approx(
        again.perplexity(TEST), rel=2e-3
    )


@pytest.mark.parametrize(("penalty", "collapse"), [("elastic", False), ("tree-linf", True)])
@pytest.mark.parametrize("known", [True, False])
def test_a_model_from_a_file_without_its_text_goes_on_at_some_loss(tmp_path, penalty, collapse, known):
    from epigram.storage import ModelFile

    model = make(penalty, collapse).fit(TEXT[:800])
    before = model.perplexity(TEST)
    model.save(tmp_path / "m")
    if not known:  # as in files of earlier versions
        file = ModelFile.load(tmp_path / "m")
        del file.header["fit"]["positions"]
        file.save(tmp_path / "m")
    again = LogLinearLM.load(tmp_path / "m").partial_fit(TEXT[800:])
    assert again.perplexity(TEST) < 1.15 * before
    assert again.perplexity(TEXT[800:]) < model.perplexity(TEXT[800:])
    assert not hasattr(again, "corpus_")
    again.save(tmp_path / "m")
    assert LogLinearLM.load(tmp_path / "m").perplexity(TEST) == pytest.approx(
        again.perplexity(TEST), rel=2e-3
    )


def test_adapting_without_the_text_helps_on_real_text(tmp_path, data):
    corpus = Corpus.read(data / "lm-splits" / "apnews.s0.train.txt.gz")
    test = Corpus.read(data / "lm-splits" / "apnews.s0.test.txt.gz", corpus.vocabulary)
    model = LogLinearLM(order=3, tolerance=1e-5, **STRENGTHS["elastic"]).fit(corpus.take(0, 2000))
    before = model.perplexity(test)
    model.save(tmp_path / "m")
    assert (
        LogLinearLM.load(tmp_path / "m").partial_fit(corpus.take(2000, 2400)).perplexity(test)
        < 1.005 * before
    )


def test_factors_of_the_depths_are_kept(tmp_path):
    model = LogLinearLM(order=3, tolerance=1e-5).fit(TEXT[:700], valid=TEXT[700:800])
    scales = model.scales_
    model.save(tmp_path / "m", text=True)
    for one in (model, LogLinearLM.load(tmp_path / "m")):
        before = one.perplexity(TEST)
        one.partial_fit(TEXT[800:])
        np.testing.assert_allclose(one.scales_, scales)
        assert one.perplexity(TEST) < 1.005 * before


def test_new_words_join_an_open_vocabulary():
    model = LogLinearLM(order=3, **STRENGTHS["elastic"]).fit(["a b a b", "b a"])
    model.partial_fit(["a c b", "a c"])
    whole = LogLinearLM(order=3, vocabulary=model.known_vocabulary_, **STRENGTHS["elastic"])
    whole.fit(["a b a b", "b a", "a c b", "a c"])
    assert model.vocabulary_.words == ["</s>", "a", "b", "c", "<unk>"]
    assert model.unknown_ == whole.unknown_
    np.testing.assert_allclose(model.distribution("a"), whole.distribution("a"), atol=0.01)
    assert model.distribution("a").sum() == pytest.approx(1.0)


def test_new_words_are_unknown_where_the_vocabulary_is_limited():
    model = LogLinearLM(order=2, max_words=1, **STRENGTHS["elastic"]).fit(["a b a", "a c a"])
    before = model.distribution("a")[model.vocabulary_.id("<unk>")]
    model.partial_fit(["a d", "a e"])
    assert model.vocabulary_.words == ["</s>", "a", "<unk>"]
    assert model.distribution("a")[model.vocabulary_.id("<unk>")] > before


def test_empty_text_changes_nothing_and_the_first_call_fits():
    model = make().partial_fit(TEXT[:50])
    before = model.distribution("w1")
    np.testing.assert_array_equal(model.partial_fit([]).distribution("w1"), before)
    with pytest.raises(InputError, match="not one string"):
        model.partial_fit("a b")


@settings(max_examples=60, deadline=None)
@given(corpora, corpora, st.integers(0, 5), st.booleans(), st.integers(1, 2))
def test_no_weight_is_lost_when_the_tree_grows(sentences, more, order, collapse, n_roots):
    vocabulary = Corpus.of(sentences + more).vocabulary
    old, new = (
        ContextTree.grow(several_roots(Corpus.of(text, vocabulary), n_roots), order, collapse)
        for text in (sentences, sentences + more)
    )
    w = np.random.default_rng(0).normal(size=old.n_pairs)
    before, after = weights_by_context(old, w), weights_by_context(new, new.carry_over(old, w))
    assert {key: after[key] for key in before} == before
    fresh = {key: weight for key, weight in after.items() if key not in before}
    if not collapse:
        assert not any(fresh.values())


def test_chain_that_splits_keeps_its_weights():
    text = ["a b c d e", "x b c d f"]
    vocabulary = Corpus.of([*text, "z c d g"]).vocabulary
    old, new = (
        ContextTree.grow(Positions.of(Corpus.of(sentences, vocabulary)), 0, True)
        for sentences in (text, [*text, "z c d g"])
    )
    w = np.arange(1.0, old.n_pairs + 1)
    before, after = weights_by_context(old, w), weights_by_context(new, new.carry_over(old, w))
    assert len(before) == 47
    assert {key: after[key] for key in before} == before
