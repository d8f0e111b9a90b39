"""Weights in codes of a few bits: near the weights, and nearer with more bits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epigram.errors import InputError, ModelFileError
from epigram.storage.quantise import codebook, differences, pack_weights, sum_groups, unpack_weights


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 10), st.integers(0, 2**31))
def test_quantised_weights_lie_within_their_cell(bits, seed):
    w = np.random.default_rng(seed).gamma(1.0, 2.0, 500)
    again = unpack_weights(pack_weights(w, bits))
    book = codebook(w, 1 << bits)
    nearest = book[np.abs(w[:, None] - book[None, :]).argmin(axis=1)]
    np.testing.assert_allclose(again, nearest, rtol=1e-5)
    assert book.size <= 1 << bits


def test_more_bits_are_nearer():
    w = np.random.default_rng(0).gamma(1.0, 2.0, 5000)
    errors = [np.square(unpack_weights(pack_weights(w, bits)) - w).mean() for bits in (2, 4, 8, 12)]
    assert errors == sorted(errors, reverse=True)


@pytest.mark.parametrize("bits", [-1, 17])
def test_wrong_bits_are_refused(bits):
    with pytest.raises(InputError, match="bits"):
        pack_weights(np.ones(3), bits)


@given(st.lists(st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=5, unique=True), max_size=8))
def test_sums_begin_anew_in_every_group(groups: list[list[int]]) -> None:
    rising = [sorted(group) for group in groups]
    values = np.array([value for group in rising for value in group], dtype=np.int32)
    homes = np.repeat(np.arange(len(rising)), [len(group) for group in rising])
    steps = differences(values, homes)
    expected = [value for group in rising for value in np.cumsum(np.diff([0, *group])).tolist()]
    sizes = np.array([len(group) for group in rising], dtype=np.int64)
    assert sum_groups(steps, sizes).tolist() == expected == values.tolist()


def test_sizes_that_do_not_add_up_are_a_damaged_file() -> None:
    with pytest.raises(ModelFileError, match="do not fit"):
        sum_groups(np.ones(3, dtype=np.int64), np.array([2, 2]))


def test_a_negative_size_is_a_damaged_file() -> None:
    with pytest.raises(ModelFileError, match="do not fit"):
        sum_groups(np.ones(3, dtype=np.int64), np.array([4, -1]))


@pytest.mark.parametrize("step", [2**31, 2**63 - 1, -1, -(2**63)])
def test_sums_beyond_32_bits_are_a_damaged_file(step: int) -> None:
    with pytest.raises(ModelFileError, match="too large"):
        sum_groups(np.array([0, step]), np.array([2]))
