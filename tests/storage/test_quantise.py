"""Weights in codes of a few bits: near the weights, and nearer with more bits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epigram.errors import InputError
from epigram.storage.quantise import codebook, pack_weights, unpack_weights


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
