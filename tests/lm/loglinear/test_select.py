"""Few weights: unseen pairs that are expected, their place in the tree, and models that have both signs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_texts import corpora

from epigram import LogLinearLM
from epigram.lm.corpus import Corpus
from epigram.lm.loglinear import model as loglinear
from epigram.lm.loglinear.loss import SuffixLoss
from epigram.lm.loglinear.select import UNSEEN, rarity_gain, unseen_pairs, with_pairs
from epigram.lm.loglinear.tree import ContextTree, Positions
from epigram.storage import load
from reference.lm_suffix import log_loss, unseen_expected, weights_by_context

GIVEN = {"order": 3, "strength": 0.3, "depth_weight": 1.2, "ridge": 0.02, "open_vocabulary": False}


def some_text(n=300, seed=0):
    """Sentences over ten words in which no word follows itself."""
    rng = np.random.default_rng(seed)
    shares = 1.0 / np.arange(1, 11)
    lines = []
    for _ in range(n):
        words = rng.choice(10, 12, p=shares / shares.sum())
        lines.append(" ".join(f"w{one}" for one in words[np.append(True, np.diff(words) != 0)]))
    return lines


@settings(max_examples=40, deadline=None)
@given(corpora, st.integers(1, 4), st.integers(0, 2**31))
def test_unseen_pairs_are_those_expected_and_get_a_place_in_the_tree(sentences, order, seed):
    positions = Positions.of(Corpus.of(sentences * 3))
    tree, rng = ContextTree.grow(positions, order), np.random.default_rng(seed)
    loss, w = SuffixLoss(tree, positions=positions), rng.normal(0, 0.7, tree.n_pairs)
    context, word = unseen_pairs(loss, w)
    found = {((0, tuple(tree.context(c).tolist())), u) for c, u in zip(context, word.tolist(), strict=True)}
    expected = unseen_expected(positions, order, weights_by_context(tree, w))
    assert len(found) == context.size
    assert {pair for pair, m in expected.items() if m > UNSEEN + 1e-9} <= found
    assert found <= {pair for pair, m in expected.items() if m > UNSEEN - 1e-9}

    more, where = with_pairs(tree, context, word)
    larger, both = loss.over(more), np.insert(w, where, rng.normal(-1, 1, where.size))
    assert more.n_positions == tree.n_positions
    np.testing.assert_array_equal(np.delete(more.count, np.flatnonzero(more.count == 0)), tree.count)
    gradient = np.empty_like(both)
    value = larger.value_and_gradient(both, gradient)
    assert value == pytest.approx(log_loss(positions, order, weights_by_context(more, both)), rel=1e-10)
    added = np.flatnonzero(more.count == 0)
    for p in added[:3].tolist():
        step = np.zeros_like(both)
        step[p] = 1e-5
        difference = (larger.value(both + step) - larger.value(both - step)) / 2e-5
        assert gradient[p] == pytest.approx(difference, abs=1e-6)
    larger.value_and_gradient(
        np.insert(w, where, 0.0), gradient
    )  # of count 0: the gradient is what is expected
    np.testing.assert_allclose(sorted(gradient[added]), sorted(expected[pair] for pair in found), rtol=1e-9)


def test_the_gain_of_a_rare_pair_is_the_best_that_a_negative_weight_can_do():
    loss = SuffixLoss(ContextTree.grow(Positions.of(Corpus.of(some_text())), 2))
    w = np.where(np.arange(loss.n_weights) % 3 == 0, 0.2, 0.0)
    gradient = np.empty_like(w)
    loss.value_and_gradient(w, gradient)
    m, n = gradient + loss.tree.count, loss.tree.count + UNSEEN
    down = -np.linspace(0, 12, 40001)[:, None]
    best = (n * down - m * np.expm1(down)).max(axis=0)
    np.testing.assert_allclose(rarity_gain(loss, w), np.where(w == 0, best, 0.0), atol=1e-4)


def test_a_small_model_knows_what_does_not_come(monkeypatch):
    train, valid = some_text(), some_text(100, seed=1)
    model = LogLinearLM(**GIVEN, max_weights=40).fit(train, valid=valid)
    assert model.n_nonzero_ <= 40
    assert (model.weights_[model.tree_.count == 0] < 0).any()
    assert model.valid_perplexity_ == pytest.approx(model.perplexity(valid), rel=1e-9)
    for context in ("<s>", "w0", "w3 w0", "w1 w1"):
        distribution = model.distribution(context)
        assert distribution.sum() == pytest.approx(1.0, abs=1e-9)
        probability = model.explain(context, "w0").probability
        assert distribution[model.vocabulary_.id("w0")] == pytest.approx(probability, rel=1e-9)
    monkeypatch.setattr(loglinear, "RARE_ROUNDS", 0)
    without = LogLinearLM(**GIVEN, max_weights=40).fit(train, valid=valid)
    assert (without.weights_ >= 0).all()
    assert model.valid_perplexity_ < 0.97 * without.valid_perplexity_


def test_where_there_is_room_no_weight_is_dropped_and_rare_pairs_still_get_one():
    train, valid = some_text(), some_text(100, seed=1)
    full = LogLinearLM(**GIVEN).fit(train, valid=valid)
    more = LogLinearLM(**GIVEN, max_weights=10**6).fit(train, valid=valid)
    assert (full.weights_ >= 0).all()
    assert (more.weights_[more.tree_.count == 0] < 0).any()
    assert more.n_nonzero_ > full.n_nonzero_
    assert more.valid_perplexity_ < full.valid_perplexity_


def test_it_is_stored_and_goes_on(tmp_path):
    model = LogLinearLM(**GIVEN, max_weights=40).fit(some_text())
    model.save(tmp_path / "m.epigram")
    again = load(tmp_path / "m.epigram")
    assert again.n_nonzero_ == model.n_nonzero_
    np.testing.assert_allclose(again.distribution("w0"), model.distribution("w0"), rtol=1e-6)
    for one in (model, again):
        one.partial_fit(["w0 w0", "w1 w0 new"])
        assert one.n_nonzero_ <= 40
        assert one.distribution("w0").sum() == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("penalty", ["l1", "l2", "tree-l2", "tree-linf"])
def test_every_penalty_takes_it(penalty):
    given = {"order": 3, "strength": 0.3, "depth_weight": 1.2, "penalty": penalty}
    model = LogLinearLM(**given, max_weights=40).fit(some_text())
    assert model.n_nonzero_ <= 40
    assert model.distribution("w0").sum() == pytest.approx(1.0, abs=1e-9)


def test_a_collapsed_tree_keeps_to_pairs_that_were_seen():
    given = {"order": 3, "penalty": "tree-linf", "strength": 0.3, "depth_weight": 1.0}
    model = LogLinearLM(**given, max_weights=40).fit(some_text())
    assert model.tree_.collapsed
    assert model.tree_.count.min() > 0
    assert (model.weights_ >= 0).all()


@pytest.mark.parametrize("text", [True, False])
@pytest.mark.parametrize("max_weights", [60, None])
def test_a_few_sentences_more_do_no_harm_with_or_without_the_text(tmp_path, text, max_weights):
    test = some_text(200, seed=3)
    model = LogLinearLM(**GIVEN, max_weights=max_weights).fit(some_text())
    before = model.perplexity(test)
    model.save(tmp_path / "m", text=text)
    again = load(tmp_path / "m").partial_fit(some_text(5, seed=4))
    assert again.perplexity(test) < (1.01 if text or max_weights is None else 1.15) * before
    if max_weights is not None:
        assert again.n_nonzero_ <= max_weights
        assert np.count_nonzero(again.weights_ < 0) > 0.5 * np.count_nonzero(model.weights_ < 0)


@pytest.mark.parametrize("text", [True, False])
def test_one_weight_goes_on_too(tmp_path, text):
    LogLinearLM(**GIVEN, max_weights=1).fit(some_text(20)).save(tmp_path / "m", text=text)
    model = load(tmp_path / "m")
    for k in range(3):
        model.partial_fit([f"w{k} new w{k}", "w1 w2"])
        assert model.n_nonzero_ <= 1
        assert model.distribution("w1").sum() == pytest.approx(1, abs=1e-9)
