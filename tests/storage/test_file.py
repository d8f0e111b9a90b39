"""The model file: what goes in comes out, and anything else is one sentence."""

from __future__ import annotations

import json
import re
import struct
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import epigram
from epigram.errors import DivergenceError, ModelFileError
from epigram.storage import ModelFile, Section, describe, load, pack_strings, unpack_strings
from epigram.storage import file as file_module
from epigram.storage.file import sealed

MODEL = ModelFile(
    "toy", {"settings": {"l1": 1.0}, "fit": {"passes": 3}}, {"w": np.arange(50.0), "n": np.array([7])}
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
arrays = hnp.arrays(
    st.sampled_from([np.float64, np.float32, np.int32, np.int64, np.uint8, np.uint32, np.bool_]),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)


@given(
    header=st.dictionaries(st.text(min_size=1).map("x_".__add__), json_values, max_size=4),
    tensors=st.dictionaries(st.text(min_size=1).filter("__metadata__".__ne__), arrays, max_size=4),
)
def test_round_trip(header: dict[str, object], tensors: dict[str, np.ndarray]) -> None:
    written = ModelFile("toy", header, tensors, unbounded=tensors).to_bytes()
    again = ModelFile.from_bytes(written, family="toy")
    assert {name: again.header[name] for name in header} == header
    assert again.header["epigram"] == epigram.__version__
    assert again.tensors.keys() == tensors.keys()
    for name, array in tensors.items():
        assert again.tensors[name].dtype == array.dtype
        assert again.tensors[name].shape == array.shape
        assert again.tensors[name].tobytes() == array.tobytes()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_not_written(tmp_path: Path, bad: float) -> None:
    path = tmp_path / "model.epigram"
    tensors = {"w": np.array([1.0, bad, 2.0], np.float32), "errors": np.array([bad])}
    with pytest.raises(DivergenceError, match=r"1 of 3 numbers of 'w' not finite"):
        ModelFile("toy", {}, tensors, unbounded=["errors"]).save(path)
    assert not list(tmp_path.iterdir())
    ModelFile("toy", {}, {"errors": tensors["errors"]}, unbounded=["errors"]).save(path)


def test_same_model_same_bytes() -> None:
    assert MODEL.to_bytes() == MODEL.to_bytes() == ModelFile.from_bytes(MODEL.to_bytes()).to_bytes()


def test_loaded_arrays_can_be_written_to() -> None:
    ModelFile.from_bytes(MODEL.to_bytes()).tensors["w"][0] = 1.0


def test_non_contiguous_arrays_and_numpy_values_in_the_header() -> None:
    square = np.arange(6.0).reshape(2, 3)
    header = {"best": np.float64(0.5), "history": np.arange(2), "count": np.int64(3)}
    again = ModelFile.from_bytes(ModelFile("toy", header, {"t": square.T, "s": square[:, ::2]}).to_bytes())
    assert np.array_equal(again.tensors["t"], square.T)
    assert np.array_equal(again.tensors["s"], square[:, ::2])
    assert (again.header["best"], again.header["history"], again.header["count"]) == (0.5, [0, 1], 3)


def test_header_cannot_lie_about_who_wrote_it() -> None:
    again = ModelFile.from_bytes(
        ModelFile("toy", {"family": "other", "format": 99, "epigram": "0"}, {}).to_bytes()
    )
    assert (again.family, again.header["format"], again.header["epigram"]) == ("toy", 2, epigram.__version__)


@pytest.mark.parametrize("end", [1, 7, 8, 9, 40, 120, 200, -1, -8, -90])
def test_truncated(end: int) -> None:
    with pytest.raises(ModelFileError, match=r"truncated|corrupt|not an epigram model file") as raised:
        ModelFile.from_bytes(MODEL.to_bytes()[:end], path="m")
    assert "\n" not in str(raised.value)


@given(content=st.binary(max_size=200))
def test_any_bytes_are_refused_in_one_sentence(content: bytes) -> None:
    with pytest.raises(ModelFileError):
        ModelFile.from_bytes(content)


@given(position=st.integers(0, len(MODEL.to_bytes()) - 1), value=st.integers(0, 255))
def test_a_damaged_byte_is_an_error(position: int, value: int) -> None:
    content = bytearray(MODEL.to_bytes())
    whole, content[position] = content[position], value
    with suppress(ModelFileError):
        ModelFile.from_bytes(bytes(content))
        assert whole == value


def changed(name: str, value: object) -> bytes:
    """The model's file with another entry in the header's record of the array ``w``."""
    content = MODEL.to_bytes(compress=False)
    length = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8 : 8 + length])
    header["w"] |= {name: value}
    return sealed(foreign(json.dumps(header, separators=(",", ":"))) + content[8 + length :])


numbers = st.integers(-2, 500) | st.sampled_from(
    [2**31, 2**63, 2**64, 2**70, -1, 0.0, 50.0, True, None, "50"]
)


@given(
    st.sampled_from(["shape", "data_offsets"]).flatmap(
        lambda name: st.tuples(st.just(name), st.lists(numbers, max_size=3))
    )
    | st.tuples(st.just("dtype"), st.sampled_from(["F64", "F32", "I64", "U8", "BF16", "X", 3, None]))
)
def test_arrays_are_accepted_as_safetensors_does(change: tuple[str, object]) -> None:
    """The oracle is the format's own library: what it refuses is refused, what it reads is read alike."""
    content = changed(*change)
    try:
        expected = safetensors.numpy.load(content)
    except Exception:
        with pytest.raises(ModelFileError, match="corrupt"):
            ModelFile.from_bytes(content)
        return
    found = ModelFile.from_bytes(content).tensors
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert found[name].dtype == array.dtype
        assert found[name].shape == array.shape
        assert found[name].tobytes() == array.tobytes()


def test_a_file_is_mapped_and_its_arrays_are_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "model.epigram"
    MODEL.save(path)
    one, other = ModelFile.load(path), ModelFile.load(path)
    one.tensors["w"][0] = 99.0
    assert other.tensors["w"][0] == 0.0
    assert path.read_bytes() == MODEL.to_bytes()
    ModelFile("toy", {}, {"w": np.zeros(3)}).save(path)  # the file in use is replaced, not written into
    assert other.tensors["w"].tolist() == np.arange(50.0).tolist()
    assert ModelFile.load(path).tensors["w"].tolist() == [0.0, 0.0, 0.0]


def test_arrays_that_lie_askew_are_copied_to_their_place() -> None:
    content = MODEL.to_bytes(compress=False)
    length = struct.unpack("<Q", content[:8])[0]
    askew = sealed(foreign(content[8 : 8 + length].decode().rstrip() + "   ") + content[8 + length :])
    tensors = ModelFile.from_bytes(askew).tensors
    assert tensors["w"].tolist() == np.arange(50.0).tolist()
    assert all(array.flags.aligned for array in tensors.values())


def foreign(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def with_header(header: object) -> bytes:
    return foreign(json.dumps({"__metadata__": {"epigram": json.dumps(header)}}))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty file, not an epigram model"),
        (b"PK\x03\x04 a zip file, say a pickle of torch", "not an epigram model file"),
        (b"\x80\x04\x95 a pickle" * 9, "not an epigram model file"),
        (foreign("{}"), "not an epigram model file"),
        (foreign('{"__metadata__": {"format": "pt"}}'), "not an epigram model file"),
        (foreign("[" * 100_000), "not an epigram model file"),
        (with_header([]), "not an epigram model file"),
        (with_header({"family": "toy"}), "not an epigram model file"),
        (with_header({"family": 3, "format": 1}), "not an epigram model file"),
        (
            with_header({"family": "toy", "format": 3, "epigram": "9.1"}),
            r"newer epigram \(9.1\); upgrade epigram to read it",
        ),
    ],
)
def test_foreign_newer_and_empty(content: bytes, says: str, tmp_path: Path) -> None:
    path = tmp_path / "m.epigram"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=says) as raised:
        ModelFile.load(path)
    assert raised.value.path == str(path)


def test_other_and_unknown_family(tmp_path: Path) -> None:
    MODEL.save(tmp_path / "m")
    with pytest.raises(ModelFileError, match="holds a model of family 'toy', not a tagger"):
        ModelFile.load(tmp_path / "m", family="tagger")
    for function in (load, describe):
        with pytest.raises(ModelFileError, match="unknown family 'toy'; upgrade epigram to read it"):
            function(tmp_path / "m")


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="cannot read: No such file"):
        ModelFile.load(tmp_path / "none")
    with pytest.raises(ModelFileError, match="cannot read: Is a directory"):
        ModelFile.load(tmp_path)


def test_a_family_that_misses_a_tensor_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    MODEL.save(tmp_path / "m")
    reader = SimpleNamespace(
        from_model_file=lambda file: file.tensors["ids"], describe=lambda file: file.tensors["ids"]
    )
    monkeypatch.setattr(file_module, "_reader", lambda file, path: reader)
    for function in (load, describe):
        with pytest.raises(ModelFileError, match="corrupt file: it has no 'ids'"):
            function(tmp_path / "m")


@given(strings=st.lists(st.text(), max_size=20))
def test_string_tables(strings: list[str]) -> None:
    content, lengths = pack_strings(strings)
    assert content.dtype == np.uint8
    assert unpack_strings(content, lengths) == strings


def test_section_records() -> None:
    assert Section("t", ("a", "b"), [(1, "x")]).records() == [{"a": 1, "b": "x"}]


def test_a_family_that_refuses_a_file_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(file: ModelFile) -> None:
        raise ModelFileError("labels and weights do not fit")

    MODEL.save(tmp_path / "m")
    reader = SimpleNamespace(from_model_file=refuse, describe=refuse)
    monkeypatch.setattr(file_module, "_reader", lambda file, path: reader)
    for function in (load, describe):
        with pytest.raises(ModelFileError, match="labels and weights do not fit") as raised:
            function(tmp_path / "m")
        assert raised.value.path == str(tmp_path / "m")


def test_nothing_is_read_by_pickle() -> None:
    """A file that is opened must not be able to run code."""
    home = Path(epigram.__file__ or "").parent
    importing = re.compile(r"^\s*(import|from) (pickle|shelve|dill|cloudpickle)\b", re.MULTILINE)
    assert [path.name for path in home.rglob("*.py") if importing.search(path.read_text("utf-8"))] == []


def test_bytes_that_are_no_utf8_are_a_damaged_file():
    content, lengths = pack_strings(["rose", "日本"])
    broken = content.copy()
    broken[-1] ^= 0x80
    with pytest.raises(ModelFileError, match="corrupt"):
        unpack_strings(broken, lengths)
    with pytest.raises(ModelFileError, match="corrupt"):
        unpack_strings(content, np.array([5, 5], np.uint32))
