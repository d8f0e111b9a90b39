"""Packing: what goes in comes out, exactly for integers, near for quantised weights."""

from __future__ import annotations

import lzma

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epigram._core.native import family
from epigram.errors import InputError, ModelFileError
from epigram.storage import arrays
from epigram.storage.arrays import codebook, pack_integers, pack_weights, unpack_integers, unpack_weights
from reference import ans
from reference import packing as reference


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 2**32 - 1)))
def test_integers_come_back(values):
    assert unpack_integers(pack_integers(np.array(values, dtype=np.int64))).tolist() == values


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 2**32 - 1) | st.integers(0, 40), max_size=300))
def test_codes_are_those_of_exact_arithmetic(values):
    assert pack_integers(np.array(values, dtype=np.int64))[8:].tobytes() == reference.pack(values)


def test_carries_run_through_the_code():
    """Long runs push the interval to its ends, where bytes of 255 wait for a carry."""
    rng = np.random.default_rng(0)
    for values in (np.full(20_000, 2**32 - 1), np.zeros(50_000, int), rng.geometric(0.999, 20_000)):
        assert unpack_integers(pack_integers(values)).tolist() == values.tolist()
        few = values[:4_000]
        assert pack_integers(few)[8:].tobytes() == reference.pack(few.tolist())


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 2**32 - 1) | st.integers(0, 40), max_size=200))
def test_codes_of_many_are_those_of_exact_arithmetic(values):
    numbers, counts = np.array(values, np.uint32), np.empty((16, 240), np.int64)
    family("ans").count(numbers.size, numbers, counts)
    assert counts.sum() == numbers.size
    tables = np.stack([arrays._shares(row) for row in counts])
    assert (tables.sum(axis=1) == 4096 * (counts.sum(axis=1) > 0)).all()
    assert ((tables > 0) == (counts > 0)).all()
    code = arrays._pack_many(numbers)
    tables_end = 4 + int.from_bytes(code[:4].tobytes(), "little")
    assert code[tables_end:].tobytes() == ans.pack(values, tables)
    assert arrays._unpack_many(code, numbers.size).tolist() == values


def test_many_numbers_come_back():
    rng = np.random.default_rng(0)
    for values in (rng.geometric(0.02, 40_001), rng.integers(0, 2**32, 32_769), np.full(50_000, 7)):
        assert unpack_integers(pack_integers(values)).tolist() == values.tolist()
    values = rng.geometric(0.02, 40_001)
    entropy = -np.log2(np.bincount(values)[values] / values.size).sum() / 8
    assert pack_integers(values).size < 1.03 * entropy + 400


def test_damaged_codes_of_many_are_refused():
    packed = pack_integers(
        np.random.default_rng(0).integers(0, 15, 40_000)
    )  # no bits that stand for themselves
    assert packed[7] == 192
    for damaged in (
        packed[:40],
        packed[:-4],
        packed[:-1],
        np.append(packed, np.zeros(4, np.uint8)),
        packed[:8],
    ):
        with pytest.raises(ModelFileError):
            unpack_integers(damaged)
    for at in (8, 9, 14, 30, packed.size - 5, packed.size - 4000):
        damaged = packed.copy()
        damaged[at] ^= 1
        with pytest.raises(ModelFileError):
            unpack_integers(damaged)


def test_numbers_of_earlier_files_are_read():
    values = np.array([3, 70000, 0, 2**32 - 1], np.uint32)
    planes = values.astype("<u4").view(np.uint8).reshape(-1, 4).T.tobytes()
    packed = lzma.compress(planes, format=lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA2, "preset": 6}])
    content = np.frombuffer(values.size.to_bytes(8, "little") + packed, np.uint8)
    assert unpack_integers(content).tolist() == values.tolist()
    with pytest.raises(ModelFileError):
        unpack_integers(content[:-3])


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
    for damaged in (packed[:40], packed[:4], np.append(packed, np.zeros(20, np.uint8))):
        with pytest.raises(ModelFileError):
            unpack_integers(damaged)
    packed[:7] = 255  # a number of numbers that no memory could hold
    with pytest.raises(ModelFileError, match="more numbers than its bytes can hold"):
        unpack_integers(packed)


@settings(max_examples=60, deadline=None)
@given(st.binary(min_size=8, max_size=60), st.integers(0, 2000), st.sampled_from([2**63, 2**63 + 2**62]))
def test_any_bytes_are_numbers_or_refused(code, n, coder):
    content = (coder + n).to_bytes(8, "little") + code
    try:
        found = unpack_integers(np.frombuffer(content, np.uint8))
    except ModelFileError:
        return
    assert found.size == n
