"""CRFsuite's model files: read, written, read by python-crfsuite; corrupt ones get one sentence."""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from epigram import CRFTagger, MaxentClassifier, load
from epigram.compat.crfsuite.file import read_model, write_model
from epigram.compat.crfsuite.string_table import read_strings, write_strings
from epigram.errors import InputError, ModelFileError
from epigram.storage import ModelFile
from in_process import epigram
from reference.cqdb import look_up

X = [
    [{"w": "the", "cap": True}, {"w": "dog", "size": 2.5}, {"w": "barks"}],
    [{"w": "a"}, {"w": "cat", "size": 1.5}, {"w": "sleeps"}, {"w": "日本"}],
]
Y = [["DT", "NN", "VB"], ["DT", "NN", "VB", "NN"]]


@pytest.fixture(scope="module")
def ours() -> CRFTagger:
    return CRFTagger(l1=0.01).fit(X, Y)


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pycrfsuite = pytest.importorskip("pycrfsuite")
    path = tmp_path_factory.mktemp("crfsuite") / "theirs.crfsuite"
    trainer = pycrfsuite.Trainer("lbfgs", {"c1": 0.01, "c2": 0.01}, verbose=False)
    for x, y in zip(X, Y, strict=True):
        trainer.append(x, y)
    trainer.train(str(path))
    return path


def by_hand() -> bytes:
    """Two labels, one attribute, two features, as the format's description has them; no references."""
    features = struct.pack("<III d", 0, 0, 1, 1.5)[:12] + struct.pack("<d", 1.5)
    features += struct.pack("<III", 1, 1, 0) + struct.pack("<d", -0.5)
    body = b"FEAT" + struct.pack("<II", 12 + len(features), 2) + features
    labels, attributes = write_strings(["N", "V"]), write_strings(["w:cat"])
    at_labels = 48 + len(body)
    size = at_labels + len(labels) + len(attributes)
    offsets = (48, at_labels, at_labels + len(labels), size, size)
    header = b"lCRF" + struct.pack("<I", size) + b"FOMC" + struct.pack("<9I", 100, 0, 2, 1, *offsets)
    return header + body + labels + attributes


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), unique=True))
def test_every_string_is_found_by_its_hash_and_by_its_number(strings: list[str]) -> None:
    table = write_strings(strings)
    assert [look_up(table, string.encode()) for string in strings] == list(range(len(strings)))
    assert read_strings(table, 0, len(strings), "strings") == strings
    assert look_up(table, b"\xff never there") is None


def test_a_file_made_by_hand_is_read_as_described(tmp_path: Path) -> None:
    (tmp_path / "m.crfsuite").write_bytes(by_hand())
    tagger = load(tmp_path / "m.crfsuite")
    assert isinstance(tagger, CRFTagger)
    assert tagger.classes_.tolist() == ["N", "V"]
    nodes, _ = tagger.marginals([[{"w": "cat"}, {"w": "dog"}]])[0]
    scores = np.array([[0.0, 0.0], [1.5 - 0.5, 1.5]])  # rows: first label; columns: second
    p = np.exp(scores) / np.exp(scores).sum()
    np.testing.assert_allclose(nodes, [p.sum(axis=1), p.sum(axis=0)], atol=1e-12)


def test_what_is_written_is_read_again(ours: CRFTagger) -> None:
    again = read_model(write_model(ours.model_))
    assert again.header["labels"] == ["DT", "NN", "VB"]
    tagger = CRFTagger.from_bytes(write_model(ours.model_))
    for a, b in zip(ours.marginals(X), tagger.marginals(X), strict=True):
        np.testing.assert_allclose(a[0], b[0], atol=1e-12)
    assert write_model(tagger.model_) == write_model(ours.model_)


def test_ours_in_python_crfsuite(ours: CRFTagger, tmp_path: Path) -> None:
    pycrfsuite = pytest.importorskip("pycrfsuite")
    (tmp_path / "ours.crfsuite").write_bytes(write_model(ours.model_))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "ours.crfsuite"))
    assert [tagger.tag(x) for x in X] == ours.predict(X)
    for x, (nodes, _) in zip(X, ours.marginals(X), strict=True):
        tagger.set(x)
        p = [[tagger.marginal(label, t) for label in ours.classes_] for t in range(len(x))]
        np.testing.assert_allclose(nodes, p, atol=1e-9)
    info = tagger.info()
    assert ("w:日本", "NN") in info.state_features
    states, labels, weights = ours.model_.weights[:3]
    names = ours.model_.table.names(states.tolist())
    for name, label, weight in zip(names, labels, weights, strict=True):
        assert info.state_features[name, ours.classes_[label]] == pytest.approx(weight, abs=1e-6)


def test_theirs_in_ours_and_back(theirs: Path, tmp_path: Path) -> None:
    pycrfsuite = pytest.importorskip("pycrfsuite")
    tagger, mine = pycrfsuite.Tagger(), load(theirs)
    tagger.open(str(theirs))
    assert mine.model_.labels == tuple(tagger.labels())
    assert mine.predict(X) == [tagger.tag(x) for x in X]
    for x, (nodes, _) in zip(X, mine.marginals(X), strict=True):
        tagger.set(x)
        p = [[tagger.marginal(label, t) for label in tagger.labels()] for t in range(len(x))]
        np.testing.assert_allclose(nodes, p, atol=1e-9)
    (tmp_path / "back.crfsuite").write_bytes(write_model(mine.model_))
    back = pycrfsuite.Tagger()
    back.open(str(tmp_path / "back.crfsuite"))
    assert back.info().state_features == tagger.info().state_features
    assert back.info().transitions == tagger.info().transitions


def test_the_command_converts_both_ways(theirs: Path, tmp_path: Path) -> None:
    there, back = tmp_path / "m.epigram", tmp_path / "m.crfsuite"
    assert epigram("tag", "convert", theirs, "-o", there).returncode == 0
    done = epigram("tag", "convert", there, "-o", back, "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["labels"] == 3
    a, b = load(theirs), load(back)
    np.testing.assert_array_equal(a.marginals(X)[1][0], b.marginals(X)[1][0])
    assert epigram("inspect", theirs).returncode == 0
    assert there.stat().st_size < theirs.stat().st_size


def test_what_crfsuite_cannot_hold_is_refused(tmp_path: Path) -> None:
    observed = CRFTagger("U:%x[0,0]\nB:%x[0,0]\n", l1=0.01).fit([["a", "b"]], [["A", "B"]])
    with pytest.raises(InputError, match="B lines"):
        write_model(observed.model_)
    constrained = CRFTagger(l1=0.01, constrain="iob2").fit([[["a"], ["b"]]], [["B-X", "I-X"]])
    with pytest.raises(InputError, match="constrain"):
        write_model(constrained.model_)
    zero = CRFTagger(l1=0.01).fit([[["a\0b"], ["b"]]], [["A", "B"]])
    with pytest.raises(InputError, match="zero byte"):
        write_model(zero.model_)
    observed.save(tmp_path / "m.epigram")
    done = epigram("tag", "convert", tmp_path / "m.epigram", "-o", tmp_path / "m.crfsuite")
    assert done.returncode == 2
    assert b"B lines" in done.stderr


def test_a_model_of_single_tokens_has_no_transitions() -> None:
    maxent = MaxentClassifier(l1=0.01).fit([{"a": 1.0}, {"b": 1.0}], ["A", "B"])
    again = CRFTagger.from_bytes(write_model(maxent.model_))
    assert again.predict([[{"a": 1.0}, {"b": 1.0}]]) == [["A", "B"]]


def test_a_feature_that_is_there_twice_counts_twice() -> None:
    content = bytearray(by_hand())
    content[80 : 80 + 12] = struct.pack("<III", 0, 0, 1)  # the second feature becomes the first again
    file = read_model(bytes(content))
    assert file.tensors["state_weights"].tolist() == [1.0]


def test_an_attribute_without_features_is_left_out() -> None:
    content = bytearray(by_hand())
    content[60:72] = struct.pack("<III", 1, 0, 1)  # the only feature of w:cat becomes a transition
    tagger = CRFTagger.from_bytes(bytes(content))
    assert len(tagger.model_.table) == 0
    assert tagger.predict([[{"w": "cat"}, {"w": "cat"}]]) == [["N", "V"]]


def test_the_other_family_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.crfsuite").write_bytes(by_hand())
    with pytest.raises(ModelFileError, match=r"m\.crfsuite: holds a tagger, not a language model"):
        ModelFile.load(tmp_path / "m.crfsuite", "lm")


@pytest.mark.parametrize("length", [4, 20, 47, 48, 60, 100, 200, 2000, 2500, 4300])
def test_a_truncated_file_gets_one_sentence(length: int, tmp_path: Path) -> None:
    content = by_hand()
    assert length < len(content)
    (tmp_path / "m.crfsuite").write_bytes(content[:length])
    with pytest.raises(ModelFileError, match=r"m\.crfsuite: .*(truncated|corrupt)"):
        load(tmp_path / "m.crfsuite")
    done = epigram("tag", "convert", tmp_path / "m.crfsuite", "-o", tmp_path / "m.epigram")
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("content", [by_hand(), write_model(CRFTagger(l1=0.01).fit(X, Y).model_)])
def test_hostile_bytes_never_crash(content: bytes) -> None:
    """Every field set to something else: either a model comes out or one sentence."""
    choices = random.Random(0)
    read, said = 0, []
    for _ in range(600):
        damaged = bytearray(content)
        for _ in range(choices.randint(1, 4)):
            at = choices.randrange(4, len(content) - 3)
            if choices.random() < 0.5:
                at = choices.randrange(4, 84, 4)
            value = choices.choice([0, 1, 2, 255, 2**16, 2**31, 2**32 - 1, choices.randrange(2**32)])
            damaged[at : at + 4] = struct.pack("<I", value)
        try:
            tagger = CRFTagger.from_bytes(bytes(damaged))
        except ModelFileError as error:
            said.append(str(error))
        else:
            tagger.predict(X)
            read += 1
    assert read
    assert said
    assert not any("\n" in sentence for sentence in said)


def test_what_is_not_utf8_is_said() -> None:
    content = by_hand().replace(b"w:cat", b"w:c\xff\xfe")
    with pytest.raises(ModelFileError, match="UTF-8"):
        read_model(content)


def test_strings_that_overlap_are_refused() -> None:
    """Each would be read as all that follows it: memory that grows with the square of the file."""
    names = [f"{k}" for k in range(100)]
    table, at = bytearray(write_strings(names)), 24 + 256 * 8
    for name in names[:90]:
        table[at + 4 : at + 8] = (90).to_bytes(4, "little")
        at += 8 + len(name) + 1
    with pytest.raises(ModelFileError, match=r"number [0-9]+ of the labels is not a string"):
        read_strings(bytes(table), 0, 100, "labels")
