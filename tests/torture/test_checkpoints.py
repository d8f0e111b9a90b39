"""Checkpoints that are corrupt, altered with a correct checksum, or not checkpoints at all."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from checkpoints import make_kind, seal, unseal, use

from epigram.checkpoint import Checkpoint, noted
from epigram.errors import InputError

HERE = Path(__file__).parent


def test_altered_checkpoints_with_a_correct_checksum_end_no_process(tmp_path: Path) -> None:
    command = [sys.executable, HERE / "checkpoints.py", "seed", "0", "300", tmp_path / "made"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    said = done.stdout.splitlines()
    assert done.returncode == 0, f"after {said[-1]}: {done.stderr}"
    assert len(said) == 600
    wrong = [
        (name, what)
        for name, what in zip(said[::2], said[1::2], strict=True)
        if what not in ("read", "refused")
    ]
    assert wrong == []


def save(path: Path, **options: Any) -> float:
    with Checkpoint(path, "a text", 0.0, **options):
        return noted("seconds", lambda: 1.5)


def test_every_changed_byte_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "state"
    save(path)
    content = path.read_bytes()
    for at in range(len(content)):
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        with pytest.raises(
            InputError, match=r"state: not a checkpoint, or corrupt .*; remove it to start afresh"
        ):
            save(path, resume=True)


@pytest.mark.parametrize(
    "arrays",
    [{"0 x": ["<f8", [2**40, 0]]}, {"0 x": ["<f8", [2**40]]}, {"0 x": ["|O", [0]]}, {"0 x": ["<f8", [-1]]},
     {"0 x": ["<f8", 3]}, {"0 x": 3}, {"7 x": ["<f8", [0]]}, [], None],
)  # fmt: skip
def test_arrays_that_cannot_be_are_refused(arrays: Any, tmp_path: Path) -> None:
    path = tmp_path / "state"
    save(path)
    header, rest = unseal(path.read_bytes())
    path.write_bytes(seal(header | {"arrays": arrays}, rest))
    with pytest.raises(InputError, match="not a checkpoint, or corrupt"):
        save(path, resume=True)


def test_whose_a_checkpoint_is_comes_before_its_arrays(tmp_path: Path) -> None:
    path = tmp_path / "state"
    path.write_bytes(
        seal({"subject": "another text", "entries": {}, "arrays": {"0 x": ["<f8", [2**40]]}}, b"")
    )
    with pytest.raises(InputError, match="saved by a training of other data"):
        save(path, resume=True)


def test_a_header_that_is_nested_deeply_is_one_sentence(tmp_path: Path) -> None:
    from epigram.checkpoint import MAGIC, SIZES, _sum_of

    deep = b"[" * 100_000
    (tmp_path / "state").write_bytes(MAGIC + SIZES.pack(_sum_of(len(deep), deep), len(deep)) + deep)
    with pytest.raises(InputError, match="nested too deeply"):
        save(tmp_path / "state", resume=True)


def test_a_users_own_files_are_neither_overwritten_nor_removed(tmp_path: Path) -> None:
    path, parts, said = tmp_path / "m.checkpoint", tmp_path / "m.checkpoint.parts", list[str]()
    path.write_text("mine")
    parts.mkdir()
    (parts / "thesis.txt").write_text("mine")
    checkpoint = Checkpoint(path, "a text", 0.0, complain=said.append)
    with checkpoint:
        noted("seconds", lambda: 1.5)
    checkpoint.remove()
    assert path.read_text() == (parts / "thesis.txt").read_text() == "mine"
    assert "not a checkpoint, so it is left as it is; training goes on without" in said[0]


def test_a_checkpoint_and_its_parts_are_removed(tmp_path: Path) -> None:
    path = tmp_path / "m.checkpoint"
    save(path)
    (tmp_path / "m.checkpoint.parts" / "12").mkdir(parents=True)
    Checkpoint(path).remove()
    assert list(tmp_path.iterdir()) == []


def test_what_a_piece_cannot_take_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "state"
    save(path)
    header, rest = unseal(path.read_bytes())
    assert json.dumps(header["entries"]) == '{"0": ["seconds", "result", {"value": 1.5}]}'
    header["entries"]["0"][2] = {}
    path.write_bytes(seal(header, rest))
    with pytest.raises(
        InputError, match="state: the checkpoint does not fit this training; leave out --resume"
    ):
        save(path, resume=True)


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("shards", {"numbers": 0}),
        ("fista", {"numbers": 0}),
        ("fista", {"numbers": -1e308}),
        ("rank perceptron", {"done": -(2**31)}),
    ],
)
def test_numbers_with_which_a_training_would_not_end_are_refused(
    kind: str, change: dict[str, float], tmp_path: Path
) -> None:
    *_, path = make_kind(tmp_path, kind)
    header, arrays = unseal(path.read_bytes())
    for entry in header["entries"].values():
        for name, value in change.items():
            if isinstance(entry[2].get(name), list):
                entry[2][name][0] = value  # the step size
            elif name in entry[2]:
                entry[2][name] = value
    path.write_bytes(seal(header, arrays))
    with pytest.raises(InputError, match="checkpoint"):
        use(path)
