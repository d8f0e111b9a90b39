"""Compressed arrays: all types and shapes come back, and nothing is decompressed beyond its layout and the limit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from epigram.errors import ModelFileError
from epigram.storage import ModelFile
from epigram.storage.compress import DTYPES, compress, decompress, zstd
from epigram.storage.file import sealed


def test_every_type_and_shape_comes_back() -> None:
    rng = np.random.default_rng(0)
    arrays = {name: rng.integers(0, 2, (50, 3)).astype(dtype) for name, dtype in DTYPES.items()}
    arrays |= {
        "none": np.empty(0, np.int32),
        "one": np.array(7.5),
        "turned": np.arange(1000).reshape(10, 100).T,
    }
    packed = compress(arrays)
    assert packed is not None
    found = decompress(*packed)
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert np.array_equal(found[name], array)
        assert found[name].flags.writeable


def test_what_does_not_shrink_stays_as_it_is() -> None:
    noise = np.random.default_rng(0).integers(0, 256, 10_000).astype(np.uint8)
    assert compress({"noise": noise}) is None
    assert compress({}) is None


@pytest.mark.parametrize(
    ("layout", "says"),
    [
        ([["a", "U8", [10**7, 10]]], "unpacks to 100,000,000 bytes"),
        ([["a", "U8", [10**6 + 1]]], "should have 1,000,001 bytes"),
        ([["a", "U8", [10**6 - 1]]], "should have 999,999 bytes"),
        ([["a", "U8", [-1]], ["b", "U8", [10**6]]], "shape"),
        ([["a", "U8", [2**28, 0]], ["b", "U8", [10**6]]], "268435456, 0"),
        ([["a", "U8", [2.0]]], "shape"),
    ],
)
def test_wrong_layouts_are_refused(layout: Any, says: str) -> None:
    packed = compress({"a": np.zeros(10**6, np.uint8)})
    assert packed is not None
    with pytest.raises(ModelFileError, match=says):
        decompress(packed[0], layout)


def test_a_frame_that_holds_more_than_it_announces_is_refused() -> None:
    frame = zstd.compress(bytes(1000))
    for code in (frame + zstd.compress(bytes(10**8)), frame[:-1], frame[:6], b"", b"x" * 40):
        with pytest.raises(ModelFileError, match="corrupt file"):
            decompress(np.frombuffer(code, np.uint8), [["a", "U8", [1000]]])
    compressor = zstd.ZstdCompressor()  # a stream does not announce its size
    stream = compressor.compress(bytes(1000)) + compressor.flush()
    with pytest.raises(ModelFileError, match="corrupt file"):
        decompress(np.frombuffer(stream, np.uint8), [["a", "U8", [1000]]])


def test_arrays_that_would_look_like_a_bomb_are_not_compressed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer makes no file that the reader refuses."""
    monkeypatch.setenv("EPIGRAM_MAX_BYTES", "1000000")
    assert compress({"zeros": np.zeros(1_000_000, np.uint8)}) is not None
    assert compress({"zeros": np.zeros(1_000_001, np.uint8)}) is None


def test_a_file_is_compressed_or_mapped(tmp_path: Path) -> None:
    file = ModelFile("toy", {}, {"w": np.arange(10_000.0), "names": np.zeros(99, np.uint8)})
    file.save(tmp_path / "small")
    file.save(tmp_path / "raw", compress=False)
    assert (tmp_path / "small").stat().st_size < (tmp_path / "raw").stat().st_size / 4
    for name in ("small", "raw"):
        found = ModelFile.load(tmp_path / name)
        assert found.header["format"] == 2
        assert "zstd" not in found.header
        assert found.tensors.keys() == file.tensors.keys()
        assert all(np.array_equal(found.tensors[key], array) for key, array in file.tensors.items())


def test_files_with_a_wrong_layout_are_one_sentence(tmp_path: Path) -> None:
    content = ModelFile("toy", {}, {"w": np.arange(10_000.0)}).to_bytes()
    for wrong in (rb"[10001]", rb"[1000x]", rb"[\"9999\"]"):
        changed = content.replace(rb"[10000]", wrong)
        length = int.from_bytes(content[:8], "little") + len(changed) - len(content)
        (tmp_path / "x").write_bytes(sealed(length.to_bytes(8, "little") + changed[8:]))
        with pytest.raises(ModelFileError, match=r"corrupt|not an epigram") as caught:
            ModelFile.load(tmp_path / "x")
        assert str(caught.value).startswith(f"{tmp_path / 'x'}: ")
