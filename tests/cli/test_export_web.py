"""``epigram export-web``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from in_node import built

from epigram import CRFTagger
from epigram.errors import InputError
from in_process import epigram


@built
def test_a_page_is_written_and_wrong_models_are_refused(tmp_path: Path) -> None:
    tagger = CRFTagger("U:%x[0,0]\nB\n", l1=0.01).fit(
        [["the", "cat"], ["a", "dog"]], [["D", "N"], ["D", "N"]]
    )
    tagger.save(tmp_path / "tiny.epigram")
    ran = epigram("export-web", str(tmp_path / "tiny.epigram"), "-o", str(tmp_path / "page"), "--json")
    assert ran.returncode == 0
    found = json.loads(ran.stdout)
    assert found["bytes_gzipped"] == sum(found["files"].values()) < 300_000
    (tmp_path / "text.txt").write_text("hello\n")
    for wrong in ("nowhere.epigram", "text.txt"):
        ran = epigram("export-web", str(tmp_path / wrong), "-o", str(tmp_path / "other"))
        assert ran.returncode == 2
        assert not (tmp_path / "other").exists()


@built
def test_a_page_that_cannot_be_written_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, content: bytes) -> None:
        if path.name == "index.html":
            raise InputError("cannot write: No space left on device", path=path)
        path.write_bytes(content)

    CRFTagger("U0:%x[0,0]\nB\n").fit([[["a"]], [["b"]]], [["X"], ["Y"]]).save(tmp_path / "m.epigram")
    monkeypatch.setattr("epigram.web.export.write_atomically", full)
    done = epigram("export-web", tmp_path / "m.epigram", "-o", tmp_path / "page")
    assert done.returncode == 2
    assert not (tmp_path / "page").exists()


def test_a_build_without_the_core_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    CRFTagger("U:%x[0,0]\nB\n", l1=0.01).fit([["a", "b"]] * 2, [["x", "y"]] * 2).save(tmp_path / "m.epigram")
    monkeypatch.setattr("epigram.web.export.BUILT", ("missing.wasm",))
    ran = epigram("export-web", str(tmp_path / "m.epigram"), "-o", str(tmp_path / "page"))
    assert ran.returncode == 2
    assert b"ziglang" in ran.stderr
