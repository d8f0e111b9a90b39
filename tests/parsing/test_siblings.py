"""Trees of second order: sums, maxima, k best, features and the loss against all trees of small sentences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epigram._core.native import family
from reference import eisner, siblings as slow

trees = family("siblings")


def memory(n):
    return trees.SiblingSpans(n, np.zeros(16 * n * n), np.zeros(4 * n * n, dtype=np.int32))


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
    spans, out, heads = memory(n), np.empty((n + 1, n)), np.zeros(n, dtype=np.int32)
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
