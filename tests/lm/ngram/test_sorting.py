"""Sorted records equal sorted tuples, in memory and by runs in files, which go."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epigram.errors import InputError
from epigram.lm.ngram import sorting
from epigram.lm.ngram.sorting import Spool, sort_records


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 4), st.integers(0, 3000), st.integers(1, 40), st.booleans(), st.integers(0, 99))
def test_records_are_sorted_like_tuples(tmp_path_factory, width, n, block, spills, seed):
    rng = np.random.default_rng(seed)
    low = rng.integers(0, [3, 1 << 40][seed % 2], (n, width), dtype=np.uint64)
    records = low | (rng.integers(0, 3, (n, width), dtype=np.uint64) << np.uint64(61))
    folder = tmp_path_factory.mktemp("runs") if spills else None
    flat = records.ravel()
    blocks = (flat[k : k + block * width].copy() for k in range(0, flat.size, block * width))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorting, "LEAST_RUN", 64)
        patch.setattr(sorting, "LEAST_ROOM", 4)
        found = [part.copy() for part in sort_records(blocks, n, width, 64 * width, 1, folder)]
    rows = np.concatenate([np.empty(0, np.uint64), *found]).reshape(-1, width).tolist()
    assert rows == sorted(records.tolist())
    assert folder is None or not list(folder.iterdir())


def test_large_skewed_records_are_sorted_by_their_first_bits():
    rng = np.random.default_rng(0)
    keys = np.minimum(rng.zipf(1.2, 200_000), 1 << 20).astype(np.uint64)
    records = np.column_stack((keys << np.uint64(40), np.arange(keys.size, dtype=np.uint64)))
    (found,) = [np.concatenate(list(sort_records(iter([records.ravel()]), keys.size, 2, 64, 1)))]
    np.testing.assert_array_equal(found.reshape(-1, 2), records[np.argsort(keys, kind="stable")])


def test_spool_in_a_file_equals_one_in_memory_and_reports_a_cut_file(tmp_path):
    blocks = [np.arange(5), np.empty(0), np.array([7])]
    inside, outside = Spool(np.int32), Spool(np.int32, tmp_path / "spool")
    for spool in (inside, outside):
        for block in blocks:
            spool.append(block)
    assert (
        [b.tolist() for b in inside.blocks()]
        == [b.tolist() for b in outside.blocks()]
        == [[0, 1, 2, 3, 4], [], [7]]
    )
    (tmp_path / "spool").write_bytes(b"")
    with pytest.raises(InputError, match="cut while in use"):
        outside.array()
    outside.remove()
    assert not list(tmp_path.iterdir())
