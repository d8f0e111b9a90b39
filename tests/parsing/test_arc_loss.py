"""Sums, maxima and k best over projective trees against all trees of small sentences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epigram._core import bindings
from epigram.features.attributes import AttributeTable
from epigram.features.columns import Columns
from epigram.parsing.arc_features import encode_parts, learn_features
from epigram.parsing.arc_loss import ArcLoss, rows_of, span_memory, steps_of
from epigram.parsing.arc_templates import ArcTemplate, read_built_in
from epigram.parsing.arc_words import Words
from epigram.parsing.projective import crossing_arcs, projectivise
from epigram.protocols import Steps
from reference import eisner as slow


def test_numbers_of_trees_are_those_of_the_literature():
    assert [len(slow.all_trees(n)) for n in (1, 2, 3, 4, 5)] == [1, 2, 7, 30, 143]  # A006013


@settings(max_examples=30)
@given(st.integers(1, 5), st.integers(0, 10**6), st.floats(0.1, 30.0))
def test_sums_and_maxima_equal_all_trees(n, seed, spread):
    scores = np.random.default_rng(seed).normal(size=(n + 1, n)) * spread
    every = slow.all_trees(n)
    values = [slow.score(scores, heads) for heads in every]
    z, marginals = slow.marginals(values, every, n)
    spans, out = span_memory(n), np.empty((n + 1, n))
    assert bindings.eisner_inside(n, scores, spans) == pytest.approx(z, abs=1e-9)
    assert bindings.eisner_marginals(n, scores, spans, out) == pytest.approx(z, abs=1e-9)
    np.testing.assert_allclose(out, marginals, atol=1e-12)
    np.testing.assert_allclose(out.sum(0), 1.0)
    heads = np.zeros(n, dtype=np.int32)
    assert bindings.eisner_best(scores, spans, heads) == pytest.approx(max(values))
    assert tuple(heads.tolist()) == every[int(np.argmax(values))]
    k = 9
    lists = bindings.Lists(n, k, np.empty(3 * n * n * k), np.zeros(3 * n * n * k, dtype=np.int64))
    best, origins, found = np.empty(k), np.zeros(k, dtype=np.int64), np.zeros((k, n), dtype=np.int32)
    n_found = bindings.eisner_k_best(n, scores, lists, best, origins, found)
    ranked = sorted(zip(values, every, strict=True), reverse=True)[:k]
    assert n_found == len(ranked)
    assert [tuple(own) for own in found[:n_found].tolist()] == [heads for _, heads in ranked]
    np.testing.assert_allclose(best[:n_found], [value for value, _ in ranked], atol=1e-9)


def test_long_sentences_stay_finite():
    n = 150
    scores = np.random.default_rng(0).normal(size=(n + 1, n)) * 40.0
    out = np.empty((n + 1, n))
    assert np.isfinite(bindings.eisner_marginals(n, scores, span_memory(n), out))
    np.testing.assert_allclose(out.sum(0), 1.0, atol=1e-9)


ROWS = [
    [("The", "D", "DT"), ("dog", "N", "NN"), ("barks", "V", "VBZ")],
    [("Go", "V", "VB"), ("home", "R", "RB")],
]
HEADS = np.array([2, 3, 0, 0, 1], dtype=np.int32)


def small_loss(text="+h[0,0] c[0,0]\n+h[0,2] c[-1,1]\nh[0,1] b[2] side\nway", weights=None, often=1):
    words = Words.of(Columns.from_rows(ROWS), 3)
    template = ArcTemplate.parse(text)
    known = learn_features(words, HEADS, template, 1, often)
    return ArcLoss(encode_parts(words, template, known), HEADS, len(known.keys), weights), words


def test_loss_is_minus_the_log_probability_and_its_gradient_the_slope():
    loss, _ = small_loss(weights=np.array([1.0, 2.5]))
    rng = np.random.default_rng(1)
    w, out, trash = rng.normal(size=loss.n_weights), np.empty(loss.n_weights), np.empty(loss.n_weights)
    arcs = loss.parts
    total = 0.0
    for s, (n, weight) in enumerate(((3, 1.0), (2, 2.5))):
        scores = np.array([w[ids].sum() for ids in arcs.features(s)])
        every, scores = slow.all_trees(n), scores.reshape(n + 1, n)
        values = [slow.score(scores, heads) for heads in every]
        gold = HEADS[arcs.sentence_ptr[s] : arcs.sentence_ptr[s + 1]]
        total += weight * (slow.marginals(values, every, n)[0] - slow.score(scores, gold))
    assert loss.value_and_gradient(w, out) == pytest.approx(total)
    for k in range(loss.n_weights):
        step = np.zeros_like(w)
        step[k] = 1e-5
        slope = (loss.value_and_gradient(w + step, trash) - loss.value_and_gradient(w - step, trash)) / 2e-5
        assert out[k] == pytest.approx(slope, abs=1e-7)


def test_cumulative_pass_is_the_algorithm_of_the_paper():
    loss, _ = small_loss()
    order, rates = np.array([1, 0, 1], dtype=np.int32), np.array([0.5, 0.3, 0.2])
    penalties = np.array([0.0, 0.02, 0.05, 0.06])
    w, q = np.zeros(loss.n_weights), np.zeros(loss.n_weights)
    slow_w, slow_q = w.copy(), q.copy()
    for k, s in enumerate(order):  # figure 2: a step, then what is owed by the features of the sentence
        weights = np.zeros(2)
        weights[s] = 1.0
        one, gradient = ArcLoss(loss.parts, HEADS, loss.n_weights, weights), np.empty_like(w)
        one.value_and_gradient(slow_w, gradient)
        slow_w -= rates[k] * gradient
        for i in set(np.concatenate(loss.parts.features(s)).tolist()):
            z, u = slow_w[i], penalties[k + 1]
            slow_w[i] = max(0.0, z - (u + slow_q[i])) if z > 0 else min(0.0, z + (u - slow_q[i]))
            slow_q[i] += slow_w[i] - z
    loss.sgd_pass("cumulative", Steps(order, rates, penalties), w, q)
    np.testing.assert_allclose(w, slow_w, atol=1e-8)
    np.testing.assert_allclose(q, slow_q, atol=1e-8)


def spelt_features(words, s, h, c, template):
    """Features of an arc as strings: the slow, obvious twin of ``_core/arcs.c``."""
    far = abs(h - c)
    far_name = str(far) if far < 5 else "5-9" if far < 10 else "10+"
    side = "root" if h == 0 else "right" if h < c else "left"
    found = set()
    for line in template.lines:
        n = int(words.lengths[s])
        zones = {
            "b": range(min(h, c) + 1, max(h, c)),
            "l": range(1, min(h, c)),
            "r": range(max(h, c) + 1, n + 1),
        }
        middles = next((zones[cell.place] for cell in line if cell.place in zones), [0])
        for middle in middles:
            parts = []
            for cell in line:
                if cell.place == "way":
                    parts.append(side if h == 0 else f"{side} {far_name}")
                elif cell.place == "side":
                    parts.append(side)
                else:
                    word = {"h": h, "c": c}.get(cell.place, middle)
                    parts.append(words.cell(s, cell.column, word, cell.offset))
            found.add((line, tuple(parts)))
    return found


def test_features_of_arcs_are_those_spelt_out():
    rng = np.random.default_rng(2)
    rows = [[(f"w{a}", f"c{a % 3}", f"t{b}") for a, b in rng.integers(0, 4, (n, 2))] for n in (1, 4, 13)]
    words = Words.of(Columns.from_rows(rows), 3)
    template = ArcTemplate.parse(
        "+h[0,0] c[0,2]\nh[-1,1] c[+1,2] side\nh[0,1] b[2] c[0,1] way\nb[1] side\nl[1] h[0,1]\nr[2] c[0,1] side"
    )
    heads = np.array([0, *([0] + [1] * 3), *([0] + [1] * 12)], dtype=np.int32)
    arcs = encode_parts(words, template, learn_features(words, heads, template, 1, 1))
    holders: dict[object, set[int]] = {}  # by name and by id, the arcs that have it
    by_id: dict[int, set[int]] = {}
    for s, n in enumerate(words.lengths.tolist()):
        for h in range(n + 1):
            for c in range(1, n + 1):
                at = arcs.first_arc[s] + h * n + c - 1
                for feature in arcs.features(s)[h * n + c - 1].tolist():
                    by_id.setdefault(feature, set()).add(at)
                for name in set() if h == c else spelt_features(words, s, h, c, template):
                    holders.setdefault(name, set()).add(at)
    assert len(by_id) == len(holders)
    assert sorted(map(sorted, by_id.values())) == sorted(map(sorted, holders.values()))


def test_crossing_arcs_are_lifted_until_none_is_left():
    rng = np.random.default_rng(4)
    for _ in range(40):
        n = int(rng.integers(2, 9))
        order = rng.permutation(n) + 1
        heads = np.zeros(n, dtype=np.int32)
        for k in range(1, n):
            heads[order[k] - 1] = order[rng.integers(0, k)]
        lifted, n_sentences, n_arcs = projectivise(heads, np.array([0, n]))
        assert slow.is_tree(lifted.tolist())
        assert slow.is_projective(lifted.tolist())
        assert (
            bool(crossing_arcs(heads.tolist()))
            == (not slow.is_projective(heads.tolist()))
            == bool(n_sentences)
        )
        assert n_arcs == np.count_nonzero(lifted != heads)


def test_a_sentence_of_more_than_65536_distinct_features_is_numbered_by_32_bits():
    rng, n = np.random.default_rng(3), 50
    rows = [[(f"w{a}", f"c{a % 7}", f"t{a % 40}") for a in rng.integers(0, 100, n)], ROWS[0]]
    words, template = (
        Words.of(Columns.from_rows(rows), 3),
        ArcTemplate.parse(read_built_in("arcs")).of_order(1),
    )
    heads = np.array([0, *[1] * (n - 1), 2, 3, 0], dtype=np.int32)
    known = learn_features(words, heads, template, 1, 1)
    parts = encode_parts(words, template, known)
    assert parts.row_counts[0] > 1 << 16 > parts.row_counts[1]
    keys, owners, middles = np.empty(900, np.uint64), np.empty(900, np.int32), np.empty(900, np.int32)
    for s, h, c in ((0, 3, 44), (0, 50, 1), (1, 2, 1)):
        arc = template.struct, words.struct, template.memory(n), s, h, c
        found = AttributeTable(known.keys).look_up(keys[: bindings.arcs_keys(*arc, keys, owners, middles)])
        own = parts.features(s)[h * int(words.lengths[s]) + c - 1]
        assert own.tolist() == found[found >= 0].tolist()
    w = rng.normal(size=len(known.keys))
    expected = 0.0
    for s, gold in enumerate((heads[:n], heads[n:])):
        scores = np.array([w[ids].sum() for ids in parts.features(s)]).reshape(-1, len(gold))
        expected += bindings.eisner_inside(len(gold), scores, span_memory(n)) - slow.score(scores, gold)
    loss, gradient = ArcLoss(parts, heads, len(w)), np.empty_like(w)
    assert loss.value_and_gradient(w, gradient) == pytest.approx(expected)
    direction = rng.normal(size=len(w))
    ahead, behind = (
        loss.value_and_gradient(w + step * direction, np.empty_like(w)) for step in (1e-6, -1e-6)
    )
    assert gradient @ direction == pytest.approx((ahead - behind) / 2e-6, rel=1e-4)


@pytest.mark.parametrize("limit", [10, 200, 20_000, 3_000_000, 2**31 - 2])
def test_steps_of_bytes_give_rising_ids_back(limit):
    rng = np.random.default_rng(limit)
    for n in (0, 1, 7, 500):
        rows = np.unique(rng.integers(0, limit, n)).astype(np.int32)
        np.testing.assert_array_equal(rows_of(steps_of(rows)), rows)
