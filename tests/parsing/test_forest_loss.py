"""Second and third order: sums, maxima, k best, features and the loss against all trees of small sentences."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epigram import DependencyParser, InputError
from epigram._core import bindings
from epigram.features.attributes import AttributeTable
from epigram.features.columns import Columns
from epigram.parsing.arc_features import encode_parts, learn_features, locate
from epigram.parsing.arc_model import ArcModel, Pruner
from epigram.parsing.arc_templates import ArcTemplate
from epigram.parsing.arc_words import Words
from epigram.parsing.forest_loss import ForestLoss
from epigram.parsing.part_features import part_keys, seen_by, tree_parts
from epigram.parsing.pruning import ForestMemory, forest_sizes
from reference import eisner
from reference import forest as slow


def built(n, keep):
    (sizes,) = forest_sizes([n], np.zeros(2, dtype=np.int64), keep.ravel())
    memory = ForestMemory(n, sizes)
    bindings.forest_build(n, keep, memory.struct)
    assert (memory.all_counts <= sizes).all()
    return memory


@settings(max_examples=40)
@given(st.integers(1, 5), st.integers(0, 10**6), st.floats(0.1, 20.0), st.floats(0.3, 1.0))
def test_sums_and_maxima_equal_all_trees_of_the_kept_arcs(n, seed, spread, share):
    rng = np.random.default_rng(seed)
    keep = (rng.random((n + 1, n)) < share).astype(np.uint8)
    memory = built(n, keep)
    n_trios, n_grands, n_links = memory.counts
    kinds = [
        list(map(tuple, own.reshape(-1, 4)[:many].tolist()))
        for own, many in zip(memory.parts, memory.counts, strict=True)
    ]
    scores = spread * rng.normal(size=n * (n + 1) + n_trios + n_grands + n_links)
    trios, grands = (dict(zip(own, range(len(own)), strict=True)) for own in kinds[:2])
    starts = np.cumsum([0, n * (n + 1), n_trios, n_grands])

    def value(part):
        arc, trio, grand = slow.numbers_of(part, n)
        total = scores[starts[3] + kinds[2].index(part)] + (0.0 if arc is None else scores[arc])
        total += 0.0 if trio is None else scores[starts[1] + trios[trio]]
        return total + (0.0 if grand is None else scores[starts[2] + grands[grand]])

    every = [heads for heads in eisner.all_trees(n) if all(keep[h, c] for c, h in enumerate(heads))]
    bindings.forest_score(n, scores, memory.struct)
    heads = np.zeros(n, dtype=np.int32)
    if not every:
        assert bindings.forest_best(memory.struct, heads) < -1e299
        return
    by_part = {part: value(part) for part in kinds[2]}
    values = [slow.score(by_part, tree) for tree in every]
    z, marginals = eisner.marginals(values, every, n)
    assert bindings.forest_inside(memory.struct) == pytest.approx(z, abs=1e-9)
    assert bindings.forest_best(memory.struct, heads) == pytest.approx(max(values))
    assert tuple(heads.tolist()) == every[int(np.argmax(values))]
    k, size = 9, 9 * memory.n_nodes
    best, found = np.empty(k), np.zeros((k, n), dtype=np.int32)
    lists = np.empty(size), np.zeros(size, dtype=np.int64)
    n_found = bindings.forest_k_best(n, memory.struct, *lists, best, found)
    ranked = sorted(zip(values, every, strict=True), reverse=True)[:k]
    assert [tuple(own) for own in found[:n_found].tolist()] == [tree for _, tree in ranked]
    np.testing.assert_allclose(best[:n_found], [value for value, _ in ranked], atol=1e-9)
    assert bindings.forest_marginals(memory.struct) == pytest.approx(z, abs=1e-9)
    out, wanted = np.empty_like(scores), np.zeros_like(scores)
    bindings.forest_collect(n, memory.struct, out)
    for p, tree in zip(np.exp(np.array(values) - z), every, strict=True):
        for part in slow.parts(tree):
            arc, trio, grand = slow.numbers_of(part, n)
            wanted[starts[3] + kinds[2].index(part)] += p
            for start, number in ((0, arc), (starts[1], trios.get(trio)), (starts[2], grands.get(grand))):
                if number is not None:
                    wanted[start + number] += p
    np.testing.assert_allclose(out, wanted, atol=1e-10)
    np.testing.assert_allclose(out[: n * (n + 1)].reshape(n + 1, n), marginals, atol=1e-10)
    np.testing.assert_allclose(out[: n * (n + 1)].reshape(n + 1, n).sum(0), 1.0)


TEMPLATE = """+h[0,2] c[0,1]
b[1] side
s[0,2] c[0,2] side gap
s[0,0] c[-1,1] side
h[0,2] s[0,2] c[0,2] side
h[0,1] s[+1,1] c[0,1] gap
g[0,2] h[0,1] c[0,2] side up
g[+1,1] c[-1,0] up
g[0,1] h[0,1] s[0,1] c[0,1] side up gap
"""
ROWS = [
    [("The", "D", "DT"), ("dog", "N", "NN"), ("barks", "V", "VBZ"), ("loudly", "R", "RB"), (".", "P", ".")],
    [("Go", "V", "VB"), ("home", "R", "RB")],
]
HEADS = np.array([2, 3, 0, 3, 3, 0, 1], dtype=np.int32)


def template_of(order):
    return ArcTemplate.parse(TEMPLATE).of_order(order)


def problem(order, weights=None, threads=1, keep=None):
    words, template = Words.of(Columns.from_rows(ROWS), 3), template_of(order)
    known = learn_features(words, HEADS, template, 1, None)
    keep = np.ones(36, dtype=np.uint8) if keep is None else keep
    parts = encode_parts(words, template, known, keep)
    return ForestLoss(parts, HEADS, len(known.keys), weights, threads), words, AttributeTable(known.keys)


def features_of(order, loss, words, table, s, heads):
    """Ids of all features of a tree, one by one."""
    n, every = len(heads), loss.parts.features(s)
    found = [every[h * n + c] for c, h in enumerate(heads)]
    parts = [part for part in slow.parts(heads) if part[0] >= 0]
    assert sorted(parts) == sorted(tree_parts(heads))
    for lines in template_of(order).part_lines:
        ids = table.look_up(part_keys(words, lines, s, seen_by(lines, n, parts)).ravel())
        found.append(ids[ids >= 0])
    return np.concatenate(found)


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("pruned", [False, True])
def test_loss_is_minus_the_log_probability_and_its_gradient_the_slope(order, pruned):
    weights, keep = np.array([1.0, 2.5]), np.ones(36, dtype=np.uint8)
    if pruned:
        keep = (np.random.default_rng(0).random(36) < 0.6).astype(np.uint8)
        keep[[2 * 5 + 0, 3 * 5 + 1, 2, 3 * 5 + 3, 3 * 5 + 4, 30, 30 + 2 + 1]] = 1  # those of the trees
    loss, words, table = problem(order, weights, threads=2, keep=keep)

    def trees_of(s):
        n, first = int(words.lengths[s]), loss.parts.first_arc[s]
        return [t for t in eisner.all_trees(n) if all(keep[first + h * n + c] for c, h in enumerate(t))]

    eisner.check_likelihood(
        loss, HEADS, weights, lambda s, heads: features_of(order, loss, words, table, s, heads), trees_of
    )


@pytest.mark.parametrize("order", [2, 3])
def test_cumulative_pass_is_the_algorithm_of_the_paper(order):
    loss, words, table = problem(order)

    def met(s):
        own = set(np.concatenate(loss.parts.features(s)).tolist())
        every = eisner.all_trees(int(words.lengths[s]))
        assert own >= {int(i) for tree in every for i in features_of(order, loss, words, table, s, tree)}
        return own

    eisner.check_cumulative_pass(partial(problem, order), met)


@pytest.mark.parametrize("order", [2, 3])
def test_a_model_scores_by_strings_as_the_loss_does_by_numbers(order):
    loss, words, table = problem(order)
    w = np.random.default_rng(2).normal(size=loss.n_weights).astype(np.float32).astype(np.float64)
    template = template_of(order)
    model = ArcModel.of_places(template, words, *locate(words, HEADS, template, table), w)
    values = eisner.check_model(
        model, w, words, HEADS, loss, table, lambda heads: features_of(order, loss, words, table, 0, heads)
    )
    names = model.names(range(len(model)))
    assert "s[+0,2]=NN c[+0,2]=<end> side=left gap=none" in names
    assert "s[+0,2]=RB c[+0,2]=. side=right gap=right 1" in names
    assert "h[+0,2]=VB s[+0,2]=<none> c[+0,2]=RB side=right" in names
    if order == 3:
        assert "g[+0,2]=VBZ h[+0,1]=N c[+0,2]=DT side=left up=left" in names
        assert "g[+1,1]=<before> c[-1,0]=go up=root" in names
    free = [[None, None, [1, 4], None, None], None]
    z, wanted = model.marginals(words, free)[0][1], [t for t in values if t[2] in (1, 4)]
    assert z == pytest.approx(np.logaddexp.reduce([values[t] for t in wanted]))
    assert tuple(model.decode(words, allowed=free).tolist()[:5]) == max(wanted, key=values.__getitem__)


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("threads", [1, 2])
def test_trees_with_most_expected_arcs_equal_all_trees(order, threads):
    loss, words, table = problem(order)
    w = np.random.default_rng(5).normal(size=loss.n_weights)
    template = template_of(order)
    model = ArcModel.of_places(template, words, *locate(words, HEADS, template, table), w)
    for allowed in (None, [[None, None, [1, 4], None, None], None]):
        expected = []
        for s, (p, _) in enumerate(model.marginals(words, allowed)):
            trees = [
                tree for tree in eisner.all_trees(p.shape[1]) if allowed is None or s or tree[2] in (1, 4)
            ]
            expected += max(trees, key=partial(eisner.score, p))
        assert model.decode(words, "mbr", allowed, threads).tolist() == expected
    with pytest.raises(InputError, match="sentence 1 has no projective tree of the allowed arcs"):
        model.decode(words, "mbr", [None, [[2], [1]]], threads)


@pytest.mark.parametrize("threads", [1, 2])
def test_arcs_are_kept_by_their_probability_and_those_of_the_best_tree(threads):
    rng, template = np.random.default_rng(6), ArcTemplate.parse("h[0,0] c[0,0] side\nb[0] way")
    lengths = [1, 2, 5, 0, 17, 40]
    rows = [[(f"w{k}",) for k in rng.integers(0, 9, n)] for n in lengths]
    words = Words.of(Columns.from_rows(rows), 1)
    heads = np.concatenate([np.arange(n, dtype=np.int32) for n in lengths])
    known = learn_features(words, heads, template, 1, 1)
    w = 0.3 * rng.normal(size=len(known.keys))
    places = locate(words, heads, template, AttributeTable(known.keys))
    model = ArcModel.of_places(template, words, *places, w)
    permitted = [None] * 5 + [[[0, 39, 40] if c < 20 else None for c in range(40)]]
    for share, allowed in ((0.01, None), (0.3, None), (0.01, permitted)):
        pruned = replace(model, pruner=Pruner(model, share))
        keep = pruned.kept(words, allowed, threads)
        best = model.decode(words, "best", allowed)
        for s, (p, _) in enumerate(model.marginals(words, allowed)):
            a, b = words.sentence_ptr[s : s + 2]
            own = keep[words.first_arc[s] : words.first_arc[s + 1]].reshape(p.shape)
            np.testing.assert_array_equal(own, slow.likely_arcs(p, best[a:b], share))
    assert pruned.kept(words, [None, [[2], [1]], *[None] * 4])[2:8].tolist() == [0] * 6
    gold = Pruner(model, 0.3).kept(words, heads)
    lengths = np.diff(words.sentence_ptr)
    assert all(
        gold[words.first_arc[s] : words.first_arc[s + 1]].reshape(n + 1, n)[h, h]
        for s, n in enumerate(lengths)
        for h in range(n)
    )


TREES = [list(zip(HEADS[a:b].tolist(), "abcde", strict=False)) for a, b in ((0, 5), (5, 7))]


@pytest.mark.parametrize("order", [2, 3])
def test_a_parser_learns_saves_explains_and_keeps_to_what_is_known(tmp_path, order):
    settings = {"order": order, "min_count": 1, "l1": 0.01, "template": TEMPLATE}
    parser = DependencyParser(**settings, prune=0.01).fit(ROWS * 3, TREES * 3)
    assert isinstance(parser.arcs_.pruner, Pruner)
    assert parser.predict(ROWS) == TREES
    p = parser.predict_marginals(ROWS)[0]
    np.testing.assert_allclose(p.sum(0), 1.0)
    parser.save(tmp_path / "third.epigram")
    again = DependencyParser.load(tmp_path / "third.epigram")
    np.testing.assert_array_equal(again.predict_marginals(ROWS)[0], p)
    assert again.predict(ROWS) == TREES
    told = again.explain(ROWS[0], 4)
    scores = [
        sum(sum(again.arcs_.terms(words, 0, h, c).values()) for c, h in enumerate(heads, 1))
        + sum(weight for *_, weight in again.arcs_.part_terms(words, 0, tree_parts(heads)))
        for words in [again.arcs_.encode(Columns.from_rows(ROWS[:1]))]
        for heads in (told.heads, told.other_heads)
    ]
    assert told.head == 3
    assert told.lead == pytest.approx(scores[0] - scores[1])
    forced = again.predict(ROWS[:1], allowed=[[None, None, None, [2], None]])[0]
    assert forced[3][0] == 2
    with pytest.raises(InputError, match="no projective tree"):
        again.predict(ROWS[1:], allowed=[[[2], [1]]])
    before = again.arcs_.n_weights
    again.partial_fit(
        [[("Stop", "V", "VB"), ("there", "R", "RB"), ("now", "R", "RB")]], [[(0, "a"), (1, "b"), (1, "b")]]
    )
    assert again.arcs_.n_weights > before
    assert again.arcs_.pruner is not None


@pytest.mark.parametrize("order", [2, 3])
def test_without_pruning_all_trees_are_there(order):
    parser = DependencyParser(TEMPLATE, order=order, min_count=1, l1=0.01, prune=0.0).fit(ROWS, TREES)
    assert parser.arcs_.pruner is None
    assert len(parser.predict_nbest(ROWS, k=1000)[0]) == len(eisner.all_trees(5))
    with pytest.raises(ValueError, match="prune must be a share"):
        DependencyParser(TEMPLATE, order=3, prune=1.0).fit(ROWS, TREES)


def test_first_order_is_the_template_without_lines_of_siblings():
    assert template_of(1).lines == template_of(3).arc_lines
    one = DependencyParser(TEMPLATE, order=1, min_count=1, l1=0.01).fit(ROWS, TREES)
    same = DependencyParser("+h[0,2] c[0,1]\nb[1] side", min_count=1, l1=0.01).fit(ROWS, TREES)
    assert one.arcs_.weights.tobytes() == same.arcs_.weights.tobytes()
    with pytest.raises(ValueError, match="order must be"):
        DependencyParser(order=4).fit(ROWS, TREES)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("g[0,1] way", "a line with s or g"),
        ("h[0,1] up", "there is no g"),
        ("s[0,1] b[1]", "cells of g, h, s and c"),
        ("h[0,1] gap", "there is no s"),
    ],
)
def test_lines_that_make_no_sense_are_refused(line, words):
    with pytest.raises(InputError, match=words):
        ArcTemplate.parse(line)
