"""Model files of every family with one number, type or field changed: one sentence, never a fault of the machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import epigram
from epigram.errors import ModelFileError
from epigram.storage import ModelFile, describe, load
from epigram.storage.arrays import Array, Maybe, Schema, pack_integers, packed_size, unpack_integers
from epigram.storage.file import sealed

OLD = Path(__file__).parent / "old"
Change = Callable[[dict[str, Any], dict[str, Any]], None]


def damaged(tmp_path: Path, name: str, change: Change) -> Path:
    """A healthy file of an earlier version, changed and written again."""
    file = ModelFile.load(OLD / f"{name}.laconic")
    tensors = {key: np.array(array) for key, array in file.tensors.items()}
    change(file.header, tensors)
    path = tmp_path / "m.epigram"
    ModelFile(file.family, file.header, tensors, unbounded=tensors).save(path)
    return path


def one_number(name: str, at: int, value: float) -> Change:
    def change(_: Any, tensors: dict[str, Any]) -> None:
        tensors[name][at] = value

    return change


def packed_number(name: str, at: int, value: int) -> Change:
    def change(_: Any, tensors: dict[str, Any]) -> None:
        numbers = unpack_integers(tensors[name])
        numbers[at] = value
        tensors[name] = pack_integers(numbers)

    return change


def one_type(name: str, dtype: str) -> Change:
    def change(_: Any, tensors: dict[str, Any]) -> None:
        tensors[name] = tensors[name].astype(dtype)

    return change


def one_field(name: str, value: Any) -> Change:
    def change(header: dict[str, Any], _: Any) -> None:
        header[name] = value

    return change


def setting(name: str, value: Any) -> Change:
    def change(header: dict[str, Any], _: Any) -> None:
        header["settings"][name] = value

    return change


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("reranker", one_number("path.features", 0, 2_000_000_000), "'path.features' holds 2000000000"),
        ("reranker", one_number("path.ptr", 1, 2**40), "'path.ptr' does not rise"),
        ("reranker", one_number("path.deltas", 0, np.nan), "'path.deltas' holds a number that is not finite"),
        ("reranker", one_number("word_grams", 0, 10**6), "'word_grams' holds 1000000"),
        ("factored", packed_number("word.targets", -1, 2**31), "too large"),
        ("factored", packed_number("class.parents", 0, 2**31), "'class.parents' has a child before its parent"),
        ("factored", packed_number("class_of", 1, 60_000), "'class_of' holds 60000"),
        ("factored", setting("class_contexts", "c1 w999999999"), "contexts of 999,999,999 words"),
        ("loglinear", packed_number("symbols", 1, 65_536), "'symbols' holds 655"),
        ("loglinear", packed_number("targets", 1, 2**31), "too large"),
        ("loglinear", packed_number("parents", 0, 2**32 - 1), "'parents' has a child before its parent"),
        ("loglinear", one_number("root", 0, np.inf), "'root' holds a number that is not finite"),
        ("loglinear", setting("order", "x"), "'order' cannot be 'x'"),
        ("kneser-ney", packed_number("pairs", 1, 2**32 - 1), "'pairs' holds 4294967295, more than all"),
        ("kneser-ney", one_number("logp.weights", 0, 0.5), "'logp.weights' holds 0.5, which is too large"),
        ("kneser-ney", one_number("words.lengths", 1, 2**31), "'words.lengths' holds 2147483648"),
        ("converter", one_number("lm.pair_word", 0, -1), "'lm.pair_word' holds -1"),
        ("converter", one_number("lm.pair_next", 0, 10**6), "'lm.pair_next' holds 1000000"),
        ("converter", one_number("reading.lengths", 0, 2**31), "'reading.lengths' holds"),
        ("converter", one_number("surface.bytes", 0, 0x80), "no text"),
        ("converter", one_field("start", -7), "do not fit together"),
        ("tagger", one_number("state_labels", 0, 200), "'state_labels' holds 200"),
        ("tagger", one_number("state_weights", 0, np.inf), "'state_weights' holds a number that is not finite"),
        ("tagger", one_number("name_lengths", 0, 60_000), "'name_lengths' holds 60000"),
        ("tagger", one_type("state_weights", "i8"), "'state_weights' holds int64, not float64"),
        ("tagger", one_type("names", "u4"), "'names' holds uint32, not uint8"),
        ("tagger", one_field("labels", "B-NP"), "'labels' cannot be 'B-NP'"),
        ("tagger", one_field("labels", ["a", "a"]), "2 labels, 1 of them distinct"),
        ("tagger", one_field("labels", [f"{k}" for k in range(60_000)]), "60,000 labels, too many"),
    ],
)  # fmt: skip
def test_one_change_is_one_sentence(tmp_path: Path, name: str, change: Change, says: str) -> None:
    path = damaged(tmp_path, name, change)
    begun = time.process_time()
    for function in (load, describe):
        with pytest.raises(ModelFileError) as raised:
            function(path)
        assert str(raised.value).startswith(f"{path}: damaged: ")
        assert says in str(raised.value)
        assert "\n" not in str(raised.value)
    assert time.process_time() - begun < 5


@pytest.mark.parametrize("name", ["tagger", "loglinear", "kneser-ney", "factored", "reranker", "converter"])
def test_a_flipped_bit_is_seen(tmp_path: Path, name: str) -> None:
    path = damaged(tmp_path, name, lambda header, tensors: None)
    content = path.read_bytes()
    load(path)
    for at in (len(content) // 3, len(content) - 1):
        path.write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :])
        with pytest.raises(ModelFileError, match=r"damaged: its checksum is|not an epigram model file"):
            load(path)


def test_files_without_a_checksum_are_read() -> None:
    assert b"crc32" not in (OLD / "tagger.laconic").read_bytes()
    load(OLD / "tagger.laconic")


def test_the_checksum_covers_header_and_arrays() -> None:
    content = ModelFile("toy", {"settings": {"a": 1}}, {"w": np.arange(9.0)}).to_bytes()
    assert sealed(content) == content
    for old, new in ((b'a\\": 1', b'a\\": 2'), (b"[9]", b"[8]")):
        with pytest.raises(ModelFileError, match="damaged"):
            ModelFile.from_bytes(content.replace(old, new))


@pytest.mark.parametrize("n", [10**9, 2**61])
def test_numbers_that_are_promised_are_not_made_room_for(n: int) -> None:
    """A file of a few bytes that says it holds a billion numbers."""
    packed = pack_integers(np.zeros(5, np.int64))
    packed[:8] = np.frombuffer(((1 << 63) | n).to_bytes(8, "little"), np.uint8)
    assert packed_size(packed) == n
    schema = Schema({}, {"x": Array("packed", ("n",))})
    with pytest.raises(ModelFileError, match="more numbers than its bytes can hold"):
        schema.read_arrays({"x": packed})


def test_planes_of_xz_are_unpacked_no_further_than_promised() -> None:
    import lzma

    bomb = lzma.compress(
        b"\0" * 50_000_000, lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA2, "preset": 6}]
    )
    packed = np.frombuffer((3).to_bytes(8, "little") + bomb, np.uint8)
    with pytest.raises(ModelFileError, match="damaged"):
        unpack_integers(packed)


def test_half_a_character_in_the_header_is_refused(tmp_path: Path) -> None:
    file = ModelFile.load(OLD / "tagger.laconic")
    content = ModelFile(file.family, {**file.header, "note": "QQQQ"}, file.tensors).to_bytes()
    half = sealed(content.replace(b"QQQQ\\", b"\\\\ud800\\").replace(b"   ", b"   ", 1))
    grown = len(half) - len(content)
    length = int.from_bytes(half[:8], "little") + grown
    with pytest.raises(ModelFileError, match="half a character"):
        ModelFile.from_bytes(sealed(length.to_bytes(8, "little") + half[8:]))


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"a": int}, {"a": True}),
        ({"a": int}, {}),
        ({"a": [str]}, {"a": ["x", 1]}),
        ({"a": (str, None)}, {"a": 3}),
        ({"a": {"b": float}}, {"a": {"b": "x"}}),
        ({"a": Maybe(dict)}, {"a": None}),
    ],
)
def test_header_fields_have_types(wanted: Any, found: Any) -> None:
    with pytest.raises(ModelFileError, match="damaged: "):
        Schema(wanted).check_header(found)


def test_the_schema_accepts_what_it_describes() -> None:
    header = {"n": 3, "x": 2, "y": None, "z": [{"a": 1.5}]}
    Schema({"n": int, "x": float, "y": (str, None), "z": [{"a": float}], "w": Maybe(int)}).check_header(
        header
    )
    arrays = {
        "ptr": Array(np.int64, ("rows+1",), offsets="cells"),
        "parent": Array("packed", ("rows",), steps=True, parents=1),
        "symbol": Array("packed", ("rows",), per_parent="parent", below=9),
        "cells": Array(np.float64, ("cells",), infinite="-"),
        "more": Array(np.int32, ("cells", 2), optional=True),
    }
    tensors = {
        "ptr": np.array([0, 2, 2, 3], np.uint8),
        "parent": pack_integers(np.array([0, 0, 2])),
        "symbol": pack_integers(np.array([4, 3, 5])),
        "cells": np.array([1.0, -np.inf, 2.0], np.float32),
    }
    found = Schema({}, arrays).read_arrays(tensors)
    assert found["ptr"].tolist() == [0, 2, 2, 3]
    assert found["parent"].tolist() == [0, 0, 2]
    assert found["symbol"].tolist() == [4, 7, 5]
    assert "more" not in found
    assert found["cells"].dtype == np.float64


def test_every_way_in_names_the_file(tmp_path: Path) -> None:
    path = damaged(tmp_path, "tagger", one_number("state_labels", 0, 200))
    from epigram.tagging.files import FileTagger

    for way in (epigram.load, epigram.CRFTagger.load, FileTagger.load):
        with pytest.raises(ModelFileError, match=r"m\.epigram: damaged: 'state_labels' holds 200"):
            way(path)
