"""``epigram convert``: files of every version and family are rewritten and answer as before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from epigram.storage import ModelFile, describe
from epigram.storage.file import weights
from in_process import epigram

OLD = Path(__file__).parents[1] / "storage" / "old"


@pytest.mark.parametrize(
    "path", sorted([*OLD.glob("*.epigram"), *OLD.glob("*.laconic")]), ids=lambda path: path.stem
)
def test_files_of_format_1_are_rewritten(path: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.epigram"
    done = epigram("convert", path, new, "--json")
    assert done.returncode == 0
    record = json.loads(done.stdout)
    assert (record["bytes_before"], record["bytes"]) == (path.stat().st_size, new.stat().st_size)
    assert record["bytes"] < record["bytes_before"] + 50
    assert ModelFile.load(new).header["format"] == 2
    assert describe(new)[1] == describe(path)[1]
    assert list(weights(new)[1]) == list(weights(path)[1])


def test_what_is_no_model_is_not_rewritten(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no model")
    done = epigram("convert", tmp_path / "text", tmp_path / "new")
    assert done.returncode == 2
    assert b"not an epigram model file" in done.stderr
    assert not (tmp_path / "new").exists()
