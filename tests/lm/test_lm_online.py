"""Training on a stream: as good as training on everything, for every penalty, at a cost that does not grow."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_context_tree import corpora, several_roots

from epigram import LogLinearLM
from epigram.errors import InputError
from epigram.lm.corpus import Corpus
from epigram.lm.loglinear.growing import Blocks, Growing, WeightTable, keys_of
from epigram.lm.loglinear.loss import SuffixLoss
from epigram.lm.loglinear.online import WithRest
from epigram.lm.loglinear.problem import build_penalty
from epigram.lm.loglinear.tree import ContextTree, Positions
from reference import online as reference
from reference.lm_suffix import weights_by_context

STRENGTHS = {
    "elastic": {"strength": 0.4, "depth_weight": 1.7, "ridge": 0.06},
    "l1": {"strength": 0.5, "depth_weight": 1.1},
    "l2": {"strength": 0.1, "depth_weight": 1.5},
    "tree-l2": {"strength": 0.7, "depth_weight": 0.9},
    "tree-linf": {"strength": 0.6, "depth_weight": 1.15},
}
KINDS = [*((name, False) for name in STRENGTHS), ("tree-linf", True), ("elastic", True)]


def made_up_text(n, seed=0):
    """Sentences of a random walk over words, each with a few favourite followers."""
    rng = np.random.default_rng(seed)
    words = [f"w{k}" for k in range(60)]
    follower = np.random.default_rng(1).integers(0, 60, (60, 5))
    out = []
    for _ in range(n):
        at, sentence = int(rng.integers(60)), []
        for _ in range(int(rng.integers(3, 12))):
            sentence.append(words[at])
            at = int(follower[at, min(int(rng.geometric(0.4)) - 1, 4)])
        out.append(sentence)
    return out


TEXT, TEST = made_up_text(1000), made_up_text(200, seed=9)
WORDS = Corpus.of(TEXT).vocabulary


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


def test_recalled_text_of_real_text_is_nearly_as_good(tmp_path, data):
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
    whole = LogLinearLM(order=3, vocabulary=model.vocabulary_, **STRENGTHS["elastic"])
    whole.fit(["a b a b", "b a", "a c b", "a c"])
    assert model.vocabulary_.words == ["</s>", "a", "b", "c"]
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


def test_what_waits_is_learnt_by_settling(monkeypatch):
    from epigram.lm.loglinear import online

    monkeypatch.setattr(online, "LEAST_WORK", 20)
    monkeypatch.setattr(online, "WORK", 2)
    model = make().fit(TEXT[:900]).partial_fit(TEXT[900:])
    blocks = model._online.blocks
    assert 0 < (blocks.total - blocks.learnt).sum() < Positions.of(Corpus.of(TEXT[900:])).target.size
    behind = model.perplexity(TEXT[900:])
    model.settle()
    assert (blocks.total == blocks.learnt).all()
    assert model.perplexity(TEXT[900:]) < behind


def test_text_is_scored_before_it_is_learnt():
    model = make().fit(TEXT[:500])
    before = model.perplexity(TEXT[500:])
    model.partial_fit(TEXT[500:]).settle()
    assert model.stream_perplexity_ == pytest.approx(before, rel=1e-6)
    assert model.perplexity(TEXT[500:]) < before


def test_work_of_a_call_does_not_grow_with_the_text(monkeypatch):
    from epigram.lm.loglinear import online

    monkeypatch.setattr(online, "LEAST_WORK", 0)
    work = []
    solve = online.Online._solve
    monkeypatch.setattr(
        online.Online,
        "_solve",
        lambda self, due: (work.append(int(self.blocks.total[due].sum())), solve(self, due)),
    )
    text = made_up_text(6000, seed=3)
    new = 10 * 8
    for n in (300, 3000):
        model = make(max_iterations=3).fit(text[:n])
        work.clear()
        for first in range(n, n + 20 * 10, 10):
            model.partial_fit(text[first : first + 10])
        assert np.mean(work) < online.WORK * new * 1.2


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


def test_stand_in_touches_the_loss_and_lies_above_it():
    corpus = Corpus.of(TEXT[:60])
    positions = Positions.of(corpus)
    tree = ContextTree.grow(positions, 1)
    loss = SuffixLoss(tree)
    rng = np.random.default_rng(0)
    w = rng.normal(size=tree.n_pairs)
    gradient, own = np.empty((2, tree.n_pairs))
    value = loss.value_and_gradient(w, gradient)
    # A text whose positions all expect the same: there the bound is the loss itself, less its value at w.
    bound = WithRest(
        SuffixLoss(tree), w, gradient + tree.count, tree.count.astype(float), float(tree.n_unseen[0])
    )
    for _ in range(5):
        v = w + 0.3 * rng.normal(size=w.size)
        assert bound.value(v) - loss.value(v) == pytest.approx(loss.value(v) - value, rel=1e-9, abs=1e-9)
    bound.value_and_gradient(w, own)
    np.testing.assert_allclose(own, 2 * gradient, atol=1e-9)


def test_stand_in_for_contexts_that_differ_is_an_upper_bound():
    tree = ContextTree.grow(Positions.of(Corpus.of(TEXT[:60])), 2)
    loss, n_top = SuffixLoss(tree), int(tree.pair_ptr[1])
    rng = np.random.default_rng(0)
    w = rng.uniform(0, 2, tree.n_pairs)
    gradient = np.empty(tree.n_pairs)
    value = loss.value_and_gradient(w, gradient)
    count = tree.count[:n_top].astype(float)
    others = tree.n_positions - float((gradient[:n_top] + count).sum())
    bound = WithRest(loss, w, gradient[:n_top] + count, count, others)
    for _ in range(20):
        v = w.copy()
        v[:n_top] += rng.normal(size=n_top)
        assert bound.value(v) - loss.value(v) >= loss.value(v) - value - 1e-9


@settings(max_examples=30, deadline=None)
@given(corpora, st.integers(0, 4), st.booleans())
def test_keys_are_those_of_the_twin_and_differ(sentences, order, collapse):
    tree = ContextTree.grow(Positions.of(Corpus.of(sentences)), order, collapse)
    keys = keys_of(tree).tolist()
    assert keys == reference.pair_keys(tree)
    assert len(set(keys)) == len(keys)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 2**64 - 1), st.floats(-5, 5)), max_size=3000), st.integers(1, 7))
def test_table_is_a_dictionary(items, n_parts):
    table, twin = WeightTable(), dict(items)
    for part in range(n_parts):
        own = items[part::n_parts]
        table.put(np.array([k for k, _ in own], np.uint64), np.array([v for _, v in own]))
    if len(twin) == len(items):
        asked = [*twin, 12345]
        assert table.get(np.array(asked, np.uint64)).tolist() == [twin.get(k, 0.0) for k in asked]


def test_table_with_keys_that_meet():
    keys = (np.arange(1, 5001, dtype=np.uint64) << np.uint64(32)) + np.uint64(7)
    table = WeightTable()
    table.put(keys, np.arange(5000.0))
    table.put(keys[:10], -np.ones(10))
    assert table.get(keys).tolist() == [-1.0] * 10 + list(range(10, 5000))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(0, 6), max_size=12), min_size=1, max_size=5), st.integers(0, 60))
def test_blocks_are_lists_of_positions(texts, budget):
    blocks, seen = Blocks.empty(), []
    blocks.reserve(7)
    for text in texts:
        blocks.add(np.array(text, np.int64))
        seen.extend(text)
    due = blocks.due(budget)
    assert blocks.of(due).tolist() == reference.positions_of(seen, due.tolist())
    assert blocks.total[due].sum() <= budget
    if budget >= len(seen):
        assert sorted(due.tolist()) == sorted(set(seen))


def test_growing_array():
    numbers = Growing(np.arange(2))
    for k in range(2, 100):
        numbers.append([k])
    assert numbers.all.tolist() == list(range(100))
