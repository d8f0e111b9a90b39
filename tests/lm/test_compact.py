"""Packing: what goes in comes out, exactly for integers, near for quantised weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epigram.errors import InputError, ModelFileError
from epigram.storage.packing import codebook, pack_integers, pack_weights, unpack_integers, unpack_weights


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 2**32 - 1)))
def test_integers_come_back(values):
    assert unpack_integers(pack_integers(np.array(values, dtype=np.int64))).tolist() == values


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


def test_damaged_bytes_are_refused():
    packed = pack_integers(np.arange(1000)).copy()
    with pytest.raises(ModelFileError):
        unpack_integers(packed[:40])
