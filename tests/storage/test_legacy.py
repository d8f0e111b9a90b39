"""Decoders of integers of format 1, against encoders in exact arithmetic."""

from __future__ import annotations

import lzma
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epigram.errors import ModelFileError
from epigram.storage.legacy import decode, unpack_integers
from reference import ans, packing

OLD = Path(__file__).parent / "old"
ADAPTIVE, RANS = 1 << 63, 3 << 62


def coded(n: int, code: bytes) -> np.ndarray:
    """An array of format 1: count and flags, then the code."""
    return np.frombuffer(n.to_bytes(8, "little") + code, np.uint8)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 2**32 - 1) | st.integers(0, 40), max_size=300))
def test_adaptive_codes_are_read(values: list[int]) -> None:
    assert unpack_integers(coded(ADAPTIVE | len(values), packing.pack(values))).tolist() == values


def test_carries_run_through_the_code() -> None:
    """Long runs push the interval to its ends, where bytes of 255 wait for a carry."""
    rng = np.random.default_rng(0)
    for values in (np.full(4_000, 2**32 - 1), np.zeros(4_000, int), rng.geometric(0.999, 4_000)):
        found = unpack_integers(coded(ADAPTIVE | values.size, packing.pack(values.tolist())))
        assert found.tolist() == values.tolist()


def many() -> tuple[np.ndarray, np.ndarray]:
    """A stored code with tables, and its integers."""
    k = np.arange(40_000)
    return np.frombuffer((OLD / "many-integers.bin").read_bytes(), np.uint8), (k * k % 7) ** (k % 5)


def test_codes_with_tables_are_read() -> None:
    content, values = many()
    assert int.from_bytes(content[:8].tobytes(), "little") == RANS | values.size
    assert unpack_integers(content).tolist() == values.tolist()
    end = 12 + int.from_bytes(content[8:12].tobytes(), "little")
    tables = unpack_integers(np.append(coded(ADAPTIVE | 3840, b""), content[12:end]))
    assert content[end:].tobytes() == ans.pack(values.tolist(), tables.reshape(16, 240))


def test_corrupt_codes_with_tables_are_refused() -> None:
    content, _ = many()
    for wrong in (
        content[:40],
        content[:-4],
        content[:-1],
        np.append(content, np.zeros(4, np.uint8)),
        content[:8],
    ):
        with pytest.raises(ModelFileError):
            unpack_integers(wrong)
    for at in (8, 9, 14, 30, content.size - 5):
        wrong = content.copy()
        wrong[at] ^= 1
        with pytest.raises(ModelFileError):
            unpack_integers(wrong)


def test_planes_of_the_first_version_are_read() -> None:
    values = np.array([3, 70000, 0, 2**32 - 1], np.uint32)
    planes = values.astype("<u4").view(np.uint8).reshape(-1, 4).T.tobytes()
    content = coded(values.size, _xz(planes))
    assert unpack_integers(content).tolist() == values.tolist()
    with pytest.raises(ModelFileError):
        unpack_integers(content[:-3])


def test_planes_are_unpacked_no_further_than_announced() -> None:
    with pytest.raises(ModelFileError, match="corrupt"):
        unpack_integers(coded(3, _xz(b"\0" * 50_000_000)))


def _xz(planes: bytes) -> bytes:
    return lzma.compress(planes, format=lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA2, "preset": 6}])


@pytest.mark.parametrize("n", [10**9, 2**61])
def test_counts_beyond_the_file_are_refused(n: int) -> None:
    content = coded(ADAPTIVE | n, bytes(20))
    with pytest.raises(ModelFileError, match="more numbers than its bytes can hold"):
        decode("lm", {"targets": content})
    with pytest.raises(ModelFileError, match="more numbers than its bytes can hold"):
        unpack_integers(content)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=60), st.integers(0, 2000), st.sampled_from([ADAPTIVE, RANS]))
def test_any_bytes_are_numbers_or_refused(code: bytes, n: int, coder: int) -> None:
    try:
        found = unpack_integers(coded(coder + n, code))
    except ModelFileError:
        return
    assert found.size == n
