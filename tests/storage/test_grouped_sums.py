"""Differences within groups, and the running sums that undo them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from epigram.errors import ModelFileError
from epigram.storage.quantise import differences, sum_groups


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
