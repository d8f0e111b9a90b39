"""Folders of shards: whose files are cleared, manifests that are corrupt, disks that are full."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import in_process
from epigram.errors import InputError
from epigram.features.formats import ColumnSpec
from epigram.features.template import Template
from epigram.outofcore.dataset import Manifest, begin, create_array, shard_path, write_array, write_arrays
from epigram.outofcore.memory import mapped
from epigram.tagging.outofcore.crf import TaggerShards
from epigram.tagging.outofcore.encode import write_shards

GIVEN = {"tag": (), "lm": ("--strength", 1, "--ridge", 0.1, "--depth-weight", 1)}


@pytest.mark.parametrize("names", [("parts",), ("parts", "common"), ("shards",), ("manifest.json",)])
@pytest.mark.parametrize("command", ["tag", "lm"])
def test_a_users_own_folder_is_refused_and_keeps_its_files(
    names: tuple[str, ...], command: str, tmp_path: Path
) -> None:
    home, train = tmp_path / "d", tmp_path / "train.txt"
    train.write_text("the X\ncat Y\n\n" * 3)
    for name in names:
        own = home / name if name.endswith("json") else home / name / "thesis.txt"
        own.parent.mkdir(parents=True, exist_ok=True)
        own.write_text('{"kind": "of mine", "format": 1}')
    before = {path: path.is_dir() or path.read_bytes() for path in home.rglob("*")}
    done = in_process.epigram(
        command, "train", train, "-o", tmp_path / "m", "--shards", home, *GIVEN[command]
    )
    assert done.returncode == 2
    said = f"not a folder of shards: it holds {sorted(names)[0]!r}; name another, or empty it first"
    assert said in done.stderr.decode()
    assert {path: path.is_dir() or path.read_bytes() for path in home.rglob("*")} == before


def test_a_folder_that_was_begun_or_finished_is_cleared(tmp_path: Path) -> None:
    home = begin(tmp_path / "d")
    for finished in (False, True):
        record = write_arrays(shard_path(home, 0), {"ids": np.arange(3)})
        if finished:
            Manifest(home, "toy", [record], {}).write()
        else:
            with pytest.raises(InputError, match=r"'unfinished', .* make the shards again"):
                Manifest.read(home, "toy")
        assert begin(home) == home
        assert os.listdir(home) == ["manifest.json"]


@pytest.mark.parametrize(
    ("shards", "common"),
    [(None, {}), ([], []), ([], None), ([3], {}), ([{"../x": {}}], {}), ([], {"x": {}}), ([], {"x": 3})],
)
def test_a_manifest_of_other_values_is_one_sentence(shards: Any, common: Any, tmp_path: Path) -> None:
    Manifest(tmp_path, "toy", shards, {}, common).write()
    with pytest.raises(InputError, match=r"corrupt manifest.json; make the shards again"):
        Manifest.read(tmp_path, "toy")


def test_a_changed_manifest_is_refused(tmp_path: Path) -> None:
    Manifest(tmp_path, "toy", [], {"words": 3}).write()
    path = tmp_path / "manifest.json"
    path.write_text(path.read_text().replace('"words": 3', '"words": 4'))
    with pytest.raises(InputError, match=r"corrupt manifest.json; make the shards again"):
        Manifest.read(tmp_path, "toy")


def test_shards_that_were_begun_are_made_again(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("the X\ncat Y\n\n" * 3)
    begin(tmp_path / "d")
    command = ("tag", "train", tmp_path / "train.txt", "-o", tmp_path / "m", "--solver", "owlqn")
    assert in_process.epigram(*command, "--shards", tmp_path / "d").returncode == 0
    assert Manifest.read(tmp_path / "d", "tagging").n_shards == 1


@pytest.mark.parametrize("content", [b"[" * 100_000, b'{"kind": 1', b"\xff", b"3", b'{"kind": "\\ud800"}'])
def test_a_manifest_that_is_no_json_object_is_one_sentence(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(InputError, match=r"corrupt manifest.json; make the shards again"):
        Manifest.read(tmp_path, "toy")


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_is_named_before_a_mapping_is_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "posix_fallocate", full)
    for make in (
        lambda: create_array(tmp_path / "x.npy", np.int32, 9),
        lambda: mapped(np.arange(9), tmp_path),
    ):
        with pytest.raises(InputError, match="cannot write: No space left on device"):
            make()


@pytest.mark.parametrize(
    "array", [np.arange(6.0).reshape(2, 3), np.zeros((0, 3), np.int32), np.array([True])]
)
def test_arrays_are_written_as_numpy_does(array: Any, tmp_path: Path) -> None:
    write_array(tmp_path / "ours.npy", array)
    np.save(tmp_path / "theirs.npy", array)
    assert (tmp_path / "ours.npy").read_bytes() == (tmp_path / "theirs.npy").read_bytes()


@pytest.mark.parametrize("name", ["classes", "template", "pairs", "tokens", "label_counts"])
@pytest.mark.parametrize("value", [None, 3.5, {"a": [1]}])
def test_a_manifest_of_other_fields_is_one_sentence(name: str, value: Any, tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("the X\ncat Y\n\n" * 3)
    template = Template.parse("U:%x[0,0]\nB\n")
    made = write_shards([tmp_path / "train.txt"], tmp_path / "d", template, ColumnSpec())
    assert TaggerShards.open(tmp_path / "d").classes == ["X", "Y"]
    header = {key: old for key, old in made.header.items() if key != name or value is not None}
    if value is not None:
        header[name] = value
    Manifest(made.folder, made.kind, made.shards, header, made.common).write()
    with pytest.raises(InputError, match=f"d: corrupt file: .*'{name}'"):
        TaggerShards.open(tmp_path / "d")
