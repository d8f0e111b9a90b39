"""Text in: UTF-8, gzip, standard input; errors with file and line."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from epigram.errors import InputError
from epigram.files import read_bytes, read_lines, read_text


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufeff")))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_any_text_comes_back(tmp_path: Path, pack: object, text: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(pack(text.encode()))  # type: ignore[operator]
    assert read_text(path) == text


@pytest.mark.parametrize(
    ("raw", "lines"),
    [
        (b"", []),
        (b"a", ["a"]),
        (b"a\nb\n", ["a", "b"]),
        (b"a\r\n\r\nb", ["a", "", "b"]),
        (b"\n\n", ["", ""]),
        (b"\xef\xbb\xbfa\n", ["a"]),
        ("a\u2028b\x0bc\n".encode(), ["a\u2028b\x0bc"]),
    ],
)
def test_lines(tmp_path: Path, raw: bytes, lines: list[str]) -> None:
    (tmp_path / "x").write_bytes(raw)
    assert list(read_lines(tmp_path / "x")) == lines


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(gzip.compress(b"hello"))))
    assert read_bytes("-") == b"hello"


def test_invalid_utf8_names_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"a\nb\n\xe9t\xe9\n")
    with pytest.raises(
        InputError, match=r"x:3: invalid UTF-8 \(byte 0xe9\); convert the file to UTF-8 first"
    ):
        read_text(tmp_path / "x")


def test_broken_gzip(tmp_path: Path) -> None:
    whole = gzip.compress(b"hello" * 99)
    for broken in (whole[:-4], whole[:12] + b"\xff" + whole[13:], whole[:3]):
        (tmp_path / "x").write_bytes(broken)
        with pytest.raises(InputError, match="x: broken gzip data"):
            read_bytes(tmp_path / "x")


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none: cannot read: No such file"):
        read_bytes(tmp_path / "none")
    with pytest.raises(InputError, match="cannot read: Is a directory"):
        read_bytes(tmp_path)
