"""The context tree against dictionaries of contexts, and the sizes the paper's trie and tree must have."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_texts import corpora, several_roots

from epigram.errors import InputError
from epigram.lm.corpus import Corpus
from epigram.lm.loglinear.tree import ContextTree, Positions
from reference.lm_suffix import counted, n_trie_and_tree, weights_by_context


@settings(max_examples=60, deadline=None)
@given(corpora, st.integers(0, 5), st.booleans(), st.integers(1, 3))
def test_tree_holds_every_counted_pair(sentences, order, collapse, n_roots):
    positions = several_roots(Corpus.of(sentences), n_roots)
    tree = ContextTree.grow(positions, order, collapse)
    pairs, _ = counted(positions, order)
    assert weights_by_context(tree, tree.count) == {key: float(n) for key, n in pairs.items()}
    assert (tree.n_trie, tree.n_tree) == n_trie_and_tree(positions, order)
    assert tree.n_positions == positions.target.size
    assert tree.multiplicity.min() == 1
    assert collapse or tree.n_pairs == tree.n_trie


@settings(max_examples=40, deadline=None)
@given(corpora, st.integers(0, 5), st.booleans())
def test_levels_are_sorted_and_parents_agree(sentences, order, collapse):
    tree = ContextTree.grow(Positions.of(Corpus.of(sentences)), order, collapse)
    for level in range(1, tree.level_ptr.size - 1):
        here = slice(*tree.level_ptr[level : level + 2])
        keys = list(zip(tree.parent[here].tolist(), tree.symbol[here].tolist(), strict=True))
        assert keys == sorted(set(keys))
    child = np.flatnonzero(tree.pair_parent >= 0)
    context_of_pair = tree.per_pair(np.arange(tree.n_contexts, dtype=np.int32))
    assert (tree.word[child] == tree.word[tree.pair_parent[child]]).all()
    assert (tree.parent[context_of_pair[child]] == context_of_pair[tree.pair_parent[child]]).all()


@settings(max_examples=100, deadline=None)
@given(corpora, st.integers(2, 5), st.integers(0, 2**32))
def test_a_kept_pair_keeps_what_its_context_is_spelled_with(sentences, order, seed):
    tree = ContextTree.grow(Positions.of(Corpus.of(sentences)), order)
    rng = np.random.default_rng(seed)
    w = rng.normal(size=tree.n_pairs) * (rng.random(tree.n_pairs) < rng.random())
    contexts = [tuple(tree.context(node).tolist()) for node in range(tree.n_contexts)]
    owner = tree.per_pair(np.arange(tree.n_contexts, dtype=np.int32))
    pairs = [(contexts[c], u) for c, u in zip(owner.tolist(), tree.word.tolist(), strict=True)]
    kept, needed, grows = {p for p, v in zip(pairs, w, strict=True) if v}, {()}, True
    while grows:
        before = len(kept) + len(needed)
        needed |= {context[k:] for context, _ in kept for k in range(len(context) + 1)}
        kept |= {(c[:-1], c[-1]) for c in needed if len(c) > 1} & set(pairs)
        grows = len(kept) + len(needed) > before
    nodes, found = tree.needed_parts(w)
    assert [contexts[node] for node in nodes] == [c for c in contexts if c in needed]
    assert [pairs[p] for p in found] == [p for p in pairs if p in kept and p[0]]


def test_large_groups_are_sorted_too():
    # Groups over 24 positions take the merging and the counting branch of the sort.
    rng = np.random.default_rng(0)
    sentences = [[str(k) for k in rng.integers(0, 300, 12)] for _ in range(200)]
    positions = Positions.of(Corpus.of(sentences))
    tree = ContextTree.grow(positions, 3)
    pairs, _ = counted(positions, 3)
    assert weights_by_context(tree, tree.count) == {key: float(n) for key, n in pairs.items()}


@pytest.mark.parametrize(
    ("order", "n_trie", "n_tree"),
    [
        (2, 58_921, 56_674),
        (3, 140_517, 97_254),
        (5, 316_304, 117_019),
        (8, 555_528, 120_203),
        (12, 814_838, 120_970),
        (0, 1_368_778, 121_227),
    ],
)
def test_sizes_on_a_split_of_100_000_words(data, order, n_trie, n_tree):
    corpus = Corpus.read(data / "lm-splits" / "ptbsplit.s0.train.txt.gz")
    tree = ContextTree.grow(Positions.of(corpus), order, collapse=True)
    assert (tree.n_trie, tree.n_tree) == (n_trie, n_tree)


def test_collapsed_tree_stops_growing_with_the_order(data):
    corpus = Corpus.read(data / "lm-splits" / "ptbsplit.s0.train.txt.gz").take(0, 1500)
    sizes = [ContextTree.grow(Positions.of(corpus), order, collapse=True).n_pairs for order in (5, 12, 0)]
    assert sizes[2] < 1.1 * sizes[0]


def test_order_beyond_every_sentence_is_unbounded():
    positions = Positions.of(Corpus.of(["a b c", "b c"]))
    deep, unbounded = (ContextTree.grow(positions, order) for order in (50, 0))
    assert deep.n_pairs == unbounded.n_pairs == deep.n_trie


def test_words_outside_the_vocabulary_cut_the_context():
    vocabulary = Corpus.of(["a b"]).vocabulary
    positions = Positions.of(Corpus.of(["a x b a"], vocabulary))
    assert positions.target.tolist() == [1, 2, 1, 0]
    assert positions.length.tolist() == [1, 0, 1, 2]


@pytest.mark.parametrize("order", [-1, -5])
def test_negative_order_is_refused(order):
    with pytest.raises(InputError, match="order"):
        ContextTree.grow(Positions.of(Corpus.of(["a"])), order)
