"""Edit distance against its definition by recursion, and against rapidfuzz."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epigram.rerank.nbest import edit_distance


def by_definition(a: str, b: str) -> int:
    @cache
    def distance(i: int, j: int) -> int:
        if i == 0 or j == 0:
            return i + j
        return min(
            distance(i - 1, j) + 1, distance(i, j - 1) + 1, distance(i - 1, j - 1) + (a[i - 1] != b[j - 1])
        )

    return distance(len(a), len(b))


@given(st.text("ab漢\ud800", max_size=7), st.text("ab漢\ud800", max_size=7))
def test_distance_is_its_definition(a: str, b: str) -> None:
    assert edit_distance(a, b) == by_definition(a, b)
    assert edit_distance(list(a), list(b)) == by_definition(a, b)


@given(st.text(max_size=60), st.text(max_size=60))
def test_distance_is_that_of_rapidfuzz(a: str, b: str) -> None:
    levenshtein = pytest.importorskip("rapidfuzz.distance.Levenshtein")
    assert edit_distance(a, b) == levenshtein.distance(a, b)
