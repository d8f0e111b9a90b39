"""Model files of every family with one number, type or field changed: one sentence, never a fault of the machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import epigram
from epigram.errors import InputError, ModelFileError
from epigram.storage import ModelFile, describe, load
from epigram.storage.file import sealed
from epigram.storage.schema import Array, Maybe, Schema

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
        array = tensors[name]
        if array.dtype.kind == "u" and value > np.iinfo(array.dtype).max:
            tensors[name] = array = array.astype(np.int64)
        array[at] = value

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
        ("factored", one_number("word.targets", -1, 2**31), "too large"),
        ("factored", one_number("class.parents", 0, 2**31), "'class.parents' has a child before its parent"),
        ("factored", one_number("class_of", 1, 60_000), "'class_of' holds 60000"),
        ("tagger", one_field("history", ["x"]), "an element of 'history' cannot be 'x'"),
        ("factored", setting("class_contexts", "c1 w999999999"), "contexts of 999,999,999 words"),
        ("loglinear", one_number("symbols", 1, 65_536), "'symbols' holds 655"),
        ("loglinear", one_number("targets", 1, 2**31), "too large"),
        ("loglinear", one_number("parents", 0, 2**32 - 1), "'parents' has a child before its parent"),
        ("loglinear", one_number("root", 0, np.inf), "'root' holds a number that is not finite"),
        ("loglinear", setting("order", "x"), "'order' cannot be 'x'"),
        ("kneser-ney", one_number("pairs", 1, 2**32 - 1), "'pairs' holds 4294967295, more than all"),
        ("kneser-ney", one_number("logp.weights", 0, 0.5), "'logp.weights' holds 0.5, which is too large"),
        ("kneser-ney", one_number("words.lengths", 1, 2**31), "'words.lengths' holds 2147483648"),
        ("converter", one_number("lm.pair_word", 0, -1), "'lm.pair_word' holds -1"),
        ("converter", one_number("lm.pair_next", 0, 10**6), "'lm.pair_next' holds 1000000"),
        ("converter", one_number("reading.lengths", 0, 2**31), "'reading.lengths' holds"),
        ("converter", one_number("surface.bytes", 0, 0x80), "not Unicode text"),
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
        assert str(raised.value).startswith(f"{path}: corrupt file: ")
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
        with pytest.raises(ModelFileError, match=r"corrupt file: its checksum is|not an epigram model file"):
            load(path)


def test_files_without_a_checksum_are_read() -> None:
    assert b"crc32" not in (OLD / "tagger.laconic").read_bytes()
    load(OLD / "tagger.laconic")


def test_the_checksum_covers_header_and_arrays() -> None:
    content = ModelFile("toy", {"settings": {"a": 1}}, {"w": np.arange(9.0)}).to_bytes()
    assert sealed(content) == content
    for old, new in ((b'a\\": 1', b'a\\": 2'), (b"[9]", b"[8]")):
        with pytest.raises(ModelFileError, match="corrupt"):
            ModelFile.from_bytes(content.replace(old, new))


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
    with pytest.raises(ModelFileError, match="corrupt file: "):
        Schema(wanted).check_header(found)


def test_the_schema_accepts_what_it_describes() -> None:
    header = {"n": 3, "x": 2, "y": None, "z": [{"a": 1.5}]}
    Schema({"n": int, "x": float, "y": (str, None), "z": [{"a": float}], "w": Maybe(int)}).check_header(
        header
    )
    arrays = {
        "ptr": Array(np.int64, ("rows+1",), offsets="cells"),
        "parent": Array(np.int64, ("rows",), steps=True, parents=1),
        "symbol": Array(np.int64, ("rows",), per_parent="parent", below=9),
        "cells": Array(np.float64, ("cells",), infinite="-"),
        "more": Array(np.int32, ("cells", 2), optional=True),
    }
    tensors = {
        "ptr": np.array([0, 2, 2, 3], np.uint8),
        "parent": np.array([0, 0, 2], np.uint8),
        "symbol": np.array([4, 3, 5], np.uint8),
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
    from epigram.tagging.column_tagger import ColumnTagger

    for way in (epigram.load, epigram.CRFTagger.load, ColumnTagger.load):
        with pytest.raises(ModelFileError, match=r"m\.epigram: corrupt file: 'state_labels' holds 200"):
            way(path)


def test_rows_without_bytes_are_refused(tmp_path: Path) -> None:
    """A shape of 2^28 rows of nothing costs the file no byte."""

    def change(_: Any, tensors: dict[str, Any]) -> None:
        tensors["char_grams"] = np.empty((1 << 28, 0), np.int32)

    with pytest.raises(ModelFileError, match=r"'char_grams' has the shape \[268435456, 0\]"):
        load(damaged(tmp_path, "reranker", change))


def test_a_header_that_is_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    deep: list[Any] = []
    for _ in range(200):
        deep = [deep]
    with pytest.raises(ModelFileError, match="not an epigram model file"):
        describe(damaged(tmp_path, "tagger", one_field("fit", {"deep": deep})))


def test_a_checksum_with_a_newline_is_shown_in_one_line() -> None:
    content = ModelFile("tagger", {}, {}).to_bytes()
    at = content.index(rb"\"crc32\": \"") + len(rb"\"crc32\": \"")
    with pytest.raises(ModelFileError) as caught:
        ModelFile.from_bytes(content[:at] + rb"\\n23456" + content[at + 8 :])
    assert "checksum" in str(caught.value)
    assert "\n" not in str(caught.value)


def all_of(name: str, value: float) -> Change:
    def change(_: Any, tensors: dict[str, Any]) -> None:
        tensors[name][:] = value

    return change


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("loglinear", all_of("root", 1e38), "'root' holds 1e+38, which is beyond 100"),
        ("loglinear", one_number("weights", 0, -101), "'weights' holds -101, which is beyond 100"),
        ("kneser-ney", one_number("logp.weights", 0, 2e-6), "'logp.weights' holds 2e-06, which is too large"),
        (
            "kneser-ney",
            one_number("bow.weights", 1, -231),
            "'bow.weights' holds -231, which is beyond 230.259",
        ),
        ("factored", one_number("word.weights", 0, 1e4), "'word.weights' holds 10000, which is beyond 100"),
        ("factored", all_of("class.weights", 99), "weights that can add up to"),
        ("tagger", one_number("state_weights", 0, 1e9), "'state_weights' holds 1e+09, which is beyond 1e+08"),
        ("tagger", one_number("transition_weights", 0, 400), "'transition_weights' holds 400"),
        ("reranker", one_number("path.deltas", 0, 1e9), "'path.deltas' holds 1e+09, which is beyond 1e+08"),
    ],
)
def test_extreme_numbers_are_refused(tmp_path: Path, name: str, change: Change, says: str) -> None:
    with pytest.raises(ModelFileError) as caught:
        load(damaged(tmp_path, name, change))
    assert says in str(caught.value)


@pytest.mark.parametrize("name", ["loglinear", "kneser-ney", "factored", "tagger"])
@pytest.mark.parametrize("size", [0.0, 5.0, 50.0, 99.0, 229.0, 299.0, 9e7])
@pytest.mark.parametrize("signs", [(1, 1), (1, -1), (-1, -1)])
def test_accepted_numbers_give_no_nan(tmp_path: Path, name: str, size: float, signs: Any) -> None:
    """A file with weights of this size is refused, at the latest when it is asked, or its answers are numbers."""

    def change(_: Any, tensors: dict[str, Any]) -> None:
        for key in ("root", "weights", "logp.weights", "bow.weights", "class.weights", "word.weights",
                    "state_weights", "transition_weights"):  # fmt: skip
            if key in tensors:
                sign = np.resize(signs, tensors[key].size)
                tensors[key][:] = np.where(key == "logp.weights", -size, size * sign)

    try:
        model = load(damaged(tmp_path, name, change))
        if name == "tagger":
            words = [["The", "dog", "barks"]]
            answers = [p for word in model.predict_marginals(words)[0] for p in word.values()]
            answers += [p for _, p in model.predict_nbest(words, 3)[0]]
        else:
            known = list(model.vocabulary_)[1:4]
            answers = [*model.word_scores(known).tolist(), *model.distribution(known[:1]).tolist()]
    except InputError:
        return
    assert not np.isnan(answers).any()
    assert max(answers) < np.inf


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("tagger", setting("l1", -1.0), "'l1' cannot be -1.0"),
        ("tagger", setting("l1", "x"), "'l1' cannot be 'x'"),
        ("tagger", setting("pairs", "some"), "'pairs' cannot be 'some'"),
        ("tagger", setting("constrain", "iob9"), "constrain must be one of"),
        ("tagger", setting("random_state", -1), "'random_state' cannot be -1"),
        ("tagger", setting("penalty", 3), "'penalty' cannot be '3'"),
        ("tagger", one_field("fit", {"samples": None}), "'samples' cannot be 'None'"),
        ("tagger", one_field("template", "U0:%x[0,0]\n"), "transitions other than its template asks for"),
        ("loglinear", setting("tolerance", [1]), "'tolerance' cannot be '[1]'"),
        ("loglinear", setting("order", 10**30), "'order' cannot be 1000"),
        ("loglinear", one_field("fit", {"positions": 2**31}), "2,147,483,648 positions of text"),
    ],
)
def test_settings_that_training_goes_on_with_are_checked(
    tmp_path: Path, name: str, change: Change, says: str
) -> None:
    with pytest.raises(ModelFileError) as caught:
        load(damaged(tmp_path, name, change))
    assert says in str(caught.value)
