"""Trees of second order: sums, maxima, k best, features and the loss against all trees of small sentences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epigram import DependencyParser, InputError
from epigram._core.native import family
from epigram.parsing.arc_features import encode_arcs, learn_features, locate
from epigram.parsing.arc_loss import SiblingLoss, sibling_span_memory
from epigram.parsing.arc_model import ArcModel
from epigram.parsing.part_features import part_keys, part_slots, tree_parts
from epigram.parsing.templates import ArcTemplate
from epigram.parsing.words import Words
from epigram.tagging.formats import Columns
from reference import eisner
from reference import siblings as slow

trees = family("siblings")


@settings(max_examples=30)
@given(st.integers(1, 5), st.integers(0, 10**6), st.floats(0.1, 20.0))
def test_sums_and_maxima_equal_all_trees(n, seed, spread):
    rng = np.random.default_rng(seed)
    n_trios = n * (n * n - 1) // 3
    scores, stops = (spread * rng.normal(size=(n + 1, n)) for _ in range(2))
    trios, stops = spread * rng.normal(size=n_trios), stops.ravel()
    every = eisner.all_trees(n)
    values = [slow.score(scores, trios, stops, heads) for heads in every]
    z, marginals = eisner.marginals(values, every, n)
    spans, out, heads = sibling_span_memory(n), np.empty((n + 1, n)), np.zeros(n, dtype=np.int32)
    assert trees.inside(n, scores, n_trios, trios, stops, spans) == pytest.approx(z, abs=1e-9)
    assert trees.best(n, scores, n_trios, trios, stops, spans, heads) == pytest.approx(max(values))
    assert tuple(heads.tolist()) == every[int(np.argmax(values))]
    k = 9
    lists = trees.SiblingLists(n, k, np.empty(4 * n * n * k), np.zeros(4 * n * n * k, dtype=np.int64))
    best, origins, found = np.empty(k), np.zeros(k, dtype=np.int64), np.zeros((k, n), dtype=np.int32)
    n_found = trees.k_best(n, scores, n_trios, trios, stops, lists, k, best, origins, found)
    ranked = sorted(zip(values, every, strict=True), reverse=True)[:k]
    assert [tuple(own) for own in found[:n_found].tolist()] == [heads for _, heads in ranked]
    np.testing.assert_allclose(best[:n_found], [value for value, _ in ranked], atol=1e-9)
    assert trees.marginals(n, scores, n_trios, trios, stops, spans, out) == pytest.approx(z, abs=1e-9)
    np.testing.assert_allclose(out, marginals, atol=1e-12)
    np.testing.assert_allclose(out.sum(0), 1.0)
    for mine, wanted in zip((trios, stops), slow.marginals(values, every, n), strict=True):
        np.testing.assert_allclose(mine, wanted, atol=1e-12)


TEMPLATE = """+h[0,2] c[0,1]
b[1] side
s[0,2] c[0,2] side gap
s[0,0] c[-1,1] side
h[0,2] s[0,2] c[0,2] side
h[0,1] s[+1,1] c[0,1] gap
"""
ROWS = [
    [("The", "D", "DT"), ("dog", "N", "NN"), ("barks", "V", "VBZ"), ("loudly", "R", "RB"), (".", "P", ".")],
    [("Go", "V", "VB"), ("home", "R", "RB")],
]
HEADS = np.array([2, 3, 0, 3, 3, 0, 1], dtype=np.int32)


def problem(weights=None, threads=1):
    words, template = Words.of(Columns.from_rows(ROWS), 3), ArcTemplate.parse(TEMPLATE)
    table, keys = learn_features(words, HEADS, template, 1, None)
    arcs, slots = encode_arcs(words, template, table), part_slots(table, keys)
    return SiblingLoss(arcs, HEADS, len(table), weights, threads, words, template, slots), words, table


def features_of(loss, words, table, s, heads):
    """Ids of all features of a tree, one by one."""
    arcs, n = loss.arcs, len(heads)
    ptr = arcs.arc_ptr[arcs.first_arc[s] :]
    found = [arcs.features[ptr[h * n + c] : ptr[h * n + c + 1]] for c, h in enumerate(heads)]
    parts = [(heads[h - 1], h, q, c) for h, q, c in slow.parts(heads)]
    ids = table.look_up(part_keys(words, ArcTemplate.parse(TEMPLATE).part_lines[0], s, parts).ravel())
    return np.concatenate([*found, ids[ids >= 0]])


def test_the_parts_of_a_tree_are_those_of_all_its_heads():
    for heads in eisner.all_trees(4):
        wanted = [(heads[h - 1], h, q, c) for h, q, c in slow.parts(heads)]
        assert sorted(tree_parts(heads)) == sorted(wanted)


def test_loss_is_minus_the_log_probability_and_its_gradient_the_slope():
    weights = np.array([1.0, 2.5])
    loss, words, table = problem(weights, threads=2)
    eisner.check_likelihood(
        loss,
        HEADS,
        weights,
        lambda s, heads: features_of(loss, words, table, s, heads),
        lambda s: eisner.all_trees(int(words.lengths[s])),
    )


def test_cumulative_pass_is_the_algorithm_of_the_paper():
    loss, words, table = problem()

    def met(s):
        every = eisner.all_trees(int(words.lengths[s]))
        return {int(i) for tree in every for i in features_of(loss, words, table, s, tree)}

    eisner.check_cumulative_pass(problem, met)


def test_a_model_scores_by_strings_as_the_loss_does_by_numbers():
    loss, words, table = problem()
    w = np.random.default_rng(2).normal(size=loss.n_weights).astype(np.float32).astype(np.float64)
    template = ArcTemplate.parse(TEMPLATE)
    model = ArcModel.of_places(template, words, *locate(words, HEADS, template, table), w)
    eisner.check_model(
        model, w, words, HEADS, loss, table, lambda heads: features_of(loss, words, table, 0, heads)
    )
    names = model.names(range(len(model)))
    assert "s[+0,2]=NN c[+0,2]=<end> side=left gap=none" in names
    assert "s[+0,2]=RB c[+0,2]=. side=right gap=right 1" in names
    assert "h[+0,2]=VB s[+0,2]=<none> c[+0,2]=RB side=right" in names


def test_first_order_is_second_order_without_lines_of_siblings():
    template = ArcTemplate.parse(TEMPLATE)
    assert template.of_order(1).lines == template.arc_lines
    y = [list(zip(HEADS[a:b].tolist(), "abcde", strict=False)) for a, b in ((0, 5), (5, 7))]
    one = DependencyParser(TEMPLATE, order=1, min_count=1, l1=0.01).fit(ROWS, y)
    same = DependencyParser("+h[0,2] c[0,1]\nb[1] side", min_count=1, l1=0.01).fit(ROWS, y)
    assert one.arcs_.weights.tobytes() == same.arcs_.weights.tobytes()
    with pytest.raises(ValueError, match="order must be"):
        DependencyParser(order=4).fit(ROWS, y)


@pytest.mark.parametrize(
    ("line", "words"), [("s[0,1] b[1]", "cells of g, h, s and c"), ("h[0,1] gap", "there is no s")]
)
def test_lines_that_make_no_sense_are_refused(line, words):
    with pytest.raises(InputError, match=words):
        ArcTemplate.parse(line)
