"""The catalogue against itself and against the data folder's own list of checksums."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from epigram.datasets import catalogue, dataset, fetch, find
from epigram.errors import InputError


@pytest.mark.parametrize("name", catalogue())
def test_entry_says_what_it_is(name: str) -> None:
    entry = dataset(name)
    assert entry.about
    assert entry.origin
    assert entry.licence
    assert entry.task in {"tagging", "lm", "ime"}
    assert entry.bytes > 0
    assert len({file.name for file in entry.files}) == len(entry.files) > 0
    for file in entry.files:
        assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
        assert re.fullmatch(r"([0-9a-f]{64})?", file.content)
        assert re.fullmatch(r"(https://\S+)?", file.url)


def test_checksums_are_those_of_the_data_folder(data: Path) -> None:
    listed = {}
    for line in (data / "SHA256SUMS").read_text().splitlines():
        checksum, path = line.split(maxsplit=1)
        listed[path.removeprefix("./")] = checksum
    ours = {
        f"{name}/{file.name}": file.sha256
        for name, entry in catalogue().items()
        if name != "sample"
        for file in entry.files
    }
    assert ours == {path: listed.get(path) for path in ours}


def test_found_and_right_in_the_data_folder(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EPIGRAM_DATA", str(data))
    assert find("ud-ewt") == fetch("ud-ewt") == data / "ud-ewt"
    assert find("ptb", "ptb.test.txt") == fetch("ptb", "ptb.test.txt") == data / "ptb" / "ptb.test.txt"


def test_content_checksums_are_those_of_the_packed_files(data: Path) -> None:
    for name, entry in catalogue().items():
        for file in entry.files:
            if file.content:
                again = gzip.compress(gzip.decompress((data / name / file.name).read_bytes()), 1, mtime=0)
                assert file.is_right(again)
                assert not file.is_right(again[:-9])


def test_unknown_names_are_answered_with_the_known_ones() -> None:
    with pytest.raises(InputError, match="no data set 'conll2001'; there are sample, conll2000"):
        dataset("conll2001")
    with pytest.raises(InputError, match=r"'conll2000' has no file 'dev.txt'; it has test.txt, train.txt"):
        find("conll2000", "dev.txt")
